"""Records: what is kept of a run, and of the machine."""

import json
import os
import platform
import signal
import subprocess
import time
import zipfile

import pytest
import torch

from course_lib.experiments import provenance
from course_lib.experiments.record import (
    DataUse,
    Record,
    RecordError,
    load_record,
    load_records,
    pack_items,
    pack_records,
    pair_by_seed,
    unpack_items,
    validate,
    write_record,
)
from course_lib.packed import pack
from course_tests.refusals import refusals
from grader.base.files import write_whole


def make(**changes):
    values = {
        "experiment": "a-test",
        "arm": "plain",
        "size": "cpu",
        "seed": 0,
        "config": {"d_model": 8, "attention": None},
        "data": [DataUse("shapes", "generated", "0" * 64)],
        "metrics": [{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.0}],
        "results": {"accuracy": 0.5, "by_length": {"3": 1.0}},
        "wall_seconds": 1.5,
        "device_seconds": 2.5,
        "hardware": {"device": "cpu", "cores": 2},
        "versions": {"python": "3.12.1"},
        "commit": "a" * 40,
        "source_sha256": "b" * 64,
        "finished": "2026-01-01T00:00:00+00:00",
    }
    return Record(**(values | changes))


def test_a_record_survives_its_file(tmp_path):
    path = write_record(make(), tmp_path)
    assert path == tmp_path / "a-test" / "plain-cpu-0.json"
    assert load_record(path) == make()
    assert [p.name for p in path.parent.iterdir()] == ["plain-cpu-0.json"]


def test_whole_numbers_stay_whole(tmp_path):
    whole = make(wall_seconds=3, metrics=[{"epoch": 1, "loss": 2}], results={"n": 7, "x": 7.0})
    assert load_record(write_record(whole, tmp_path)).to_json() == whole.to_json()
    assert '"wall_seconds": 3,' in whole.to_json() and '"loss": 2\n' in whole.to_json()


def test_records_are_found_by_experiment(tmp_path):
    for experiment in ("a-test", "another"):
        for seed in (1, 0):
            write_record(make(experiment=experiment, seed=seed), tmp_path)
    assert [r.seed for r in load_records(tmp_path, "another")] == [0, 1]
    assert len(load_records(tmp_path)) == 4
    assert load_records(tmp_path / "nowhere") == []


def test_a_record_that_has_not_changed_is_read_once(tmp_path):
    write_record(make(seed=0), tmp_path)
    write_record(make(seed=1), tmp_path)
    first = load_records(tmp_path)
    write_record(make(seed=1, wall_seconds=99), tmp_path)
    again = load_records(tmp_path)
    assert again[0] is first[0]
    assert again[1].wall_seconds == 99


def test_a_record_of_the_first_schema_is_still_read():
    values = json.loads(make().to_json())
    assert validate(values) == make()
    del values["clean"], values["items"]
    with pytest.raises(RecordError, match=r"missing fields \['clean', 'items'\]"):
        validate(values)
    assert validate(values | {"schema": 1}).clean is None


def test_items_survive_being_packed():
    right = torch.rand(1003, generator=torch.Generator().manual_seed(0)) < 0.3
    assert unpack_items(pack_items(right)).equal(right)
    errors = torch.tensor([0.25, 3.0, 0.0])
    assert unpack_items(pack_items(errors)).equal(errors)
    with pytest.raises(ValueError, match="wanted one axis"):
        pack_items(errors[None])
    with pytest.raises(ValueError, match="not finite in half precision"):
        pack_items(torch.tensor([1e6]))


test_what_breaks_the_schema_is_named = refusals(
    ({"experiment": "A Test"}, "experiment is 'A Test'"),
    ({"arm": "../up"}, r"arm is '\.\./up'"),
    ({"seed": -1}, "seed is -1"),
    ({"seed": True}, "seed is True"),
    ({"seed": "1"}, "seed is '1': input should be a valid integer"),
    ({"config": {}}, "config is {}"),
    ({"data": []}, r"data is \[\]: list should have at least 1 item"),
    ({"data": [DataUse("x", "", "0" * 64)]}, "expected a name, a variant"),
    ({"data": [DataUse("x", "y", "0" * 63)]}, "SHA-256"),
    ({"metrics": []}, r"metrics is \[\]: list should have at least 1 item"),
    ({"metrics": [{"epoch": 2, "loss": 1.0}]}, "has epoch 2, expected 1"),
    ({"metrics": [{"epoch": 1, "loss": float("nan")}]}, r"metrics\.0\.loss is nan"),
    ({"metrics": [{"epoch": 1, "a": 1.0}, {"epoch": 2, "b": 1.0}]}, "other columns"),
    ({"results": {"accuracy": float("inf")}}, "results.accuracy is inf"),
    ({"results": {"model": object()}}, "of type object"),
    ({"wall_seconds": -1.0}, "wall_seconds is -1.0"),
    ({"wall_seconds": "1.5"}, "wall_seconds is '1.5': input should be a valid number"),
    ({"device_seconds": float("inf")}, "device_seconds is inf"),
    ({"commit": "main"}, "commit is 'main'"),
    ({"source_sha256": ""}, "source_sha256 is ''"),
    ({"finished": "yesterday"}, "finished is 'yesterday'"),
    ({"finished": "2026-01-01T00:00:00"}, "a time with its zone"),
    ({"schema": 3}, "schema is 3"),
    ({"clean": "yes"}, "clean is 'yes'"),
    ({"items": {"correct": "bits:9:oA=="}}, r"items\.correct is '.*': 1 bytes for 9 items"),
    ({"items": {"correct": "many"}}, r"items\.correct is 'many': items begin with 'many'"),
    by=make,
    error=RecordError,
)


@pytest.mark.parametrize(
    "leak", ["/home/ann/data", "data at /srv/cifar/x.bin", "~/data", "C:\\data", "path=/opt/data/x"]
)
def test_paths_are_refused_wherever_they_stand(leak):
    for changes in (
        {"config": {"deep": [{"er": leak}]}},
        {"data": [DataUse("x", leak, "0" * 64)]},
        {"hardware": {"device": leak}},
    ):
        with pytest.raises(RecordError, match="holds a path"):
            make(**changes)


def test_packed_items_are_no_path():
    looks = "half:6:/Dr6OvU6BTs/Oxw7"
    assert pack_items(unpack_items(looks)) == looks
    assert make(items={"correct": looks}).items == {"correct": looks}


def test_the_host_name_is_refused(monkeypatch):
    monkeypatch.setattr(platform, "node", lambda: "anns-laptop")
    with pytest.raises(RecordError, match="this machine's name"):
        make(hardware={"device": "cpu of Anns-Laptop"})


@pytest.mark.parametrize("harmless", ["Intel(R) Xeon(R) CPU @ 2.20GHz", "w/o crop", "1/2", "a / b"])
def test_harmless_text_is_kept(harmless):
    assert make(hardware={"processor": harmless}).hardware["processor"] == harmless


def test_missing_and_unknown_fields_are_named():
    values = json.loads(make().to_json())
    del values["seed"]
    values["sed"] = 0
    with pytest.raises(RecordError, match="seed is missing; sed is unknown"):
        validate(values)
    with pytest.raises(RecordError, match="expected an object"):
        validate([])


@pytest.mark.parametrize(
    ("path", "share", "message"),
    [
        ("a-test/plain-cpu-1.json", 1, "holds the record a-test/plain-cpu-0.json"),
        ("another/plain-cpu-0.json", 1, "holds the record a-test/plain-cpu-0.json"),
        ("a-test/plain-cpu-0.json", 0, "no JSON.*delete it and run that arm again"),
        ("a-test/plain-cpu-0.json", 0.5, "no JSON.*delete it and run that arm again"),
    ],
)
def test_what_is_no_record_of_its_name_is_told_with_what_to_do(tmp_path, path, share, message):
    place, text = tmp_path / path, make().to_json()
    write_whole(place, text[: int(len(text) * share)])
    with pytest.raises(RecordError, match=f"{place}: {message}"):
        load_record(place)
    archive = place.parent.with_suffix(".zip")
    pack(archive, {path: place.read_bytes()})
    place.unlink()
    named = rf"{archive}, member {path} \(`zip -d` takes it out\): {message}"
    for load in (lambda: load_record(place), lambda: load_records(tmp_path)):
        with pytest.raises(RecordError, match=named):
            load()


def packed(folder, *records):
    for record in records:
        write_record(record, folder)
    return [path.name for path in pack_records(folder)]


def test_packed_records_are_the_same_and_any_unzip_reads_them(tmp_path):
    made = [make(seed=seed) for seed in (1, 0, 10)] + [make(experiment="another")]
    names = ["plain-cpu-0.json", "plain-cpu-1.json", "plain-cpu-10.json"]
    for record in made:
        write_record(record, tmp_path)
    before = load_records(tmp_path)
    assert packed(tmp_path) == [*names, names[0]]
    assert not [*tmp_path.glob("*/*")] and load_records(tmp_path) == before
    archive = tmp_path / "a-test.zip"
    with zipfile.ZipFile(archive) as members:
        assert members.namelist() == [f"a-test/{name}" for name in names]
        assert members.read(f"a-test/{names[1]}").decode() == made[0].to_json()
    assert load_record(tmp_path / "a-test" / names[2]) == made[2]
    with pytest.raises(RecordError, match="plain-cpu-2.json: there is no such file, nor is it in"):
        load_record(tmp_path / "a-test" / "plain-cpu-2.json")
    bytes_of = archive.read_bytes()
    assert packed(tmp_path) == [] and packed(tmp_path, made[1]) == names[:1]
    assert archive.read_bytes() == bytes_of


def test_a_loose_record_takes_the_place_of_a_packed_one(tmp_path):
    packed(tmp_path, make(seed=0), make(seed=1))
    path = write_record(make(seed=1, wall_seconds=9), tmp_path)
    assert [r.wall_seconds for r in load_records(tmp_path)] == [1.5, 9]
    assert load_record(path).wall_seconds == 9
    assert packed(tmp_path) == [path.name]
    assert [r.wall_seconds for r in load_records(tmp_path, "a-test")] == [1.5, 9]


def test_packing_loses_nothing_when_it_is_broken_off_or_a_run_writes_meanwhile(
    tmp_path, monkeypatch
):
    packed(tmp_path, make(seed=0))
    path = write_record(make(seed=1), tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            pack_records(tmp_path)
    assert [r.seed for r in load_records(tmp_path)] == [0, 1] and path.exists()

    def slow(*arguments):
        pack(*arguments)
        write_record(make(seed=1, wall_seconds=9), tmp_path)

    monkeypatch.setattr("course_lib.experiments.record.pack", slow)
    assert packed(tmp_path) == []
    assert [r.wall_seconds for r in load_records(tmp_path)] == [1.5, 9]


def test_a_damaged_archive_is_named_with_its_member_and_what_to_do(tmp_path):
    packed(tmp_path, make())
    archive = tmp_path / "a-test.zip"
    whole = bytearray(archive.read_bytes())
    archive.write_bytes(whole[:-9])
    told = rf"{archive} is damaged \(File is not a zip file\): `git checkout -- a-test.zip`"
    with pytest.raises(ValueError, match=told):
        load_records(tmp_path)
    whole[99] ^= 255
    archive.write_bytes(whole)
    with pytest.raises(ValueError, match="is damaged at a-test/plain-cpu-0.json"):
        load_records(tmp_path)


def test_pairs_share_their_seed():
    def seeded(arm, *seeds):
        return [make(arm=arm, seed=seed) for seed in seeds]

    records = seeded("a", 0, 2, 1) + seeded("b", 1, 3, 2) + [make(arm="b", seed=0, size="full")]
    pairs = pair_by_seed(records, "a", "b")
    assert [(x.arm, x.seed, y.arm, y.seed) for x, y in pairs] == [
        ("a", 1, "b", 1),
        ("a", 2, "b", 2),
    ]


def test_hardware_names_the_kind_and_not_the_machine():
    found = provenance.hardware(torch.device("cpu"))
    assert found["device"] == "cpu" and found["processor"] and found["threads"] >= 1
    assert platform.node() not in found.values()


def test_versions_hold_the_build_of_torch():
    assert provenance.versions()["torch"] == torch.__version__


def test_commit_is_that_of_the_checkout_or_empty(monkeypatch):
    assert len(provenance.parent_commit()) in (0, 40)

    def no_git(*args, **kwargs):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", no_git)
    assert provenance.parent_commit() == ""


def test_a_tree_is_clean_until_something_is_changed(monkeypatch, tmp_path):
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    assert provenance.is_clean() is None
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert provenance.is_clean() is True
    (tmp_path / "new.py").touch()
    assert provenance.is_clean() is False


def test_a_lap_counts_work_and_starts_anew():
    clock = provenance.Clock(torch.device("cpu"))
    start = time.process_time()
    while time.process_time() - start < 0.05:
        pass
    first, second = clock.lap(), clock.lap()
    assert first["wall_seconds"] > 0.04 and first["device_seconds"] > 0.04
    assert second["wall_seconds"] < first["wall_seconds"]
