"""What a course folder keeps, and what is said where it is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from course_lib.cli import main
from grader.records.course_folder import SEEDS


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
