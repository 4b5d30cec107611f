"""What stands in the way is named: a full or shut exchange, another course, clocks, names."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from course_lib.cli import main
from grader.classroom import Classroom
from grader.records import roster
from grader.review import preflight
from grader.review.preflight import CourseExchange

NAME = "03_attention"
NOW = datetime(2026, 3, 2, 12)
FORM = "%Y-%m-%d %H:%M:%S.%f UTC"


@pytest.fixture
def exchange(tmp_path):
    place = CourseExchange(
        tmp_path / "exchange", "attention", False, tmp_path / "nbgrader_config.py"
    )
    inbound = place.root / "attention" / "inbound"
    inbound.mkdir(parents=True)
    place.root.chmod(0o777)
    inbound.chmod(0o733)
    return place


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "course"
    folder.mkdir()
    return folder


def hand_in(place, student, stamp, *, came=None, name=NAME, course="attention", whole=True):
    """As `nbgrader submit` leaves it; `came` is what the exchange's clock says."""
    inbound = place.root / course / "inbound"
    folder = inbound / f"{student}+{name}+{stamp.strftime(FORM)}+abcd1234"
    folder.mkdir(parents=True)
    (folder / f"{name}.ipynb").write_text("{}")
    if whole:
        (folder / "timestamp.txt").write_text(stamp.strftime(FORM))
    moment = (came or stamp).replace(tzinfo=UTC).timestamp()
    os.utime(folder, (moment, moment))
    return folder


def collect(course, student, stamp):
    folder = course / "submitted" / student / NAME
    folder.mkdir(parents=True)
    (folder / "timestamp.txt").write_text(stamp.strftime(FORM))
    return folder


def look(course, place, known=(), now=NOW):
    found = preflight.remarks(course, place, [NAME, "05_masks"], known, now)
    return [r.says for r in found if r.wrong], [r.says for r in found if not r.wrong]


def test_an_exchange_in_which_everybody_reads_and_changes_everything_is_named(exchange, course):
    mine = hand_in(exchange, "ada", NOW - timedelta(days=1))
    hand_in(exchange, "ben", NOW - timedelta(days=1))
    inbound = exchange.root / "attention" / "inbound"
    inbound.chmod(0o777)
    (mine / f"{NAME}.ipynb").chmod(0o666)
    wrong, _ = look(course, exchange)
    assert len(wrong) == 2 and f"`chmod o-r {inbound}`" in wrong[0]
    assert "ada+" in wrong[1] and "ben+" not in wrong[1] and "chmod -R o-w" in wrong[1]


def test_a_folder_called_by_markup_is_named(exchange, course):
    (course / "submitted" / "<img src=x>" / NAME).mkdir(parents=True)
    (said,) = look(course, exchange)[0]
    assert "<img src=x> would run in Formgrader's pages" in said


def test_where_all_is_well_nothing_is_wrong(exchange, course):
    hand_in(exchange, "ada", NOW - timedelta(days=1))
    wrong, notes = look(course, exchange)
    assert wrong == []
    assert notes == [
        f"{NAME}: 1 submissions wait in the exchange: `nbgrader collect {NAME} --update`"
    ]
    collect(course, "ada", NOW - timedelta(days=1))
    assert look(course, exchange, known=["ada"]) == ([], [])


def test_no_exchange_is_no_fault_and_no_course_id_is(tmp_path, course):
    nowhere = CourseExchange(tmp_path / "none", "attention", False, tmp_path / "nbgrader_config.py")
    wrong, (note,) = look(course, nowhere)
    assert wrong == [] and f"no exchange at {tmp_path / 'none'}" in note
    (said,), _ = look(course, CourseExchange(tmp_path, "", False, tmp_path / "nbgrader_config.py"))
    assert "set c.CourseDirectory.course_id" in said


@contextlib.contextmanager
def disk(folder, size, *more):
    if os.geteuid():
        pytest.skip("only root mounts a small disk")
    options = ",".join([f"size={size}", *more])
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"no small disk on this machine: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_exchange_is_named(exchange, course):
    shutil.rmtree(exchange.root)
    exchange.root.mkdir()
    with disk(exchange.root, "1m", "mode=0777"):
        said = look(course, exchange)[0]
    assert said == [
        f"the exchange {exchange.root} has 1 MB left: make room, or what is handed in or graded"
        " next breaks off"
    ]
    with disk(exchange.root, "1g", "mode=0777", "nr_inodes=50"):
        (said,) = look(course, exchange)[0]
    assert "room for 49 more files" in said


def test_an_exchange_that_nobody_can_write_to_is_named(exchange, course):
    exchange.root.chmod(0o755)
    (said,), _ = look(course, exchange)
    assert "not writable by everybody" in said and f"chmod 1777 {exchange.root}" in said
    assert look(course, CourseExchange(exchange.root, "attention", True, exchange.file))[0] == []
    exchange.root.chmod(0o777)
    inbound = exchange.root / "attention" / "inbound"
    inbound.chmod(0o711)
    (said,), _ = look(course, exchange)
    assert f"chmod o+wx {inbound}" in said
    shutil.rmtree(exchange.root)
    exchange.root.mkdir()
    with disk(exchange.root, "1g", "mode=0777", "ro"):
        (said,), _ = look(course, exchange)
    assert "not writable by this account" in said and "read-only" in said


@contextlib.contextmanager
def stranger():
    if os.geteuid():
        pytest.skip("only root becomes somebody else")
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_grader_in_the_wrong_account_or_group_is_told(exchange, course, root):
    shut = collect(course, "ada", NOW).parent
    shut.chmod(0o700)
    open_ = collect(course, "ben", NOW)
    hand_in(exchange, "ada", NOW)
    inbound = exchange.root / "attention" / "inbound"
    for folder in (course, *course.parents):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o055)
    room = Classroom(course, root, NAME, seed="5eed")
    # A stranger may not import anything, so all of it is imported first.
    assert look(course, exchange)[0] == [] and room.take_in("ada").reason
    with stranger():
        wrong = look(course, exchange)[0]
        assert room.students() == ["ada", "ben"], "nobody is left out without a word"
        task = room.take_in("ada")
    assert f"{inbound} belongs to root and cannot be read by this account" in wrong[1]
    assert f"{course / 'submitted'}: ada cannot be entered by this account" in wrong[0]
    assert "cannot be read: the account that grades may not enter its folder" in task.reason
    assert open_.exists()


def test_a_submission_to_a_course_of_another_name_is_found(exchange, course):
    hand_in(exchange, "ada", NOW, course="attention-2026")
    hand_in(exchange, "zoe", NOW, course="physics", name="01_pendulum")
    (said,), _ = look(course, exchange)
    assert "1 submissions, such as ada's of 03_attention" in said
    assert "'attention-2026'" in said and "here it is 'attention'" in said
    assert "nbgrader collect --course attention-2026" in said


def test_what_broke_off_is_named_and_so_is_what_is_whole(exchange, course):
    hand_in(exchange, "ada", NOW - timedelta(hours=2))
    part = hand_in(exchange, "ada", NOW - timedelta(hours=1), whole=False)
    (said,), _ = look(course, exchange)
    assert part.name in said and "an older one is whole" in said and "hand in again" in said


def test_clocks_that_are_apart_are_named(exchange, course):
    day = timedelta(days=1)
    hand_in(exchange, "ada", NOW - day, came=NOW - day - timedelta(minutes=90))
    hand_in(exchange, "ben", NOW - day, came=NOW - day)
    last = hand_in(exchange, "ben", NOW - 3 * day, came=NOW - day / 2)
    hand_in(exchange, "cleo", NOW - day, came=NOW - day + timedelta(minutes=1))
    wrong, _ = look(course, exchange)
    assert [w.partition(",")[0] for w in wrong[:2]] == [
        "the clock of ada is 90 minutes fast",
        "the clock of ben is 2 days slow",
    ]
    assert f"takes what ben handed in first, because the last one, {last.name}" in wrong[2]
    assert f"copy it to submitted/ben/{NAME}" in wrong[2] and len(wrong) == 3


def test_what_was_handed_in_in_the_future_is_named(exchange, course):
    collect(course, "ada", NOW + timedelta(hours=30))
    collect(course, "ben", NOW + timedelta(minutes=2))
    (said,), _ = look(course, exchange)
    assert said.startswith(f"{NAME}: ada handed in in the future, by up to 30 hours")


def test_a_name_that_is_no_submission_s_is_named(exchange, course):
    (exchange.root / "attention" / "inbound" / "notes").mkdir()
    (exchange.root / "attention" / "inbound" / "ada+x+yesterday+zz").mkdir()
    (said,), _ = look(course, exchange)
    assert "ada+x+yesterday+zz, notes is no submission's name" in said


def test_somebody_new_while_somebody_is_silent_may_be_renamed(exchange, course):
    collect(course, "ada", NOW)
    collect(course, "zoe", NOW)
    assert look(course, exchange, known=["ada", "zoe"]) == ([], [])
    assert look(course, exchange) == ([], []), "a first assignment knows nobody"
    _, (note,) = look(course, exchange, known=["ada", "ben"])
    assert "does not know zoe" in note and "nothing yet of ben" in note
    assert "`course rename OLD NEW`" in note


def test_a_full_course_folder_is_named_and_the_same_command_goes_on(
    crowd, undisturbed, grade_here, tmp_path, dump
):
    """The disk fills up in the middle of a class."""
    place = Path(tempfile.mkdtemp(prefix="course-full-", dir=tmp_path))
    with disk(place, "64m"):
        course = crowd.copied(place)
        grade_here(course, "--students", *crowd.names[:2])
        free = shutil.disk_usage(place).free
        filler = place / "filler"
        filler.write_bytes(b"\0" * (free - 600_000))
        said = grade_here(course, wanted=2)
        assert 2 <= len([*course.glob("autograded/*/*/verdict.json")]) < len(crowd.names)
        assert "No space left on device" in said or "is full" in said, said
        filler.unlink()
        facts = grade_here(course)
        assert facts["submissions"] == len(crowd.names)
        assert dump(course) == undisturbed


def test_a_renamed_student_keeps_everything(crowd, grade_here, tmp_path, capsys, dump):
    course = tmp_path / "course"
    course.mkdir()
    shutil.copy(crowd.course / "gradebook.db", course)
    for student in ("s0", "s1"):
        shutil.copytree(crowd.course / "submitted" / student, course / "submitted" / student)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    (course / "submitted/s1" / NAME / "timestamp.txt").write_text(tomorrow.strftime(FORM))
    facts = grade_here(course)
    assert facts["graded"] == 2 and "s1 handed in in the future" in facts["remarks"][0]
    before = dump(course)
    assert set(roster.people(course)) == {"s0", "s1"}
    asked = ["--course", str(course)]
    assert main(["rename", "s0", "s1", *asked]) == 2
    said = capsys.readouterr().err
    assert f"s0 and s1 both have {NAME}" in said and "`course rename s1 s1-2`" in said
    assert main(["rename", "s9", "new", *asked]) == 2
    assert "knows a student 's9'" in capsys.readouterr().err
    for bad in ("..", "a/b", "", "s0"):
        assert main(["rename", "s0", bad, *asked]) == 2
    capsys.readouterr()
    assert dump(course) == before
    assert main(["rename", "s0", "new", *asked]) == 0
    assert capsys.readouterr().out.endswith(
        "s0 is now called new: 3 folders, 1 submissions in the gradebook\n"
    )
    assert set(roster.people(course)) == {"new", "s1"}
    after = dump(course)
    assert after != before
    assert sorted(after.replace("new", "s0").splitlines()) == sorted(before.splitlines())
    facts = grade_here(course)
    assert facts["graded_now"] == 0 and facts["submissions"] == 2, "all stands as it was graded"
    assert dump(course) == after


def test_no_gradebook_knows_nobody_and_none_is_made(tmp_path):
    assert roster.people(tmp_path) == {} and not (tmp_path / "gradebook.db").exists()
