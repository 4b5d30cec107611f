"""A hub starts with its own settings, and ends with all that it has started."""

import os
import sys
import textwrap

import psutil
import pytest

from grader.hub import running

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
