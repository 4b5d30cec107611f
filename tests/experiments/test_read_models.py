"""The two experiments that train models to be read."""

from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from course_lib.data.translation import SentencePair, Vocabulary
from course_lib.experiments import EXPERIMENTS, load_records, read_translation, read_words, run
from course_lib.experiments.registry import Experiment, Job, Outcome, Size
from course_lib.patterns import curve_area
from course_lib.reading import load_reader, load_translator


def job(config: dict, folder: Path, seed: int = 0) -> Job:
    return Job("reader", config, seed, torch.device("cpu"), folder / "c.pt", False)


SMALL = {"d_model": 16, "n_heads": 2, "d_ff": 16, "epochs": 2}


def test_a_reader_is_trained_measured_and_kept(tmp_path: Path) -> None:
    config = asdict(read_words.CPU) | SMALL | {"n_train": 100, "n_test": 20, "n_layers": 2}
    outcome = read_words.EXPERIMENT.train(job(config, tmp_path))
    assert len(outcome.metrics) == 2 and outcome.weights is not None
    found = outcome.results
    assert set(found["deletion_area"]) == {"attention", "largest head", "gradient", "random"}
    assert 0.25 <= found["top_quarter_mass"] <= 1 and -1 <= found["even_and_idle"] <= 1
    assert list(found["subject_by_layer"]) == ["1", "2"]
    assert read_words.EXPERIMENT.train(job(config, tmp_path / "b", seed=1)).weights is None


def test_a_translator_is_trained_measured_and_kept(tmp_path: Path) -> None:
    sizes = {"n_german": 60, "n_korean": 60, "n_test": 8, "n_layers": 1, "max_length": 8}
    config = asdict(read_translation.CPU) | SMALL | sizes
    outcome = read_translation.EXPERIMENT.train(job(config, tmp_path))
    assert set(outcome.results["alignment_error_rate"]) == {"german, layer 1", "korean, layer 1"}
    assert outcome.weights is not None


def test_true_orders_of_the_two_languages_differ() -> None:
    records = [r for r in load_records(Path("book/results")) if r.experiment == "read-translation"]
    for record in records:
        true = record.results["order_of_the_true_links"]
        assert true["german"] > 0.9 > true["korean"]


def test_cross_attention_is_that_of_the_query_which_predicts() -> None:
    translator = load_translator()
    pair = SentencePair(("das", "kind", "lacht", "."), ("the", "child", "laughs", "."), ())
    longer = SentencePair((*pair.source[:3], "hier", "."), (*pair.target[:3], "here", "."), ())
    weights = read_translation.cross_attention(
        translator.model, translator.source, translator.target, [pair, longer]
    )
    assert weights.shape == (2, 2, 4, 6, 5)
    sums = weights.sum(-1)
    assert torch.allclose(sums[:, 1], torch.ones_like(sums[:, 1]))
    assert (sums[:, 0, :, 5] == 0).all() and (weights[:, 0, ..., 4] == 0).all()
    alone = read_translation.cross_attention(
        translator.model, translator.source, translator.target, [pair]
    )
    assert torch.allclose(alone[:, 0], weights[:, 0, :, :5, :4], atol=1e-5)


def test_gold_links_stand_in_the_rows_of_the_words() -> None:
    pair = SentencePair(("a", "b"), ("x",), ((1, 0),))
    longer = SentencePair(("a",), ("x", "y"), ((0, 1),))
    gold = read_translation.gold_links([pair, longer])
    assert gold.nonzero().tolist() == [[0, 0, 1], [1, 1, 0]]
    assert gold.shape == (2, 3, 2)


def test_a_task_hides_the_last_verb_and_knows_its_other_form() -> None:
    reader = load_reader()
    _, test = read_words.make_data(read_words.CPU, 0)
    task = read_words.verb_task(test[:50], reader.vocabulary)
    words = reader.vocabulary.tokens
    pairs = {(words[a], words[b]) for a, b in zip(task.right, task.other, strict=True)}
    assert ("is", "are") in pairs and all(a != b for a, b in pairs)
    assert (task.tokens[task.hidden()] == Vocabulary.unk).all()
    assert not (task.words() & task.hidden()).any()
    assert (task.tokens[~task.hidden()] == task.batch.tokens[~task.hidden()]).all()


def test_deletions_begin_with_everything_and_end_with_nothing() -> None:
    reader = load_reader()
    _, test = read_words.make_data(read_words.CPU, 0)
    task = read_words.verb_task(test[:30], reader.vocabulary)
    found = read_words.importances(reader.model, task, 0)
    curves = {n: read_words.deletions(reader.model, task, v) for n, v in found.items()}
    with torch.no_grad():
        whole = read_words.number_log_odds(reader.model, task).sigmoid()
    for curve in curves.values():
        assert torch.allclose(curve[0], whole, atol=1e-5)
        assert torch.allclose(curve[-1], curves["random"][-1], atol=1e-5)
    assert curve_area(curves["attention"]).mean() < curve_area(curves["random"]).mean()


def test_a_head_is_worth_what_is_lost_without_it() -> None:
    reader = load_reader()
    _, test = read_words.make_data(read_words.CPU, 0)
    task = read_words.verb_task(test[:60], reader.vocabulary)
    worth = read_words.head_worth(reader.model, task)
    mask = torch.ones(3, 4)
    mask[0, 2] = 0
    with torch.no_grad():
        lost = read_words.number_loss(reader.model, task, mask)
        lost -= read_words.number_loss(reader.model, task)
    assert worth[0, 2] == pytest.approx(float(lost), abs=1e-5)


def test_weights_are_written_beside_the_record(tmp_path: Path) -> None:
    def train(job: Job) -> Outcome:
        from course_lib.experiments.record import DataUse

        row = {"epoch": 1, "wall_seconds": 0.0, "device_seconds": 0.0}
        weights = ({"w": torch.ones(2).half()}, {"config": "{}"})
        return Outcome([DataUse("d", "v", "0" * 64)], [row], {"x": 1.0}, weights)

    what = Experiment(
        "kept", "keeps weights", {"one": {}}, {"cpu": Size({"a": 1}, (0,), 1, "")}, train,
        lambda _: [],
    )  # fmt: skip
    run(what, results_dir=tmp_path, runs_dir=tmp_path / "runs", report=lambda _: None)
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == [
        "one-cpu-0.json",
        "one-cpu-0.safetensors",
    ]
    assert {"read-words", "read-translation"} <= set(EXPERIMENTS)
