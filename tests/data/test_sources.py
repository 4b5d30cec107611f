from pathlib import Path

import pytest

from course_lib.data import (
    DataError,
    cifar,
    load_cifar10,
    load_ett,
    load_shakespeare,
    sources,
    tatoeba,
)
from course_lib.data.ett import FILES
from course_lib.data.multi30k import load_multi30k
from course_lib.data.tatoeba import load_tatoeba


@pytest.fixture
def nothing(tmp_path, monkeypatch):
    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_every_source_is_complete():
    for source in sources.SOURCES:
        assert source.title and source.licence
        assert bool(source.file) == bool(source.stored_as) == bool(source.homepage)
        if source.file is not None:
            assert source.file.size > 0 and source.file.checksum.split(":")[0] in ("md5", "sha256")
            assert source.file.url.startswith("https://")
            # A name of ours may say more than that of the published file.
            assert source.file.url.endswith(Path(source.file.name).suffix)
    assert len({source.name for source in sources.SOURCES}) == len(sources.SOURCES)


def test_without_data_generated_sets_are_ready_and_the_others_say_how(nothing):
    for source in sources.SOURCES:
        state = sources.status(source)
        assert state.ready == (source.file is None)
        assert state.ready or f"course data {source.name}" in state.note
    assert not (nothing / "cache").exists()


def test_with_course_data_set_the_address_is_named(nothing, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(nothing))
    for source in sources.SOURCES:
        if source.file is not None:
            assert source.file.url in sources.status(source).note


def test_a_wrong_folder_is_reported_and_not_raised(nothing, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(nothing / "nowhere"))
    assert "does not exist" in sources.table()


def test_damaged_files_are_not_ready(nothing, monkeypatch):
    (nothing / "ETTh1.csv").write_text("date\n")
    (nothing / "cifar-10-batches-bin").mkdir()
    monkeypatch.setenv("COURSE_DATA", str(nothing))
    state = {s.name: sources.status(s) for s in sources.SOURCES}
    assert not state["etth1"].ready and "not the published file" in state["etth1"].note
    assert not state["cifar10"].ready and "missing" in state["cifar10"].note


def test_table_names_every_source_its_licence_and_its_address():
    text = sources.table()
    for source in sources.SOURCES:
        assert source.title in text and source.licence in text
        assert source.file is None or source.file.url in text


@pytest.mark.parametrize(
    ("load", "name", "remedy"),
    [
        (lambda: load_cifar10("test", download=False), "cifar-10", cifar.ARCHIVE.url),
        (lambda: load_ett("ETTm1", download=False), "ETTm1", FILES["ETTm1"].url),
        (lambda: load_multi30k("train", download=False), "train.de.gz", "train"),
    ],
)
def test_missing_data_says_how_to_get_it(load, name, remedy, nothing):
    with pytest.raises(DataError, match="not on this machine") as caught:
        load()
    assert name in str(caught.value) and remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("load", "name"),
    [
        (lambda: load_ett("ETTh1"), "ETTh1.csv"),
        (lambda: load_tatoeba("train"), tatoeba.FILE.name),
        (load_shakespeare, "tinyshakespeare.txt"),
    ],
)
def test_another_file_of_that_name_is_refused(load, name, nothing, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(nothing))
    (nothing / name).write_text("To be, or not to be")
    with pytest.raises(DataError, match="not the published file"):
        load()


def test_get_refuses_unknown_names_and_a_set_course_data(nothing, monkeypatch):
    with pytest.raises(ValueError, match="'imagenet'"):
        sources.get("imagenet")
    assert sources.get("shapes").ready
    monkeypatch.setenv("COURSE_DATA", str(nothing))
    with pytest.raises(DataError, match="COURSE_DATA is set"):
        sources.get("etth1")


def test_real_files_are_ready(course_data):
    for source in sources.SOURCES:
        assert sources.status(source).ready, source.name
