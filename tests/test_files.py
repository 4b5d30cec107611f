import os
from pathlib import Path

import pytest

from course_lib.files import digest, placed, recover, replaced, write_whole


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "new" / "a.txt"
    write_whole(path, "one")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_whole(path, "two")
    assert path.read_text() == "one" and list(path.parent.iterdir()) == [path]
    write_whole(path, b"\xff")
    assert path.read_bytes() == b"\xff"
    write_whole(path, "half a pair \ud800")
    assert path.read_text() == "half a pair ?"


def test_a_private_file_is_nobody_elses_at_any_moment(tmp_path, monkeypatch):
    modes = []
    replace = os.replace
    monkeypatch.setattr(
        os, "replace", lambda part, to: (modes.append(os.stat(part).st_mode), replace(part, to))
    )
    write_whole(tmp_path / "a", "seed", private=True)
    assert modes[0] & 0o777 == (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_folder_is_replaced_at_the_end(tmp_path):
    folder = tmp_path / "folder"
    for number in ("1", "2"):
        with replaced(folder) as part:
            part.mkdir()
            (part / number).touch()
            assert folder.exists() == (number == "2")
        assert [p.name for p in folder.iterdir()] == [number]
    with pytest.raises(FileExistsError), replaced(folder):
        folder.mkdir()
    assert [p.name for p in folder.iterdir()] == ["2"]


def test_what_was_broken_off_is_put_back(tmp_path):
    old, begun = tmp_path / ".folder.old", tmp_path / ".folder.part"
    old.mkdir()
    begun.mkdir()
    (old / "a").touch()
    recover(tmp_path / "folder")
    assert [p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*")] == [
        "folder",
        "folder/a",
    ]


def test_a_digest_tells_names_places_and_contents(tmp_path):
    paths = [tmp_path / "x" / "a", tmp_path / "y" / "a"]
    files = placed(paths, tmp_path)
    assert list(files) == ["x/a", "y/a"]
    for path, text in zip(paths, "12", strict=True):
        write_whole(path, text)
    first = digest(files)
    assert digest(files) == first
    for path, text in zip(paths, "21", strict=True):
        write_whole(path, text)
    assert digest(files) != first
    assert digest(files, lambda path: b"") == digest(files, lambda path: b"")
    assert digest(files) != digest(placed(paths, Path("/")))
