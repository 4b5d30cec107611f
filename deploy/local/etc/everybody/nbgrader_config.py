"""nbgrader in every account of the hub."""

from pathlib import Path

from nbgrader.auth import JupyterHubAuthPlugin

from grader.hub.settings import read

c = get_config()  # noqa: F821
place = read(Path(__file__).parents[1] / "hub.toml")

c.CourseDirectory.course_id = place.course
c.Exchange.root = str(place.exchange)
# Students get ~/attention/03_attention.
c.Exchange.path_includes_course = True
c.Authenticator.plugin_class = JupyterHubAuthPlugin
