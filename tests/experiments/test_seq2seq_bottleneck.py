from dataclasses import asdict, replace

import pytest
import torch

from course_lib.decoding import Decoded
from course_lib.experiments import SHIPPED_RESULTS, load_record
from course_lib.experiments import seq2seq_bottleneck as bottleneck
from course_lib.experiments.questions import answers

KEPT = load_record(SHIPPED_RESULTS / "seq2seq-bottleneck" / "gru-cpu-0.json")

TINY = bottleneck.BottleneckConfig(
    n_train=64, n_test=40, max_length=6, d_model=8, epochs=2, batch_size=32
)


def test_an_arm_is_measured_over_length(train):
    outcome = train(bottleneck.EXPERIMENT, asdict(TINY) | {"cell": "gru", "attention": "general"})
    assert [row["epoch"] for row in outcome.metrics] == [1, 2]
    counts = outcome.results["n_by_length"]
    assert sum(counts.values()) == 40 and set(counts) == {"3", "4", "5", "6"}
    mean = sum(outcome.results["exact_by_length"][k] * n for k, n in counts.items()) / 40
    assert mean == pytest.approx(outcome.results["exact"], abs=1e-3)


def test_data_of_two_seeds_share_the_test_sentences():
    a, b = bottleneck.make_data(TINY, 0), bottleneck.make_data(TINY, 1)
    assert a.test == b.test and a.train != b.train and a.sha256 != b.sha256
    assert not {pair.source for pair in a.train} & {pair.source for pair in a.test}


def test_exact_match_needs_every_word(monkeypatch):
    """A model that knows all answers gets 1, and 0 once each answer lacks a word."""
    data = bottleneck.make_data(TINY, 0)
    config = bottleneck.Seq2SeqConfig(len(data.source), len(data.target), d_model=8)
    model = bottleneck.Seq2Seq(config)
    known = [pair for pair in data.test if data.target.unk not in data.target.encode(pair.target)]
    rows = [torch.tensor(data.target.encode(pair.target, eos=True)) for pair in known]
    answers = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    for said, right in ((answers, True), (answers[:, 1:], False)):
        written = Decoded(said, torch.zeros(len(known)), torch.zeros(len(known)), None)
        monkeypatch.setattr(model, "generate", lambda *a, _written=written, **k: _written)
        assert bottleneck.exact_matches(model, data, known) == [right] * len(known)


def record(arm, seed, short, long):
    return replace(
        KEPT,
        arm=arm,
        seed=seed,
        metrics=[{"epoch": 1, "exact": 0.0}, {"epoch": 2, "exact": short / 2 + 0.001 * seed}],
        results={
            "exact_by_length": {"4": short, "8": 0.5, "12": long, "16": long},
            "n_by_length": {"4": 10, "8": 10, "12": 10, "16": 30},
        },
        finished="2026-11-25T00:00:00+00:00",
    )


def test_share_weighs_lengths_by_their_counts():
    made = record("gru", 0, short=1.0, long=0.2)
    assert bottleneck.share(made, shortest=11) == pytest.approx(0.2)
    assert bottleneck.share(made, longest=5) == 1.0
    assert bottleneck.share(made) == pytest.approx((10 * 1 + 10 * 0.5 + 40 * 0.2) / 60)


def test_conclusions_follow_the_numbers():
    def outcomes(gain):
        records = [record("gru", s, 0.9 + 0.01 * s, 0.1) for s in range(5)]
        records += [record("gru-attention", s, 0.95, 0.1 + gain + 0.01 * s) for s in range(5)]
        return [c.verdict.outcome for c in answers(bottleneck.QUESTIONS, records)]

    assert outcomes(0.6) == ["holds", "holds", "holds", "fails", "holds"]
    assert outcomes(-0.09)[1] == "fails"
    assert outcomes(-0.02)[1] == "no difference"
    assert outcomes(-0.01)[1] == "undecided"


def test_the_live_setting_is_smaller_than_the_recorded_one():
    live = bottleneck.live_config()
    cpu = bottleneck.CPU
    assert (
        live.n_train * live.epochs * live.max_length
        < 0.5 * cpu.n_train * cpu.epochs * cpu.max_length
    )
