"""The two experiments that train models to be read."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from course_lib.attention_maps import curve_area
from course_lib.data.translation import SentencePair, Vocabulary
from course_lib.experiments import (
    EXPERIMENTS,
    SHIPPED_RESULTS,
    load_record,
    load_records,
    read_translation,
    read_words,
    reader_heads,
    reader_probes,
    run,
)
from course_lib.experiments.questions import answers
from course_lib.experiments.registry import Experiment, Outcome, Size
from course_lib.trained import load_reader, load_translator

KEPT = load_record(SHIPPED_RESULTS / "cost" / "full-cpu-0.json")


def record_of(outcome, arm):
    return replace(KEPT, arm=arm, metrics=outcome.metrics, results=outcome.results)


SMALL = {"d_model": 16, "n_heads": 2, "d_ff": 16, "epochs": 2}


def test_a_reader_is_trained_measured_and_kept(train):
    config = asdict(read_words.CPU) | SMALL | {"n_train": 100, "n_test": 20, "n_layers": 2}
    outcome = train(read_words.EXPERIMENT, config)
    assert len(outcome.metrics) == 2 and outcome.weights is not None
    found = outcome.results
    assert set(found["deletion_area"]) == {"attention", "largest head", "gradient", "random"}
    assert 0.25 <= found["top_quarter_mass"] <= 1 and -1 <= found["even_and_idle"] <= 1
    assert list(found["subject_by_layer"]) == ["1", "2"]
    assert set(found["known_without"]) == set(reader_heads.ORDERS)
    for values in (*found["known_without"].values(), *found["loss_without"].values()):
        assert list(values) == ["0", "1", "2", "3", "4"]
    ends = {(values["0"], values["4"]) for values in found["loss_without"].values()}
    assert len(ends) == 1
    assert list(found["probe"]) == list(found["probe_control"])
    assert len(found["probe"]) == 3 * len(("word", "0", "1", "2"))
    whole = answers(read_words.EXPERIMENT.questions, [record_of(outcome, "reader")])
    assert len({c.key for c in whole}) == len(whole) == 21
    assert train(read_words.EXPERIMENT, config, seed=1).weights is None


def test_a_translator_is_trained_measured_and_kept(train):
    sizes = {"n_german": 60, "n_korean": 60, "n_test": 8, "n_layers": 1, "max_length": 8}
    config = asdict(read_translation.CPU) | SMALL | sizes
    outcome = train(read_translation.EXPERIMENT, config)
    assert set(outcome.results["alignment_error_rate"]) == {"german, layer 1", "korean, layer 1"}
    assert outcome.weights is not None
    assert len(outcome.results["alignment"]) == 2 * 4
    found = answers(read_translation.EXPERIMENT.questions, [record_of(outcome, "translator")])
    assert [c.key for c in found if c.control] == ["row", "learns"]


def test_links_of_a_model_that_sees_them_have_no_errors():
    pair = SentencePair(("a", "b", "c"), ("x", "y", "z"), ((2, 0), (1, 1), (0, 2)))
    gold = read_translation.gold_links([pair] * 4)
    right = gold.float()
    even = (gold | ~gold).float() / 3
    # Row t of the second head is that of word t - 1: whoever takes the row below is right with it.
    heads = torch.stack([even, right.roll(1, dims=1)], dim=1)[None]
    found = read_translation.alignment_errors(heads, gold)
    assert found["best head"] > 0.5 and found["row that reads"] == 0
    heads = torch.stack([even, right], dim=1)[None]
    found = read_translation.alignment_errors(heads, gold)
    assert found["best head"] == found["mean of heads"] == 0 < found["row that reads"]
    assert found["counting"] == 0.5  # one of three links, and no wrong one
    with pytest.raises(ValueError, match="got 1 sentences"):
        read_translation.alignment_errors(heads[:, :1], gold[:1])


def test_who_counts_does_not_count_beyond_the_end():
    pair = SentencePair(("a",), ("x", "y"), ((0, 0), (0, 1)))
    longer = SentencePair(("a", "b"), ("x", "y"), ((0, 0), (1, 1)))
    gold = read_translation.gold_links([longer, longer, pair, pair])
    seen = torch.ones(4, 3, 2)
    seen[2:, :, 1] = 0
    found = read_translation.alignment_errors(seen[None, :, None], gold)
    # Word y of a short sentence gets no link: of two sure ones, one is drawn.
    assert found["counting"] == pytest.approx(1 / 3)


def test_true_orders_of_the_two_languages_differ():
    records = [r for r in load_records(Path("book/results")) if r.experiment == "read-translation"]
    for record in records:
        true = record.results["order_of_the_true_links"]
        assert true["german"] > 0.9 > true["korean"]


def test_cross_attention_is_that_of_the_query_which_predicts():
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


def test_gold_links_stand_in_the_rows_of_the_words():
    pair = SentencePair(("a", "b"), ("x",), ((1, 0),))
    longer = SentencePair(("a",), ("x", "y"), ((0, 1),))
    gold = read_translation.gold_links([pair, longer])
    assert gold.nonzero().tolist() == [[0, 0, 1], [1, 1, 0]]
    assert gold.shape == (2, 3, 2)


def test_a_task_hides_the_last_verb_and_knows_its_other_form():
    reader = load_reader()
    _, test = read_words.make_data(read_words.CPU, 0)
    task = read_words.verb_task(test[:50], reader.vocabulary)
    words = reader.vocabulary.tokens
    pairs = {(words[a], words[b]) for a, b in zip(task.right, task.other, strict=True)}
    assert ("is", "are") in pairs and all(a != b for a, b in pairs)
    assert (task.tokens[task.hidden()] == Vocabulary.unk).all()
    assert not (task.words() & task.hidden()).any()
    assert (task.tokens[~task.hidden()] == task.batch.tokens[~task.hidden()]).all()


def test_deletions_begin_with_everything_and_end_with_nothing():
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


def test_a_head_is_worth_what_is_lost_without_it():
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


def test_weights_are_written_beside_the_record(tmp_path):
    def train(job):
        from course_lib.experiments.record import DataUse

        row = {"epoch": 1, "wall_seconds": 0.0, "device_seconds": 0.0}
        weights = ({"w": torch.ones(2).half()}, {"config": "{}"})
        return Outcome([DataUse("d", "v", "0" * 64)], [row], {"x": 1.0}, weights)

    what = Experiment(
        "kept",
        "keeps weights",
        {"one": {}},
        {"cpu": Size({"a": 1}, (0,), 1, "")},
        train,
        (),
    )
    run(what, results_dir=tmp_path, runs_dir=tmp_path / "runs", report=lambda _: None)
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == [
        "one-cpu-0.json",
        "one-cpu-0.safetensors",
    ]
    assert {"read-words", "read-translation"} <= set(EXPERIMENTS)


def curve(*values):
    return {str(n): value for n, value in enumerate(values)}


def test_heads_are_chosen_on_some_sentences_and_measured_on_others():
    worth = torch.tensor([[0.4, 0.1], [0.3, 0.2]])
    other = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    found = reader_heads.silencing(
        lambda mask: float(((1 - mask) * worth).sum()),
        lambda mask: float(((1 - mask) * other).sum()),
        lambda mask: float((mask * other).sum()),
        (2, 2),
        seed=0,
    )
    # By the first, head 1.2 is worth least; by the second it is worth all.
    assert found["least_head_worth"] == 1.0
    assert found["loss_without"]["least worth alone"] == curve(0, 1, 1, 1, 1)
    assert found["known_without"]["most worth alone"] == curve(1, 1, 1, 1, 0)
    between = found["loss_without"]["random"]
    assert between["0"] == 0.0 < between["2"] < between["4"] == 1.0
    assert found["pair_excess"] == 0.0


def test_understudies_are_named_by_layer_and_head():
    def loss(mask):
        return 1.0 - max(float(mask[0, 1]), float(mask[2, 0]))

    found = reader_heads.silencing(loss, loss, loss, (3, 2), seed=0)
    assert found["understudies"] == "1.2, 3.1" and found["largest_pair_excess"] == 1.0
    assert found["pair_excess"] == pytest.approx(1 / 15, abs=1e-4)


def test_best_roles_stand_beside_a_count():
    reader = load_reader()
    _, test = read_words.make_data(read_words.CPU, 0)
    task = read_words.verb_task(test[:40], reader.vocabulary)
    scores = {"entropy": torch.zeros(2, 2), "emphasis": torch.tensor([[0.1, 0.2], [0.9, 0.3]])}
    found = reader_heads.best_roles(scores, task.batch)
    assert found["role_of_best"] == {"emphasis": 0.9} and found["best_head"] == {"emphasis": "2.1"}
    assert found["role_of_counting"]["emphasis"] == 1.0


def test_probes_see_what_is_there_and_what_is_not():
    reader = load_reader()
    _, test = read_words.make_data(read_words.CPU, 0)
    task = read_words.verb_task(test[:120], reader.vocabulary)
    layers = reader_probes.layers_of(reader.model, task.tokens, task.batch.keep)
    assert list(layers) == ["word", "0", "1", "2", "3"]
    with torch.no_grad():
        logits = reader.model(task.tokens, task.batch.keep)
        last = reader.model.encoder.norm(layers["3"])
    assert torch.allclose(reader.model.embed.logits(last), logits, atol=1e-4)
    found = reader_probes.probes(
        reader.model,
        reader.vocabulary,
        task.batch,
        task.tokens,
        (task.place, torch.zeros(120, dtype=torch.bool)),
        seed=0,
    )
    assert found["probe"]["plural, word"] == 1.0
    # All verbs called plural: nothing to be told, and nothing to be missed.
    assert found["probe"]["hidden verb, 0"] == found["probe_majority"]["hidden verb"] == 1.0
    assert found["probe"]["subject, word"] < found["probe"]["subject, 3"]
