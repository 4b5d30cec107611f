"""The results page says what the records say."""

from dataclasses import replace

from course_lib.book.results import ran
from course_lib.experiments import EXPERIMENTS, SHIPPED_RESULTS, load_record
from course_lib.experiments.reach import distance, extent

EXPERIMENT = EXPERIMENTS["seq2seq-bottleneck"]
ARMS = list(EXPERIMENT.arms)[:2]
KEPT = replace(
    load_record(SHIPPED_RESULTS / EXPERIMENT.name / "gru-cpu-0.json"),
    config={"epochs": 1},
    metrics=[{"epoch": 1, "exact": 0.5}],
    wall_seconds=90.0,
    device_seconds=180.0,
    hardware={"device": "cpu", "processor": "a processor", "threads": 2},
)


def record(arm, seed, results):
    return replace(KEPT, arm=arm, seed=seed, results=dict(results))


RECORDS = [
    record(ARMS[0], 0, {"exact": 0.5, "n_parameters": 1000, "by_length": {"3": 1.0, "4": 0.5}}),
    record(ARMS[0], 1, {"exact": 0.7, "n_parameters": 1000, "by_length": {"3": 0.5, "4": 0.5}}),
    record(ARMS[1], 0, {"exact": 0.9, "n_parameters": 2000, "by_length": {"3": 1.0, "4": 1.0}}),
]


def test_beside_a_result_stands_what_a_run_was_and_cost():
    assert ran(RECORDS[:2]) == (
        f"seq2seq-bottleneck {ARMS[0]}: 1,000 weights, 1 epochs, 2 runs of size cpu,"
        " 3 core-minutes each"
    )
    seen = replace(RECORDS[2], config={"epochs": 1, "n_train": 5000, "batch_size": 50})
    assert "2,000 weights, 5,000 examples, 1 epochs, 1 run" in ran([seen])


def test_a_run_that_stopped_early_is_not_said_to_have_had_all_epochs():
    folder = SHIPPED_RESULTS / "informer-ablations"
    day = [load_record(folder / f"vanilla-day-{seed}.json") for seed in range(3)]
    assert "4 to 5 of 6 epochs, tested as after 1 to 2, 267 steps each" in ran(day)
    full = load_record(folder / "vanilla-full-0.json")
    assert " 6 epochs, 267 steps each" in ran([full])
    # Where the settings don't tell how long a run was, no share of it is printed.
    what = EXPERIMENTS["informer-ablations"]
    small, own = (what.config("vanilla", size) for size in ("cpu", "day"))
    assert "steps" not in extent(own) and "steps" not in distance(small, own)
    assert "steps 25 %" in distance(small, what.config("vanilla", "full"))
