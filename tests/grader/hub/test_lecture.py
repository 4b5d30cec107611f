"""What a lecture's page counts, what it does not tell, and what the page costs a student."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from grader.base.errors import Refused
from grader.checks import cell
from grader.checks.exercise import find
from grader.checks.report import Report, Row
from grader.hub.lecture import FEW, Counts, listening

EXERCISE = "masks.causal_mask"
PROPERTIES = [prop.name for prop in find(EXERCISE).properties]
# Runs in an account of its own, where there is root: sends what it is given, and then what a check
# would say of an answer that fails the first property.
ACCOUNT = """
import os, socket, sys
from grader.checks import cell
from grader.checks.report import Report, Row

if os.geteuid() == 0:
    os.setuid(int(sys.argv[1]))
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
    for forged in sys.argv[2:]:
        out.sendto(forged.encode(), os.environ[cell.LECTURE])
for name in ("no such requirement", "{name}"):
    cell.tell(Report("{exercise}", [Row(name, "", False, 1.0)], 1.0))
try:
    print(os.listdir(os.path.dirname(os.environ[cell.LECTURE])))
except PermissionError:
    print("closed")
""".replace("{name}", PROPERTIES[0]).replace("{exercise}", EXERCISE)


def report(*fallen):
    """Of an answer that fails these properties."""
    rows = [Row(name, "", name not in fallen, 1.0) for name in PROPERTIES]
    return Report(EXERCISE, rows, float(len(rows)))


def told(*fallen, exercise=EXERCISE):
    return json.dumps({"exercise": exercise, "fallen": fallen}).encode()


@pytest.fixture
def place(monkeypatch):
    # Other accounts must reach it, which the folders of pytest do not allow.
    with tempfile.TemporaryDirectory(prefix="course-hub-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o711)
        monkeypatch.setenv(cell.LECTURE, f"{folder}/checks")
        yield Path(folder, "checks")


@pytest.fixture
def lecture(place):
    command = [sys.executable, "-m", "course_lib.cli", "hub", "lecture", "05_masks"]
    environment = {**os.environ, "HOME": str(place.parent)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert "files/lecture.html" in process.stdout.readline()
            yield until(place.with_name("lecture.html"), "No check has come yet")
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert list(place.parent.iterdir()) == []


def until(page, said):
    end = time.monotonic() + 120
    while not (page.exists() and said in page.read_text()):
        assert time.monotonic() < end, page.exists() and page.read_text()
        time.sleep(0.2)
    return page


def test_a_class_is_counted_by_account_and_nothing_else_comes_in(lecture, place):
    forged = [
        "{",
        "[]",
        '{"exercise": ["a"], "fallen": 1}',
        "[" * 3000,
        told("<b>").decode(),
        told("a", exercise="<b>").decode(),
        " " * 5000,
    ]
    root = os.geteuid() == 0
    for account in range(30_000, 30_000 + FEW):
        sent = subprocess.run(
            [sys.executable, "-c", ACCOUNT, str(account), *forged, told(*PROPERTIES).decode()],
            capture_output=True,
            text=True,
        )
        assert sent.stdout.count("shows no names") == 2, sent.stderr
        assert not root or "closed" in sent.stdout
    page = until(lecture, f"{FEW} have checked" if root else "few have checked").read_text()
    assert "<b>" not in page and "30000" not in page
    assert lecture.stat().st_mode & 0o077 == 0 and place.stat().st_mode & 0o777 == 0o622
    if root:
        counted = re.findall(r'aria-label="(\d+) of (\d+)"', page)
        assert counted == [(str(FEW), str(FEW))], "the last check of each, and one requirement"


def test_each_account_counts_once_and_few_are_not_told():
    counts = Counts("05_masks")
    for account in range(10):
        counts.take(told(*PROPERTIES[:2]), account)
    for account in range(2, 10):
        counts.take(told(PROPERTIES[0]), account)
    (row,) = counts.rows()
    assert (row["checked"], [count for _, count in row["fallen"]]) == (10, [10, 2])
    page = counts.page()
    assert 'value="10"' in page and 'value="2"' not in page and "<td>few</td>" in page
    for account in range(10):
        counts.take(told(), account)
    assert "Nothing fails." in counts.page()
    with pytest.raises(Refused, match="on 'mask'; there are .*, masks, "):
        Counts("05_mask")


def test_only_a_check_in_ones_own_notebook_is_told(place, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    answer = {"causal_mask": lambda n: find(EXERCISE).reference(n).logical_not()}
    with listening(place) as own:
        own.setblocking(False)
        cell.check(EXERCISE, answer)
        with pytest.raises(BlockingIOError):
            own.recv(4096)
        monkeypatch.setenv("JPY_SESSION_NAME", "05_masks.ipynb")
        assert "page is on" not in capsys.readouterr().out
        cell.check(EXERCISE, answer)
        assert "page is on" in capsys.readouterr().out
        said = json.loads(own.recv(4096))
    assert said.keys() == {"exercise", "fallen"}, "no name, no answer"
    assert said["exercise"] == EXERCISE and 0 < len(said["fallen"])


def test_without_a_page_that_reads_a_check_is_as_it_was(place, capsys, monkeypatch):
    """No socket, one that a broken run has left, and one whose page has stopped reading."""
    cell.tell(report())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as left:
        left.bind(str(place))
    cell.tell(report())
    assert capsys.readouterr().out == ""
    with listening(place):
        cell.tell(report())
        assert capsys.readouterr().out
        for _ in range(100_000):
            cell.tell(report())
            if not capsys.readouterr().out:
                break
        else:
            pytest.fail("a socket that nobody reads takes no end of messages")
        with pytest.raises(Refused, match="on already"), listening(place):
            pass
        assert place.exists()
        monkeypatch.delenv(cell.LECTURE)
        cell.tell(report())
    assert capsys.readouterr().out == "" and not place.exists()
