from pathlib import Path

import pytest

from course_lib.data import SONNET, DataError, load_shakespeare


def test_the_published_text_is_cut_as_others_cut_it(course_data: Path) -> None:
    train, valid = load_shakespeare()
    assert (len(train), len(valid), len(set(train))) == (1_003_854, 111_540, 65)
    assert train.startswith("First Citizen:\nBefore we proceed any further")
    assert (train + valid).encode() == (course_data / "tinyshakespeare.txt").read_bytes()
    assert not any(line in train + valid for line in SONNET.splitlines())


def test_another_text_of_that_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tinyshakespeare.txt").write_text("To be, or not to be")
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    with pytest.raises(DataError, match="not the published file"):
        load_shakespeare()
