"""What `deploy/local` hands to JupyterHub, Jupyter and nbgrader."""

import ast
import json
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from traitlets.config.loader import PyFileConfigLoader

from grader.checks import cell
from grader.hub import accounts
from grader.hub.settings import read

LOCAL = Path(__file__).resolve().parents[3] / "deploy/local"


@pytest.fixture
def config(place, monkeypatch):
    """The hub's configuration, with two instructors' and two students' accounts."""
    groups = {place.instructors: {"ira", "ivo"}, place.students: {"ada", "ben"}}
    monkeypatch.setattr(accounts, "members", groups.__getitem__)
    monkeypatch.setenv("COURSE_HUB_SETTINGS", str(place.file))
    return PyFileConfigLoader("jupyterhub_config.py", path=str(LOCAL)).load_config()


def test_everything_listens_on_loopback(config):
    (service,) = config.JupyterHub.services
    for url in (
        config.JupyterHub.bind_url,
        config.JupyterHub.hub_bind_url,
        config.ConfigurableHTTPProxy.api_url,
        service["url"],
    ):
        assert urlsplit(url).hostname == "127.0.0.1"


def test_only_members_log_in_and_never_the_grader(config, place):
    assert config.Authenticator.allowed_users == {"ira", "ivo", "ada", "ben"}
    assert config.Authenticator.allow_existing_users is False
    assert place.grader not in config.Authenticator.allowed_users
    assert config.JupyterHub.authenticator_class == "pam"


def test_groups_and_roles_are_as_nbgrader_wants_them(config, place):
    groups = config.JupyterHub.load_groups
    assert groups["formgrade-attention"]["users"] == sorted(["ira", "ivo", place.grader])
    assert groups["nbgrader-attention"]["users"] == ["ada", "ben"]
    roles = {role["name"]: role for role in config.JupyterHub.load_roles}
    access = "access:services!service=attention"
    assert [n for n, role in roles.items() if access in role["scopes"]] == ["formgrade-attention"]
    assert not any("admin" in scope for role in roles.values() for scope in role["scopes"])


def test_servers_know_where_a_lecture_listens(config, place):
    assert config.Spawner.environment[cell.LECTURE] == str(place.lecture)


def test_formgrader_runs_as_the_grader_with_nothing_of_root(config, place):
    (service,) = config.JupyterHub.services
    assert service["user"] == place.grader
    assert service["environment"]["PYTHONPATH"] == str(place.checkout)
    assert not any("TOKEN" in name for name in service["environment"])


def test_every_kind_of_account_has_its_own_configuration(config, place):
    class Spawner:
        class user:
            name = "ada"

    path = config.Spawner.environment["JUPYTER_CONFIG_PATH"]
    assert path(Spawner).startswith(f"{place.etc}/student:")
    Spawner.user.name = "ivo"
    assert path(Spawner).startswith(f"{place.etc}/instructor:")


@pytest.mark.parametrize("kind", ["student", "instructor", "grader"])
def test_what_is_switched_off_exists(kind):
    """A plugin by another name would be disabled without a word."""
    folder = Path(sys.prefix) / "share/jupyter/labextensions/@jupyter/nbgrader"
    code = "".join(p.read_text(encoding="utf-8") for p in (folder / "static").glob("*.js"))
    page = json.loads((LOCAL / "etc" / kind / "labconfig/page_config.json").read_text())
    for name in page["disabledExtensions"]:
        assert name in code, name
    server = LOCAL / "etc" / kind / "jupyter_server_config.d/course.json"
    for name in json.loads(server.read_text())["ServerApp"]["jpserver_extensions"]:
        assert (Path(sys.prefix) / "etc/jupyter/jupyter_server_config.d").is_dir()
        __import__(name)


def test_students_see_neither_formgrader_nor_the_list_of_courses():
    page = json.loads((LOCAL / "etc/student/labconfig/page_config.json").read_text())
    hidden = {"formgrader", "course-list", "create-assignment"}
    assert set(page["disabledExtensions"]) == {f"@jupyter/nbgrader:{name}" for name in hidden}


def test_only_the_service_may_be_framed():
    framed = [p for p in LOCAL.rglob("*.py") if "frame-ancestors" in p.read_text()]
    assert framed == [LOCAL / "etc/grader/jupyter_server_config.py"]
    assert "frame-ancestors 'self'" in framed[0].read_text()


def test_the_grader_judges_with_the_courses_judge():
    source = (LOCAL / "etc/grader/nbgrader_config.py").read_text()
    ast.parse(source)
    assert "formgrader.use(c)" in source
    everybody = (LOCAL / "etc/everybody/nbgrader_config.py").read_text()
    assert "JupyterHubAuthPlugin" in everybody and not re.search(r"token|password", everybody)


def test_databases_are_those_of_the_settings(tmp_path, settings, monkeypatch):
    address = "postgresql+psycopg://hub@127.0.0.1/hub"
    place = settings(tmp_path / "hub.toml", hub_database=address, gradebook=address + "2")
    monkeypatch.setattr(accounts, "members", lambda group: set())
    monkeypatch.setenv("COURSE_HUB_SETTINGS", str(place.file))
    config = PyFileConfigLoader("jupyterhub_config.py", path=str(LOCAL)).load_config()
    assert config.JupyterHub.db_url == address
    # `course grade` and nbgrader must mean the same gradebook.
    assert accounts.grader_environment(place)["COURSE_GRADEBOOK"] == address + "2"


def test_the_repositorys_own_settings_are_for_this_machine_alone(root):
    place = read(root / "deploy/local/hub.toml")
    assert place.address == "127.0.0.1" and place.url == "http://127.0.0.1:8000"
    assert place.checkout.parent.name == place.grader


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"address": "localhost"}, "`address` is 'localhost'"),
        ({"port": 8081}, "four different ports"),
        ({"port": "8000"}, "`port` is '8000'; wanted a whole number"),
        ({"port": True}, "wanted a whole number"),
        ({"state": "srv"}, "must begin with a slash"),
        ({"grader": "Grader X"}, "'Grader X' is no name"),
        ({"demo_students": ["ada", "ada"]}, "two accounts have the same name"),
        ({"demo_students": "ada"}, "wanted a list of texts"),
        ({"students": "attention-instructors"}, "two groups have the same name"),
        ({"prot": 1}, "unknown `prot`"),
        ({"gradebook": "grades.db"}, "`gradebook` is 'grades.db'; wanted nothing, or an address"),
        ({"hub_database": "postgresql://hub:secret@host/hub"}, "holds a password"),
    ],
)
def test_nonsense_is_refused_by_name(tmp_path, settings, changes, says):
    with pytest.raises(ValueError, match="hub.toml") as refused:
        settings(tmp_path / "hub.toml", **changes)
    assert says in str(refused.value)


def test_a_file_that_is_not_there_or_no_toml_is_named(tmp_path):
    with pytest.raises(ValueError, match="name the settings with --settings"):
        read(tmp_path / "hub.toml")
    (tmp_path / "hub.toml").write_text("port == 1")
    with pytest.raises(ValueError, match="hub.toml"):
        read(tmp_path / "hub.toml")
