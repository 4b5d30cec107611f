import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.base import files
from grader.base.files import digest, part_of, placed, recover, replaced, write_whole

# Writes one file, or one sandbox package, again and again, from when the other process does so too.
WRITER = """
import sys
from pathlib import Path
from grader.base.files import write_whole
from grader.judge.sandbox_package import build

own, folder = sys.argv[1], Path(sys.argv[2])
(folder / own).touch()
while len(list(folder.iterdir())) < 2:
    pass
for _ in range(400):
    write_whole(folder / "target" / "file", own * 300_000)
for number in range(40):
    assert (build(folder / "kits" / str(number)) / "course_lib" / "__init__.py").is_file()
"""


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
    with pytest.raises(OSError, match=r"a\.txt"), part_of(path):
        Path("/dev/full").write_text("three")
    write_whole(path, "half a pair \ud800")
    assert path.read_text() == "half a pair ?"


def test_two_processes_write_the_same_at_once(tmp_path):
    command = [sys.executable, "-c", WRITER]
    both = [
        subprocess.Popen([*command, own, str(tmp_path)], stderr=subprocess.PIPE, text=True)
        for own in "ab"
    ]
    for writer in both:
        said = writer.communicate()[1]
        assert writer.returncode == 0, said
    assert set((tmp_path / "target/file").read_text()) in ({"a"}, {"b"})
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["file"]
    assert not list((tmp_path / "kits").rglob("*.part"))


def test_what_a_killed_writer_has_left_is_removed_by_the_next_that_is_no_other_s(tmp_path):
    path, minute_ago = tmp_path / "roster.json", time.time() - 60
    with part_of(path) as killed, part_of(path) as busy:
        pass
    for part in (killed, busy):
        part.touch()
        os.utime(part, (minute_ago, minute_ago))
    with busy.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write_whole(path, "")
        assert sorted(tmp_path.iterdir()) == sorted([busy, path])
    write_whole(path, "")
    assert [*tmp_path.iterdir()] == [path]


def test_a_file_that_is_written_is_held(tmp_path, monkeypatch):
    place, held = tmp_path / "a", []
    monkeypatch.setattr(files, "_held", lambda descriptor: held.append(os.fstat(descriptor).st_ino))
    write_whole(place, "x")
    assert held == [place.stat().st_ino]


def test_what_a_broken_run_has_left_is_removed_a_day_later(tmp_path):
    path = tmp_path / "a[1]"
    with part_of(path) as young, part_of(path) as old:
        pass
    young.touch()
    old.mkdir()
    (old / "in").touch()
    own = tmp_path / ".a[1].part"
    own.touch()
    for left in (old, own):
        os.utime(left, (0, 0))
    write_whole(path, "")
    assert sorted(tmp_path.iterdir()) == sorted([own, young, path])


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
    with replaced(folder) as first:
        with replaced(folder) as second:
            second.mkdir()
        first.mkdir()
        (first / "3").touch()
    assert [p.name for p in folder.iterdir()] == ["3"]
    assert list(tmp_path.iterdir()) == [folder]


def test_what_was_broken_off_is_put_back(tmp_path):
    old = tmp_path / ".folder.old"
    old.mkdir()
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
