"""A hub whose memory and whose gradebook are databases of a PostgreSQL server."""

import pytest

pytestmark = [pytest.mark.hub, pytest.mark.postgres, pytest.mark.slow]

STUDENTS = ["hubtest-ada"]
NAME = "03_attention"


@pytest.fixture(scope="module")
def names(postgres):
    return postgres.database(), postgres.database()


@pytest.fixture(scope="module")
def hub_settings(names):
    (_, hub_database), (_, gradebook) = names
    return {"hub_database": hub_database, "gradebook": gradebook}


def ask(postgres, database, query):
    with postgres.connect(database) as connection:
        return connection.execute(query).fetchall()


def test_a_students_way_is_remembered_on_the_server_and_in_no_file(hub, names, postgres, visitor):
    for command in ("generate_assignment", "release_assignment"):
        done = hub.as_grader("nbgrader", command, NAME)
        assert done.returncode == 0, done.stderr
    student = visitor(hub, STUDENTS[0], NAME).log_in()
    student.exchange("fetch")
    student.write("here")
    student.exchange("submit")
    for command in (("nbgrader", "collect", NAME), ("course", "grade", NAME)):
        done = hub.as_grader(*command)
        assert done.returncode == 0, done.stderr
    (memory, _), (grades, _) = names
    users = {name for (name,) in ask(postgres, memory, "SELECT name FROM users")}
    assert {STUDENTS[0], hub.place.grader} <= users
    graded = "SELECT student_id FROM submitted_assignment"
    assert ask(postgres, grades, graded) == [(STUDENTS[0],)]
    assert not list(hub.place.hub.glob("*.sqlite"))
    assert not list(hub.place.checkout.glob("gradebook.db*"))


def test_nbgraders_own_command_grades_there_too(hub, names, postgres):
    before = "SELECT count(*) FROM grade WHERE auto_score IS NOT NULL"
    ((cells,),) = ask(postgres, names[1][0], before)
    assert cells > 0
    done = hub.as_grader("nbgrader", "autograde", NAME, "--force")
    assert done.returncode == 0, done.stderr
    assert ask(postgres, names[1][0], before) == [(cells,)]
    assert not list(hub.place.checkout.glob("gradebook.db*"))
