"""JupyterHub for one course on one machine. `course hub` starts it, and says what is missing."""

import os
from pathlib import Path

from grader.hub import accounts
from grader.hub.settings import read

c = get_config()  # noqa: F821
place = read(Path(os.environ.get("COURSE_HUB_SETTINGS", Path(__file__).with_name("hub.toml"))))
instructors, students = accounts.members(place.instructors), accounts.members(place.students)

# Only browsers may come from elsewhere, and only where the settings say so.
host = f"[{place.address}]" if ":" in place.address else place.address
c.JupyterHub.bind_url = f"http://{host}:{place.port}"
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{place.hub_port}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{place.proxy_port}"
c.ConfigurableHTTPProxy.command = ["node", str(place.proxy)]
c.ConfigurableHTTPProxy.pid_file = str(place.hub / "proxy.pid")
c.JupyterHub.db_url = place.hub_database or f"sqlite:///{place.hub}/jupyterhub.sqlite"
c.JupyterHub.cookie_secret_file = str(place.hub / "cookie_secret")

# Who may log in: members of the two groups, with the password of their system account. The grader
# is known to the hub, as an owner of Formgrader, but logs in nowhere.
c.JupyterHub.authenticator_class = "pam"
c.PAMAuthenticator.open_sessions = False
c.Authenticator.allowed_users = instructors | students
c.Authenticator.allow_existing_users = False

# A student's server is a process of the student's account.
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
c.Spawner.cmd = [str(place.bin / "jupyterhub-singleuser")]
c.Spawner.default_url = "/lab"
c.Spawner.env_keep = ["LANG", "LC_ALL"]
c.Spawner.environment = {
    "PATH": place.path,
    "COURSE_LECTURE": str(place.lecture),
    # Students see Assignment List and Validate; instructors also the list of their courses.
    "JUPYTER_CONFIG_PATH": lambda spawner: place.config_path(
        "instructor" if spawner.user.name in instructors else "student"
    ),
}
c.Spawner.start_timeout = c.Spawner.http_timeout = 180

# The names of these groups are nbgrader's.
formgraders, takers = f"formgrade-{place.course}", f"nbgrader-{place.course}"
c.JupyterHub.load_groups = {
    formgraders: {"users": sorted({*instructors, place.grader}), "properties": {}},
    takers: {"users": sorted(students), "properties": {}},
}
c.JupyterHub.load_roles = [
    {
        "name": formgraders,
        "groups": [formgraders],
        "scopes": [
            "list:services",
            f"access:services!service={place.course}",
            f"read:services!service={place.course}",
        ],
    },
    # The token of a server may ask the hub for what its owner may ask.
    {"name": "server", "scopes": ["inherit"]},
    {
        "name": f"{place.course}-service",
        "services": [place.course],
        "scopes": ["list:groups", "read:groups", "list:users", "read:users:groups"],
    },
]

# Formgrader: a server of the grader's account, which members of the first group may use.
c.JupyterHub.services = [
    {
        "name": place.course,
        "url": f"http://127.0.0.1:{place.service_port}",
        "command": [str(place.bin / "jupyterhub-singleuser")],
        "user": place.grader,
        "cwd": str(place.home / place.grader),
        "environment": accounts.grader_environment(place) | {"JUPYTERHUB_DEFAULT_URL": "/lab"},
        "oauth_no_confirm": True,
    }
]
