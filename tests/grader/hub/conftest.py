"""A hub's settings for tests: other accounts, folders and ports than a real one's."""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import requests

from grader.hub import accounts
from grader.hub.settings import HubSettings, read

ROOT = Path(__file__).resolve().parents[3]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def settings():
    """The repository's settings with some changed, written to a file and read."""

    def write(file, **changes):
        said = tomllib.loads((ROOT / "deploy/local/hub.toml").read_text()) | changes
        # A list of texts, a text and a number are the same in JSON and TOML.
        file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in said.items()))
        return read(file)

    return write


_PORTS = ("port", "hub_port", "proxy_port", "service_port")
_GROUPS = {
    "grader": "hubtest-grader",
    "instructors": "hubtest-instructors",
    "students": "hubtest-students",
}


@pytest.fixture
def place(tmp_path, settings):
    return settings(
        tmp_path / "hub.toml",
        state=str(tmp_path / "state"),
        software=str(tmp_path / "software"),
        **_GROUPS,
        **dict(zip(_PORTS, free_ports(4), strict=True)),
    )


@dataclass(frozen=True)
class Hub:
    """A hub that runs.

    Args:
        place: Where it lives.
        passwords: Of its accounts, the instructor's first.
        process: The command that runs it.
    """

    place: HubSettings
    passwords: dict[str, str]
    process: subprocess.Popen[str]

    def as_grader(self, *command):
        course = [COURSE, "hub", "--settings", str(self.place.file), "grader"]
        return subprocess.run([*course, *command], cwd=ROOT, capture_output=True, text=True)


WAIT = 300


class Visitor:
    """A student's browser, as far as the hub can tell."""

    def __init__(self, hub, name, assignment):
        self.hub, self.name, self.assignment = hub, name, assignment
        self.web = requests.Session()

    def enter(self, password):
        """Send the form of the login page; the hub's answer."""
        url = self.hub.place.url
        self.web.get(f"{url}/hub/login", timeout=WAIT).raise_for_status()
        form = {"username": self.name, "password": password}
        xsrf = {"_xsrf": self.web.cookies.get("_xsrf", path="/hub/")}
        return self.web.post(
            f"{url}/hub/login", params=xsrf, data=form, timeout=WAIT, allow_redirects=False
        )

    def log_in(self):
        url = self.hub.place.url
        entered = self.enter(self.hub.passwords[self.name])
        assert entered.status_code == 302, entered.text[-500:]
        self.web.get(f"{url}/hub/home", timeout=WAIT).raise_for_status()
        xsrf = {"_xsrf": self.web.cookies.get("_xsrf", path="/hub/")}
        made = self.web.post(
            f"{url}/hub/api/users/{self.name}/tokens",
            params=xsrf,
            json={},
            headers={"Referer": f"{url}/hub/home"},
            timeout=WAIT,
        )
        made.raise_for_status()
        self.web = requests.Session()
        self.web.headers["Authorization"] = f"token {made.json()['token']}"
        self.web.post(f"{url}/hub/api/users/{self.name}/server", timeout=WAIT).raise_for_status()
        events = f"{url}/hub/api/users/{self.name}/server/progress"
        with self.web.get(events, stream=True, timeout=WAIT) as progress:
            said = [json.loads(line[5:]) for line in progress.iter_lines() if line[:5] == b"data:"]
        assert said[-1].get("ready"), said
        return self

    def ask(self, method, path, *, of="", **more):
        url = f"{self.hub.place.url}/user/{of or self.name}/{path}"
        return self.web.request(method, url, timeout=WAIT, allow_redirects=False, **more)

    def exchange(self, verb):
        form = {"course_id": self.hub.place.course, "assignment_id": self.assignment}
        answer = self.ask("POST", f"assignments/{verb}", data=form)
        assert answer.ok and answer.json()["success"], f"{answer.status_code}: {answer.text}"
        return answer.json()

    @property
    def notebook(self):
        return f"api/contents/{self.hub.place.course}/{self.assignment}/{self.assignment}.ipynb"

    def write(self, text):
        """Put a line of the student's own below the notebook's first code."""
        held = self.ask("GET", self.notebook)
        held.raise_for_status()
        content = held.json()["content"]
        cell = next(
            c for c in content["cells"] if c["metadata"].get("nbgrader", {}).get("solution")
        )
        cell["source"] = re.sub("\n# mark .*", "", cell["source"]) + f"\n# mark {text}"
        body = {"type": "notebook", "content": content}
        self.ask("PUT", self.notebook, json=body).raise_for_status()


@pytest.fixture(scope="session")
def visitor():
    return Visitor


COURSE = str(Path(sys.executable).with_name("course"))


@pytest.fixture(scope="module")
def hub_settings():
    return {}


@pytest.fixture(scope="module")
def hub(request, hub_settings, settings, missing):
    """A hub with an instructor and the students that the module names as ``STUDENTS``."""
    if not accounts.is_root():
        missing("a hub makes accounts, which takes root")
    for program in ("node", "npm", "useradd"):
        if not shutil.which(program):
            missing(f"{program} is not there")
    # Two modules at a time would make the same accounts.
    with Path("/var/tmp/course-hub-test.lock").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        # Students' accounts must reach it, which the folders of pytest do not allow.
        folder = Path(tempfile.mkdtemp(prefix="course-hub-", dir="/var/tmp"))
        folder.chmod(0o755)
        place = settings(
            folder / "hub.toml",
            state=str(folder / "state"),
            **_GROUPS,
            **dict(zip(_PORTS, free_ports(4), strict=True)),
            demo_instructor="hubtest-ira",
            demo_students=request.module.STUDENTS,
            **hub_settings,
        )
        try:
            with _running(place) as running:
                yield running
        finally:
            # What hub and servers said outlives the hub, for whoever looks for a failure's cause.
            kept = ROOT / "_build" / "hub" / f"{request.module.__name__}.log"
            kept.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(place.hub / "hub.log", kept)
            names = (place.grader, place.demo_instructor, *place.demo_students)
            accounts.remove(place, names)
            for group in (place.instructors, place.students):
                subprocess.run(["groupdel", group], check=False)
            shutil.rmtree(folder)


@contextlib.contextmanager
def _running(place):
    process = subprocess.Popen(
        [COURSE, "hub", "--settings", str(place.file), "demo"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            if line.startswith("Formgrader"):
                break
        words = [line.split() for line in said if line.startswith("  ")]
        assert words, f"the hub did not start:\n{''.join(said)}"
        yield Hub(place, dict(words), process)
    finally:
        started = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        process.wait(180)
        left = [each for each in started if each.is_running()]
        for each in left:
            each.kill()
    assert process.returncode == 0, "Ctrl-C ends a hub in peace"
    assert not left, f"left behind: {left}"
