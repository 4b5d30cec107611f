"""A folder that is written anew is there whole, the new one or the old one."""

from __future__ import annotations

from pathlib import Path

import pytest

from course_lib.cli import main
from course_lib.grading.records.folder import SEEDS, recover, replaced


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


@pytest.mark.parametrize(
    "file, content",
    [
        (SEEDS, "{"),
        (SEEDS, "[1]"),
        ("gradebook.db", "x" * 5000),
        ("gradebook.db", "SQLite format 3\0" + "\1" * 99),
    ],
)
def test_a_broken_file_of_the_course_ends_in_a_sentence(
    tmp_path: Path,
    file: str,
    content: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    root: Path,
) -> None:
    monkeypatch.chdir(root)
    folder = tmp_path / "submitted" / "ada" / "03_attention"
    folder.mkdir(parents=True)
    (folder / "03_attention.ipynb").write_text("{}")
    (tmp_path / file).write_text(content)
    asked = ["grade", "03_attention", "--course", str(tmp_path), "--dry-run"]
    if file != SEEDS:
        asked = ["rename", "ada", "ben", "--course", str(tmp_path)]
    assert main(asked) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "damaged" in said and "from a backup" in said
