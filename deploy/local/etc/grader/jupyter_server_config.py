"""The grader's server, which the hub offers as a service."""

c = get_config()  # noqa: F821

# Formgrader opens in a frame of JupyterLab. Here alone, and only for pages of the same origin:
# a student's server must not be framed.
c.ServerApp.tornado_settings = {"headers": {"Content-Security-Policy": "frame-ancestors 'self'"}}
