"""The records in the book: valid, of the settings of now, and to be had again."""

from dataclasses import asdict
from statistics import stdev

import pytest

from course_lib.book.document_rows import BENCHMARKS
from course_lib.experiments import EXPERIMENTS, SHIPPED_RESULTS, conclusions, load_records, run
from course_lib.experiments.image_models import RATES
from course_lib.experiments.seq2seq_bottleneck import CPU, make_data

RECORDS = load_records(SHIPPED_RESULTS)


def one(experiment, arm, seed):
    wanted = (experiment, arm, "cpu", seed)
    (found,) = [r for r in RECORDS if (r.experiment, r.arm, r.size, r.seed) == wanted]
    return found


def test_every_experiment_has_its_whole_committed_set():
    for name, what in EXPERIMENTS.items():
        if "cpu" in what.sizes:
            found = {(r.arm, r.seed) for r in RECORDS if r.experiment == name and r.size == "cpu"}
            cpu = what.sizes["cpu"]
            first = {(arm, seed) for arm in cpu.arms or what.arms for seed in cpu.seeds}
            # Fresh seeds of questions may still be under way.
            assert found <= {*what.committed("cpu")}
            assert first <= found, f"`course run {name}` makes what is missing"


def test_learning_rates_are_those_that_the_search_found():
    best = {}
    for record in (r for r in RECORDS if r.experiment == "image-recipes"):
        name = record.arm.rpartition("-")[0]
        if name not in best or record.results["accuracy"] > best[name].results["accuracy"]:
            best[name] = record
    assert {name: record.config["learning_rate"] for name, record in best.items()} == {
        name: RATES[name] for name in best
    }


def test_records_are_of_the_settings_of_now():
    for record in RECORDS:
        if record.experiment in BENCHMARKS:
            continue
        assert record.config == EXPERIMENTS[record.experiment].config(record.arm, record.size)


def test_controls_stand():
    for what in EXPERIMENTS.values():
        controls = [c for c in conclusions(what, RECORDS, "cpu") if c.control]
        assert bool(controls) == ("cpu" in what.sizes and len(what.sizes["cpu"].seeds) > 1)
        assert all(c.verdict.outcome == "holds" for c in controls)


# Of these the pairs are of two machines.
OPEN = {"resnet-matched/vit", "hybrid-matched/vit", "few-resnet/few-4"}


def test_every_question_is_judged_by_the_records_of_the_book():
    for name in sorted({r.experiment for r in RECORDS} - {*BENCHMARKS}):
        what = EXPERIMENTS[name]
        found = {c.key for size in what.sizes for c in conclusions(what, RECORDS, size)}
        ran = {"*", *(r.arm for r in RECORDS if r.experiment == name)}
        due = {question.key for question in what.questions if ran.issuperset(question.arms)}
        assert due - found <= OPEN, name


def test_every_accuracy_on_cifar_names_its_variant():
    variants = {r.data[0].variant for r in RECORDS if r.experiment.startswith("vit-")}
    assert variants <= {"CIFAR-10", "CIFAR-10 (JPEG copy)"} and len(variants) == 1


# The first sentences are held by their digest in every run: `data/translation/test_corpus`.
@pytest.mark.slow
def test_generated_data_is_the_same_as_then():
    record = one("seq2seq-bottleneck", "gru", 0)
    assert record.config == asdict(CPU) | {"cell": "gru", "attention": None}
    assert make_data(CPU, record.seed).sha256 == record.data[0].sha256


def again(folder, experiment, arm):
    what = EXPERIMENTS[experiment]
    run(what, arms=[arm], seeds=[0], results_dir=folder, runs_dir=folder / "runs", progress=False)
    (made,) = load_records(folder)
    then = one(experiment, arm, 0)
    assert made.data == then.data and made.config == then.config
    return then, made


# One without real data is run again in `test_cli`, in every run.
@pytest.mark.slow
def test_a_cheap_record_can_be_had_again_within_its_spread(tmp_path, course_data):
    then, made = again(tmp_path, "informer-ablations", "full-attention")
    # Another processor rounds otherwise, so that runs part slowly: the first round is close, and
    # the end no further away than another seed would be.
    assert made.metrics[0]["loss"] == pytest.approx(then.metrics[0]["loss"], rel=0.02)
    for metric in ("mse", "mae"):
        seeds = [r.results[metric] for r in RECORDS if same_arm(r, then)]
        assert abs(made.results[metric] - then.results[metric]) <= stdev(seeds)


def same_arm(one, other):
    return (one.experiment, one.arm, one.size) == (other.experiment, other.arm, other.size)


@pytest.mark.slow
def test_a_record_of_the_bottleneck_can_be_had_again(tmp_path):
    then, made = again(tmp_path, "seq2seq-bottleneck", "rnn")
    assert made.metrics[0]["loss"] == pytest.approx(then.metrics[0]["loss"], rel=0.02)
    assert made.results["exact"] == pytest.approx(then.results["exact"], abs=0.03)
