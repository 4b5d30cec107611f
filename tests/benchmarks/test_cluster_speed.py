"""What the page for instructors says of a cluster is what its record says."""

from pathlib import Path

import pytest

from course_lib.experiments import load_records
from course_tests.benchmarks import cluster
from course_tests.benchmarks.cluster import EXPERIMENT, Load, Measured

ROOT = Path(__file__).resolve().parents[2]
RECORDS = load_records(ROOT / "book" / "results", EXPERIMENT)


def test_a_class_was_measured_with_one_two_and_four_workers():
    for record in RECORDS:
        measured = Measured.of(record)
        assert [load.workers for load in measured.loads] == record.config["workers"] == [1, 2, 4]
        assert measured.students >= 60 and all(load.driver_cpu > 0 for load in measured.loads)
        assert record.results["most_workers"] == measured.most_workers
        assert record.results["largest_class_in_an_hour"] == measured.largest_class()
    assert RECORDS, "run `course bench cluster --record`"


def test_the_page_takes_its_numbers_from_the_record():
    page = (ROOT / "book" / "instructors_reference.md").read_text(encoding="utf-8")
    assert "```{cluster-speed}\n```" in page
    for record in RECORDS:
        assert f"{Measured.of(record).most_workers} workers" not in page, "typed by hand"


def test_the_slowest_writing_decides_from_where_on_more_workers_wait():
    measured = Measured(60, 2, [Load(1, 0.2, 0.02, 0.01), Load(2, 0.15, 0.04, 0.01)])
    assert (measured.driver, measured.most_workers) == (0.04, 5)
    assert measured.largest_class(60) == 1500
    assert "from 5 workers on" in measured.line()


@pytest.mark.slow
def test_a_measurement_leaves_a_record_that_can_be_read_again(tmp_path):
    pytest.importorskip("distributed", reason="no dask.distributed: pip install -e '.[cluster]'")
    measured = cluster.bench(ROOT, 4, workers=(1, 2), results_dir=tmp_path)
    (record,) = load_records(tmp_path, EXPERIMENT)
    assert (record.arm, record.config["students"]) == ("class-4", 4)
    assert Measured.of(record) == measured
    assert record.versions["distributed"]
