from dataclasses import asdict, replace

import pytest
import torch

from course_lib.data.multi30k import ParallelText
from course_lib.experiments import SHIPPED_RESULTS, load_records, translator
from course_lib.experiments.bleu import bleu_counts, bleu_interval, bleu_signature, corpus_bleu
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job

sacrebleu = pytest.importorskip("sacrebleu")
pytest.importorskip("tokenizers")

ENGLISH = (
    "A man is in the street.",
    "Two dogs run over the grass.",
    "A man and two dogs are on the grass, in the street.",
)
GERMAN = (
    "Ein Mann ist auf der Straße.",
    "Zwei Hunde laufen über das Gras.",
    "Ein Mann und zwei Hunde sind auf dem Gras, auf der Straße.",
)


@pytest.mark.parametrize(
    "said",
    [
        ENGLISH,
        ("A man is on the street.", "Two dogs run.", "Two dogs are on the grass in the street."),
        ("The dog", "Two", ""),
        ("man", "grass", "street"),
    ],
)
def test_the_sums_of_counts_give_the_score_of_sacrebleu(said):
    counts = bleu_counts(said, ENGLISH)
    expected = sacrebleu.corpus_bleu(said, [ENGLISH]).score
    assert float(corpus_bleu(counts)) == pytest.approx(expected, abs=1e-6)
    assert "tok:13a" in bleu_signature()


def test_an_interval_holds_the_score_and_of_equal_systems_nothing_else_than_zero():
    said = ("A man is on the street.", "Two dogs run over grass.", "Two dogs on the grass.")
    counts = bleu_counts(said, ENGLISH).repeat(40, 1)
    low, high = bleu_interval(counts)
    assert low < float(corpus_bleu(counts)) < high
    assert bleu_interval(counts, counts) == (0.0, 0.0)
    better = bleu_counts(ENGLISH, ENGLISH).repeat(40, 1)
    assert bleu_interval(better, counts)[0] > 0


def test_pieces_are_joined_without_loss():
    pieces = translator.Pieces(ParallelText(GERMAN, ENGLISH), 120)
    for sentence in (*GERMAN, *ENGLISH):
        cut = pieces.cut(sentence)
        assert translator.joined(cut) == sentence
        assert pieces.vocabulary.unk not in pieces.vocabulary.encode(cut)
    assert translator.joined(pieces.cut("Ein Mann ☃.")) == "Ein Mann ."


@pytest.mark.parametrize("arm", ["transformer", "gru-attention", "gru"])
def test_an_arm_is_trained_and_measured(arm, tmp_path):
    small = {"d_model": 16, "n_layers": 1}
    shared = replace(translator.CPU, n_pieces=90, epochs=2, batch_size=2, beam_size=2)
    text = dict.fromkeys(("train", "valid", "test"), ParallelText(GERMAN, ENGLISH))
    job = Job(
        arm,
        asdict(shared) | translator.ARMS[arm] | small,
        0,
        torch.device("cpu"),
        tmp_path / "c.safetensors",
        False,
    )
    outcome = translator.run_one(
        job, text, DataUse("made", "three", "0" * 64), aligned=1, asked=("Ein Hund.",)
    )
    assert [row["epoch"] for row in outcome.metrics] == [1, 2]
    assert {"loss", "valid_bleu", "wall_seconds"} <= outcome.metrics[0].keys()
    found = outcome.results
    assert sum(row["n"] for row in found["bleu_by_length"].values()) == 3
    assert [s["source"] for s in found["shown"]] == [GERMAN[0], GERMAN[2], GERMAN[1]]
    assert list(found["asked"]) == ["Ein Hund."]
    counts = torch.stack([outcome.items[name] for name in translator.COUNTS], dim=1)
    assert float(corpus_bleu(counts)) == pytest.approx(found["bleu"], abs=0.01)
    if arm == "gru":
        assert "alignment" not in found
        return
    weights = torch.tensor(found["alignment"]["weights"])
    n_source, n_target = (len(found["alignment"][side]) for side in ("source", "target"))
    assert weights.shape == (n_target + 1, n_source)
    assert torch.allclose(weights.sum(-1), torch.ones(n_target + 1), atol=0.02)


def test_the_longest_runs_that_all_arms_have_are_found():
    kept = load_records(SHIPPED_RESULTS, "translator")[0]
    made = [
        replace(kept, arm=arm, size=size, seed=seed)
        for arm, size, seed in (
            ("gru", "cpu", 0),
            ("gru", "cpu", 1),
            ("gru", "day", 0),
            ("transformer", "cpu", 1),
        )
    ]
    found = translator.furthest(made, ["gru", "transformer"])
    assert [(r.size, r.seed) for runs in found.values() for r in runs] == [("cpu", 1)] * 2
    assert [r.size for r in translator.furthest(made, ["gru"])["gru"]] == ["day"]
    with pytest.raises(ValueError, match="gru, gru-attention"):
        translator.furthest(made, ["gru", "gru-attention"])


def test_what_records_keep_of_sentences_gives_their_score_and_arms_are_of_one_size():
    records = load_records(SHIPPED_RESULTS, "translator")
    for record in records + load_records(SHIPPED_RESULTS, "translator-korean"):
        score = float(corpus_bleu(translator.counts_of(record)))
        assert score == pytest.approx(record.results["bleu"], abs=0.01)
    sizes = [record.results["n_parameters"] for record in records]
    assert max(sizes) < 1.05 * min(sizes)
