"""A hub's programs, and how it starts and ends."""

import os
import shutil
import subprocess
import sys
import textwrap

import psutil
import pytest

from grader.base.errors import Refused
from grader.hub import running, software

# In the place of JupyterHub: it answers, and leaves a process behind that has lost its parent.
STAND_IN = """\
    #!{python}
    import http.server, os, subprocess, sys, time
    orphan = "import subprocess as s; print(s.Popen(['sleep', '600'], stdout=s.DEVNULL).pid)"
    said = subprocess.run([sys.executable, "-c", orphan], stdout=subprocess.PIPE).stdout
    print("orphan", said.decode().strip(), os.environ["COURSE_HUB_SETTINGS"], *sorted(os.environ),
          flush=True)
    if "{mood}" == "ends":
        sys.exit("proxy: address in use")
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/hub/health" else 404)
            self.end_headers()
    http.server.HTTPServer(("127.0.0.1", {port}), Answer).serve_forever()
"""


@pytest.fixture
def stand_in(place, monkeypatch):
    def write(mood):
        place.hub.mkdir(parents=True)
        place.bin.mkdir(parents=True)
        text = STAND_IN.format(python=sys.executable, port=place.port, mood=mood)
        (place.bin / "jupyterhub").write_text(textwrap.dedent(text))
        (place.bin / "jupyterhub").chmod(0o755)
        monkeypatch.setattr(running, "START_SECONDS", 60)
        monkeypatch.setenv("COURSE_SECRET", "nobody's business")
        return place

    return write


def words(place):
    return running.log_of(place).read_text().splitlines()[0].split()


def test_it_is_told_its_settings_and_leaves_nothing_behind(stand_in, root):
    place = stand_in("stays")
    with running.running(place, root) as hub:
        assert running.answers(place)
        orphan, settings, *names = words(place)[1:]
        assert settings == str(place.file) and "COURSE_SECRET" not in names
        assert psutil.pid_exists(int(orphan))
    assert hub.returncode is not None and not running.answers(place)
    assert not psutil.pid_exists(int(orphan))


def test_one_that_does_not_start_says_why_and_leaves_nothing_behind(stand_in, root):
    place = stand_in("ends")
    with (
        pytest.raises(running.HubEnded, match="proxy: address in use"),
        running.running(place, root),
    ):
        pytest.fail("it does not run")
    assert not psutil.pid_exists(int(words(place)[1]))


def test_one_that_ends_by_itself_is_noticed(stand_in, root):
    place = stand_in("stays")
    with (
        pytest.raises(running.HubEnded, match="ended by itself"),
        running.running(place, root) as hub,
    ):
        running.wait(hub, lambda: os.kill(hub.pid, 9))


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "checkout"
    (folder / "course_lib" / "sub").mkdir(parents=True)
    (folder / "grader").mkdir()
    (folder / "grader" / "__init__.py").write_text("")
    for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "course.toml"):
        (folder / name).write_text(name)
    for name in ("__init__.py", "old.py", "sub/figure.js"):
        (folder / "course_lib" / name).write_text("")
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


def test_the_library_is_copied_for_all_and_again_only_when_it_has_changed(place, checkout):
    software._copy_library(place, checkout)
    copies = [p for p in place.library.rglob("*") if "__pycache__" not in p.parts]
    wanted = "pyproject.toml course.toml grader old.py figure.js"
    assert {p.name for p in copies} >= {*wanted.split()}
    assert all(p.stat().st_mode & 0o004 for p in copies)
    assert all(p.stat().st_mode & 0o001 for p in copies if p.is_dir())

    marker = place.library / "course_lib" / "marker"
    marker.touch()
    software._copy_library(place, checkout)
    assert marker.exists(), "nothing had changed"
    (checkout / "course_lib/old.py").rename(checkout / "course_lib/new.py")
    software._copy_library(place, checkout)
    names = {p.name for p in (place.library / "course_lib").iterdir()}
    assert "new.py" in names and not names & {"old.py", "marker"}


def test_a_python_in_somebodys_home_is_not_taken(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    (tmp_path / "python").touch()
    (tmp_path / "python").chmod(0o755)
    assert not software.reachable(tmp_path / "python")
    assert not software.reachable(tmp_path / "no-such-python")
    monkeypatch.setattr(software, "reachable", lambda path: False)
    with pytest.raises(Refused, match="no Python that every account can start"):
        software._choose_python()


def test_without_npm_the_proxy_cannot_come(place, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Refused, match="npm, which installs it, is not there"):
        software._proxy(place, print)
    place.proxy.parent.mkdir(parents=True)
    place.proxy.touch()
    software._proxy(place, print)


def test_an_installer_that_fails_is_quoted_and_nothing_counts_as_installed(
    place, checkout, monkeypatch
):
    def fail(command, **more):
        return subprocess.CompletedProcess(
            command, 1, "", "No matching distribution for jupyterhub"
        )

    place.bin.mkdir(parents=True)
    (place.bin / "pip").touch()
    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(Refused, match="No matching distribution for jupyterhub"):
        software.prepare(place, checkout, lambda line: None)
    assert not list(place.software.glob("venv/.installed-*"))
