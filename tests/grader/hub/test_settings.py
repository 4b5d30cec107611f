"""What is said about a hub is looked at before anything is done."""

import pytest

from grader.hub.settings import read


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
    with pytest.raises(ValueError, match="where the hub lives"):
        read(tmp_path / "hub.toml")
    (tmp_path / "hub.toml").write_text("port == 1")
    with pytest.raises(ValueError, match="hub.toml"):
        read(tmp_path / "hub.toml")
