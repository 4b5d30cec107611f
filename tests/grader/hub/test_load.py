"""Thirty students at once through the hub's REST API, and what one of them can see of the others.

How long that takes is printed; nothing here asserts a time.
"""

import pwd
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

requests = pytest.importorskip("requests")
pytestmark = [pytest.mark.hub, pytest.mark.slow]

STUDENTS = [f"hubtest-s{number:02}" for number in range(30)]
NAME = "02_lookup"
WAIT = 300
ROUNDS = 20


def marks(folder):
    found = [p.read_text() for p in folder.glob(f"**/{NAME}.ipynb")]
    return sorted(m for text in found for m in re.findall(r"# mark ([\w-]+)", text))


@pytest.fixture(scope="module")
def clients(hub, visitor):
    """Thirty students whose servers run, with an assignment to fetch."""
    for command in ("generate_assignment", "release_assignment"):
        done = hub.as_grader("nbgrader", command, NAME, "--force")
        assert done.returncode == 0, done.stderr
    began = time.monotonic()
    # As many at a time as start within their patience on two cores.
    with ThreadPoolExecutor(4) as pool:
        everybody = list(pool.map(lambda name: visitor(hub, name, NAME).log_in(), STUDENTS))
    print(f"\n{len(STUDENTS)} servers started in {time.monotonic() - began:.0f} s")
    return everybody


@pytest.fixture(scope="module")
def handed_in(clients):
    """Everybody has fetched, written and submitted, all at the same time."""

    def work(client):
        client.exchange("fetch")
        client.write(client.name)
        client.exchange("submit")

    began = time.monotonic()
    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(work, clients))
    print(f"{len(clients)} fetched, wrote and submitted in {time.monotonic() - began:.1f} s")
    return clients


@pytest.fixture
def inbound(hub):
    return hub.place.exchange / hub.place.course / "inbound"


def test_who_is_no_member_does_not_enter_with_the_right_password(hub, visitor):
    name = hub.place.grader
    subprocess.run(["chpasswd"], input=f"{name}:right\n", text=True, check=True)
    assert visitor(hub, name, NAME).enter("right").status_code == 403
    assert visitor(hub, STUDENTS[0], NAME).enter("wrong").status_code == 403


def test_nothing_is_lost_and_nothing_mixed(handed_in, inbound):
    assert marks(inbound) == [client.name for client in handed_in]
    for client in handed_in:
        (folder,) = inbound.glob(f"{client.name}+{NAME}+*")
        assert marks(folder) == [client.name] and folder.owner() == client.name


def look(name, code):
    done = subprocess.run(
        ["/usr/bin/python3", "-c", code],
        user=name,
        group=name,
        extra_groups=[],
        cwd="/",
        env={"HOME": pwd.getpwnam(name).pw_dir},
        text=True,
        capture_output=True,
        check=True,
    )
    return done.stdout.strip()


TRY = """
import os, pathlib
def tries(what, *arguments):
    try:
        return len(what(*arguments)) > 0
    except PermissionError:
        return "refused"
"""


def test_another_account_reads_no_submission_that_it_cannot_name(hub, handed_in, inbound):
    thief, victim = handed_in[0].name, handed_in[1].name
    (folder,) = inbound.glob(f"{victim}+{NAME}+*")
    home = hub.place.home / victim
    said = look(
        thief,
        f"{TRY}\nprint(tries(os.listdir, {str(inbound)!r}),"
        f" tries(os.listdir, {str(home)!r}),"
        f" tries(os.listdir, {str(hub.place.checkout)!r}),"
        f" tries(os.listdir, {str(hub.place.hub)!r}))",
    )
    assert said == "refused refused refused refused"
    # This is nbgrader's, and all that it does: whoever knows the random end of the name reads it.
    assert re.fullmatch(r"[\w-]{12}", folder.name.rsplit("+", 1)[1])
    path = str(folder / f"{NAME}.ipynb")
    assert look(thief, f"{TRY}\nprint(tries(lambda: open({path!r}).read()))") == "True"


def test_a_second_process_of_an_account_reads_only_that_accounts_own(handed_in, inbound):
    name = handed_in[0].name
    said = look(name, f"{TRY}\nprint(tries(os.listdir, {str(inbound)!r}))")
    assert said == "refused"
    copies = "sorted(pathlib.Path.home().glob('.local/share/jupyter/nbgrader_cache/*/*+*'))"
    assert look(name, f"{TRY}\nprint(tries(lambda: {copies}))") == "True"


def test_a_students_token_opens_nobody_elses_server(handed_in):
    thief, victim = handed_in[:2]
    assert thief.ask("GET", thief.notebook).status_code == 200
    answer = thief.ask("GET", victim.notebook, of=victim.name)
    assert answer.status_code in (302, 403) and victim.name not in answer.text
    service = f"{thief.hub.place.url}/services/{thief.hub.place.course}/formgrader/api/assignments"
    assert thief.web.get(service, timeout=WAIT, allow_redirects=False).status_code in (302, 403)


def test_a_students_server_lets_nobody_frame_it(handed_in):
    student = handed_in[0]
    answer = student.ask("GET", "lab")
    assert answer.status_code == 200
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    service = f"{student.hub.place.url}/services/{student.hub.place.course}/lab"
    framed = requests.get(service, timeout=WAIT, allow_redirects=False).headers
    assert "frame-ancestors 'none'" not in framed.get("Content-Security-Policy", "")


def test_late_and_repeated_submissions_are_kept_apart(hub, handed_in, inbound):
    due = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
    done = hub.as_grader("nbgrader", "db", "assignment", "add", NAME, f"--duedate={due}")
    assert done.returncode == 0, done.stderr
    again = handed_in[:3]
    for client in again:
        client.write(f"{client.name}-late")
        client.exchange("submit")
        assert len(list(inbound.glob(f"{client.name}+{NAME}+*"))) == 2
    first = {client.name for client in handed_in}
    late = {f"{client.name}-late" for client in again}
    assert set(marks(inbound)) == first | late
    submitted = hub.place.checkout / "submitted"
    done = hub.as_grader("nbgrader", "collect", NAME, "--before-duedate")
    assert done.returncode == 0, done.stderr
    assert set(marks(submitted)) == first, "nothing that came after the due date"
    done = hub.as_grader("nbgrader", "collect", NAME, "--update")
    assert done.returncode == 0, done.stderr
    names = {client.name for client in again}
    assert set(marks(submitted)) == (first - names) | late, "the last of each"


def test_every_one_of_many_fetches_and_submissions_at_once_is_answered(hub, handed_in):
    """A session must not be lost under load: a hub that asks itself too late says 403."""

    def work(client):
        refused = []
        for _ in range(ROUNDS):
            # nbgrader fetches only what is not there.
            shutil.rmtree(hub.place.home / client.name / hub.place.course / NAME)
            for verb in ("fetch", "submit"):
                try:
                    client.exchange(verb)
                except (AssertionError, requests.RequestException) as error:
                    refused.append(f"{client.name} {verb}: {error!s:.300}")
        return refused

    with ThreadPoolExecutor(len(handed_in)) as pool:
        refused = [said for each in pool.map(work, handed_in) for said in each]
    print(f"{len(refused)} of {2 * ROUNDS * len(handed_in)} were refused")
    assert not refused
