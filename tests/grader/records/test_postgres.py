"""A gradebook on a PostgreSQL server: moved there, killed in a transaction, wanted by two."""

import shutil
import signal
import time
from datetime import timedelta

import pytest

from course_lib.cli import main
from grader import authoring, sample
from grader.classroom import Classroom
from grader.judge.channel import Limits
from grader.records import database, gradebook

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
NAME = "03_attention"
LIMITS = Limits(cell=30, call=10)
WHO = ("ada-full", "ben-partial", "dan-mistaken")


@pytest.fixture(scope="module")
def graded(tmp_path_factory, root, seed, lasting, blank_gradebook):
    course = tmp_path_factory.mktemp("graded")
    shutil.copy(blank_gradebook, course)
    sample.make(course, authoring.named(root, NAME), lambda s: s in WHO)
    shutil.copy(blank_gradebook, course)
    stamp = course / "submitted" / WHO[0] / NAME / "timestamp.txt"
    stamp.write_text("2026-03-01 12:00:00.5 UTC")
    room = Classroom(course, root, NAME, LIMITS, seed=seed)
    room.grade(lasting)
    first = room.assignment.exercises[0].grade_id
    with gradebook.open_gradebook(course) as book:
        grade = book.find_grade(first, NAME, NAME, WHO[0])
        grade.manual_score, grade.extra_credit = 2.25, 0.5
        book.find_comment(
            f"{first}-solution", NAME, NAME, WHO[0]
        ).manual_comment = "see me: ünïcode"
        book.find_submission_notebook(NAME, NAME, WHO[0]).late_submission_penalty = 1.5
        book.update_or_create_assignment(NAME, duedate="2026-03-01 10:00:00")
        book.grant_extension(NAME, WHO[0], days=2, hours=3)
    return course


def test_a_gradebook_moves_there_whole_and_grading_goes_on(
    graded, postgres, grade_here, tmp_path, capsys, dump
):
    course = tmp_path / "course"
    shutil.copytree(graded, course)
    _, address = postgres.database()
    before = dump(course)
    assert main(["migrate", str(course / "gradebook.db"), address]) == 0
    assert "rows copied" in capsys.readouterr().out
    assert dump(course, address) == before
    with gradebook.open_gradebook(course, address) as book:
        submission = book.find_submission(NAME, WHO[0])
        assert submission.extension == timedelta(days=2, hours=3)
        assert submission.total_seconds_late == 0 and submission.score > 0
    assert grade_here(course, "--db", address)["graded_now"] == 0
    assert dump(course, address) == before
    assert main(["migrate", str(course / "gradebook.db"), address]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert dump(course, address) == before


def test_a_migration_that_fails_half_way_copies_nothing(graded, postgres, tmp_path, capsys):
    name, address = postgres.database()
    with gradebook.open_gradebook(tmp_path, address):
        pass
    with postgres.connect(name) as connection:
        connection.execute(
            "CREATE FUNCTION stop() RETURNS trigger AS $$ BEGIN RAISE check_violation; END $$"
            " LANGUAGE plpgsql; CREATE TRIGGER stop BEFORE INSERT ON comment"
            " FOR EACH ROW EXECUTE FUNCTION stop()"
        )
        source = str(graded / "gradebook.db")
        assert main(["migrate", source, address]) == 2
        assert "Nothing was copied" in capsys.readouterr().err
        for table in ("student", "assignment", "submitted_assignment", "base_cell"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        connection.execute("DROP TRIGGER stop ON comment")
    assert main(["migrate", source, address]) == 0


def test_what_cannot_be_migrated_is_said(graded, postgres, tmp_path, capsys):
    _, address = postgres.database()
    assert main(["migrate", str(tmp_path / "none.db"), address]) == 2
    assert "no such file" in capsys.readouterr().err and not (tmp_path / "none.db").exists()
    (tmp_path / "empty.db").touch()
    assert main(["migrate", str(tmp_path / "empty.db"), address]) == 2
    assert "no gradebook" in capsys.readouterr().err
    source = str(graded / "gradebook.db")
    assert main(["migrate", source, address.replace(f":{postgres.port}", ":1")]) == 2
    assert "Is the server up" in capsys.readouterr().err
    assert main(["migrate", source, address.replace("course@", "course:secret@") + "_none"]) == 2
    said = capsys.readouterr().err
    assert "createdb" in said and "secret" not in said
    assert main(["migrate", source, "nonsense://x/y"]) == 2
    assert "nonsense" in capsys.readouterr().err


def test_killed_in_the_middle_of_a_transaction_and_resumed_is_undisturbed(
    graded, postgres, grading, grade_here, tmp_path, dump
):
    course = tmp_path / "course"
    shutil.copytree(graded, course)
    _, calm = postgres.database()
    name, address = postgres.database()
    database.migrate(f"sqlite:///{course}/gradebook.db", calm)
    database.migrate(f"sqlite:///{course}/gradebook.db", address)
    # All three hand in once more, and what the undisturbed run comes to is kept.
    for student in WHO:
        path = course / "submitted" / student / NAME / f"{NAME}.ipynb"
        path.write_text(path.read_text() + "\n")
    other = tmp_path / "calm"
    shutil.copytree(course, other)
    grade_here(other, "--db", calm)
    undisturbed = dump(other, calm)
    before = dump(course, address)
    with postgres.connect(name) as watching:
        watching.execute("UPDATE grade SET auto_score = auto_score + 0.125")
        watching.execute(
            "CREATE FUNCTION wait() RETURNS trigger AS $$ BEGIN PERFORM pg_sleep(2); RETURN NEW;"
            " END $$ LANGUAGE plpgsql; CREATE TRIGGER wait BEFORE UPDATE ON grade"
            " FOR EACH ROW EXECUTE FUNCTION wait()"
        )
        disturbed = dump(course, address)
        run = grading(course, "--db", address)
        inside = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
            " AND wait_event = 'PgSleep' AND xact_start IS NOT NULL"
        )
        while watching.execute(inside, [name]).fetchone() == (0,):
            assert run.process.poll() is None, run.process.stderr.read()
            time.sleep(0.05)
        run.kill()
        assert run.process.returncode == -signal.SIGKILL
        watching.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = %s AND wait_event = 'PgSleep'",
            [name],
        )
        watching.execute("DROP TRIGGER wait ON grade")
        assert dump(course, address) == disturbed != before
    grade_here(course, "--db", address)
    assert dump(course, address) == undisturbed


def test_two_graders_of_one_gradebook_are_never_mixed(graded, postgres, grade_here, tmp_path):
    _, address = postgres.database()
    source = f"sqlite:///{graded}/gradebook.db"
    database.migrate(source, address)
    course = tmp_path / "course"
    shutil.copytree(graded, course)
    with database.alone(address):
        said = grade_here(course, "--db", address, wanted=2)
        assert "another `course` command is at work" in said
        with pytest.raises(ValueError, match="another `course` command"):
            database.migrate(source, address)
    assert grade_here(course, "--db", address)["graded_now"] == 0


def test_a_server_that_goes_and_comes_costs_a_second_run_and_nothing_else(
    graded, postgres, grade_here, tmp_path, dump
):
    course = tmp_path / "course"
    shutil.copytree(graded, course)
    _, address = postgres.database()
    database.migrate(f"sqlite:///{course}/gradebook.db", address)
    undisturbed = dump(course, address)
    verdict = course / "autograded" / WHO[1] / NAME / "verdict.json"
    verdict.unlink()
    postgres.stop()
    assert "Is the server up" in grade_here(course, "--db", address, wanted=2)
    postgres.start()
    grade_here(course, "--db", address)
    assert verdict.exists() and dump(course, address) == undisturbed
