"""What would stop a hub is named before anything is started."""

import os
import shutil
import socket
import sys
from types import SimpleNamespace

import pytest

from course_lib.cli import main
from grader.cli.common import REFUSED
from grader.hub import accounts, preflight, software


@pytest.fixture
def root(tmp_path, root):
    folder = tmp_path / "checkout"
    (folder / "solutions" / "01_first").mkdir(parents=True)
    for name in (
        "course.toml",
        "solutions/01_first/01_first.md",
        "solutions/01_first/01_first.ipynb",
    ):
        (folder / name).touch()
    shutil.copy(root / "nbgrader_config.py", folder)
    return folder


@pytest.fixture
def complete(place, monkeypatch):
    """A machine that has everything, as far as can be looked at without being root."""
    monkeypatch.setattr(accounts, "is_root", lambda: True)
    monkeypatch.setattr(accounts, "members", lambda group: set())
    monkeypatch.setattr(preflight, "reachable", lambda path: True)
    monkeypatch.setattr(shutil, "which", lambda name, path=None: f"/usr/bin/{name}")
    return place


def only(found):
    (problem,) = found
    return problem


def test_nothing_is_wrong_with_a_machine_that_has_everything(complete, root):
    assert preflight.machine(complete, root) == []


def test_no_root(complete, monkeypatch, root):
    monkeypatch.setattr(accounts, "is_root", lambda: False)
    assert "takes root" in only(preflight.machine(complete, root))


@pytest.mark.parametrize("tool", ["useradd", "node", "npm"])
def test_a_missing_program_is_named(complete, monkeypatch, tool, root):
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None if name == tool else name)
    assert tool in only(preflight.machine(complete, root))


def test_npm_is_not_wanted_where_the_proxy_is(complete, monkeypatch, root):
    complete.proxy.parent.mkdir(parents=True)
    complete.proxy.touch()
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None if name == "npm" else name)
    assert preflight.machine(complete, root) == []


def test_an_assignment_without_its_notebook_is_named(complete, root):
    (root / "solutions/01_first/01_first.ipynb").unlink()
    said = only(preflight.machine(complete, root))
    assert "01_first" in said and "course exercises --check" in said


def test_a_port_in_use_is_named_with_its_setting(complete, root):
    with socket.create_server(("127.0.0.1", complete.proxy_port)):
        said = only(preflight.machine(complete, root))
    assert f"127.0.0.1:{complete.proxy_port}" in said and "`proxy_port`" in said


def test_another_course_id_is_named_on_both_sides(complete, tmp_path):
    (tmp_path / "nbgrader_config.py").write_text("c.CourseDirectory.course_id = 'other'")
    said = only(preflight.machine(complete, tmp_path))
    assert "'attention'" in said and "'other'" in said


def made(place):
    place.exchange.mkdir(parents=True)
    place.exchange.chmod(0o1777)
    return place


def test_an_exchange_that_students_cannot_write_is_named(complete):
    assert "no exchange" in only(preflight._exchange(complete))
    made(complete)
    assert not [*preflight._exchange(complete)]
    complete.exchange.chmod(0o755)
    assert f"chmod 1777 {complete.exchange}" in only(preflight._exchange(complete))


def test_a_full_read_only_disk_is_named(complete, monkeypatch):
    made(complete)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert "cannot be written" in only(preflight._exchange(complete))


def test_a_folder_that_is_closed_above_is_named(complete, tmp_path, monkeypatch, root):
    monkeypatch.setattr(preflight, "reachable", software.reachable)
    tmp_path.chmod(0o700)
    for said in preflight.machine(complete, root):
        assert f"{tmp_path} is closed to other accounts" in said
    assert len(preflight.machine(complete, root)) == 2


def test_programs_below_a_closed_folder_are_named(complete, tmp_path, monkeypatch):
    monkeypatch.setattr(preflight, "reachable", software.reachable)
    complete.bin.mkdir(parents=True)
    (complete.bin / "python").touch(0o755)
    packages = complete.software / "venv/lib/python3.11/site-packages"
    (packages / "course_lib").mkdir(parents=True)
    tmp_path.chmod(0o700)
    said = "\n".join(preflight._programs(complete))
    assert str(complete.bin / "python") in said and f"proxy is not at {complete.proxy}" in said
    assert f"{packages}/course_lib is a second copy" in said


def test_wrong_groups_are_named(complete, monkeypatch):
    groups = {complete.instructors: {"root", "eve"}, complete.students: {"eve", "nobody-such"}}
    monkeypatch.setattr(accounts, "members", groups.__getitem__)
    monkeypatch.setattr(accounts, "exists", lambda name: name != "nobody-such")
    both, root, absent = preflight._members(complete)
    assert "eve is in both" in both and "nobody should log in as root" in root
    assert "nobody-such" in absent and "no such account" in absent


def test_an_account_of_somebody_else_is_never_taken(complete, monkeypatch):
    monkeypatch.setattr(accounts, "exists", lambda name: True)
    monkeypatch.setattr(accounts, "ours", lambda place, name: False)
    with pytest.raises(ValueError, match="was not made here"):
        accounts.demo(complete)
    assert accounts.remove(complete, ["anybody"]) == []


def test_the_command_refuses_with_all_reasons_at_once(complete, monkeypatch, capsys, root):
    monkeypatch.chdir(root)
    monkeypatch.setattr(accounts, "is_root", lambda: False)
    with socket.create_server(("127.0.0.1", complete.port)):
        assert main(["hub", "--settings", str(complete.file), "demo"]) == REFUSED
    said = capsys.readouterr().err
    assert "nothing was started" in said and "takes root" in said and "`port`" in said
    assert not complete.state.exists() and not complete.software.exists()


@pytest.mark.parametrize("action", ["grader", "forget"])
def test_only_root_acts_for_others(complete, monkeypatch, capsys, action, root):
    monkeypatch.chdir(root)
    monkeypatch.setattr(accounts, "is_root", lambda: False)
    assert main(["hub", "--settings", str(complete.file), action]) == REFUSED
    assert "sudo" in capsys.readouterr().err


def test_a_database_that_does_not_answer_is_named_with_its_setting(tmp_path, settings):
    address = "postgresql+psycopg://hub@127.0.0.1:1/hub"
    place = settings(tmp_path / "hub.toml", software=str(tmp_path), hub_database=address)
    place.bin.mkdir(parents=True)
    (place.bin / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (place.bin / "python").chmod(0o755)
    (said,) = [problem for problem in preflight.made(place) if "hub_database" in problem]
    assert "hub.toml" in said and "127.0.0.1" in said and "\n" not in said
