"""A folder that is written anew is there whole, the new one or the old one."""

from __future__ import annotations

from pathlib import Path

import pytest

from course_lib.grading.records.folder import recover, replaced


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "sheets"
    folder.mkdir()
    (folder / "a").write_text("old")
    return folder


def test_a_folder_is_replaced_as_a_whole(folder: Path) -> None:
    with replaced(folder) as part:
        part.mkdir()
        (part / "b").write_text("new")
        assert (folder / "a").read_text() == "old"
    assert [path.name for path in folder.iterdir()] == ["b"]
    assert [path.name for path in folder.parent.iterdir()] == ["sheets"]


def test_what_breaks_off_leaves_the_old_one(folder: Path) -> None:
    # What is tried is the way out of the block, halfway.
    with pytest.raises(KeyboardInterrupt), replaced(folder) as part:  # noqa: PT012
        part.mkdir()
        raise KeyboardInterrupt
    assert (folder / "a").read_text() == "old"
    recover(folder)
    assert [path.name for path in folder.parent.iterdir()] == ["sheets"]


@pytest.mark.parametrize("new_is_there", [True, False])
def test_a_run_that_ended_between_the_last_steps(folder: Path, new_is_there: bool) -> None:
    folder.rename(folder.with_name(".sheets.old"))
    if new_is_there:
        folder.mkdir()
    recover(folder)
    assert (folder / "a").exists() != new_is_there
    assert [path.name for path in folder.parent.iterdir()] == ["sheets"]
