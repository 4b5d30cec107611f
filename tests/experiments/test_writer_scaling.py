"""Sizes of the writer: what a run counts."""

from course_lib.experiments.writer import WriterConfig
from course_lib.experiments.writer_scaling import EXPERIMENT


def test_each_size_has_three_rates_and_as_many_characters():
    for width in (32, 48, 64, 96):
        arms = [
            EXPERIMENT.config(f"width-{width}{rate}", "cpu") for rate in ("-half", "", "-twice")
        ]
        assert [arm["learning_rate"] for arm in arms] == [0.002, 0.004, 0.008]
        assert {arm["d_ff"] for arm in arms} == {4 * width}
        assert {2 * arm["epochs"] * arm["steps"] for arm in arms} == {
            WriterConfig.epochs * WriterConfig.steps
        }


def test_a_run_counts_weights_and_operations(course_data, train):
    tiny = {"context": 8, "d_model": 8, "d_ff": 32, "n_heads": 2, "n_layers": 1, "warmup": 1}
    config = EXPERIMENT.config("width-32", "cpu") | tiny | {"epochs": 2, "steps": 2}
    results = train(EXPERIMENT, config, "width-32").results
    # Four matrices of 8 x 8, two of 8 x 32, their biases, and two norms.
    assert results["n_weights"] == 4 * 64 + 2 * 256 + 4 * 8 + 32 + 8 + 2 * 16
    assert results["n_tokens"] == 2 * 2 * 12 * 8
    assert results["operations"] == 6 * results["n_weights"] * results["n_tokens"]
