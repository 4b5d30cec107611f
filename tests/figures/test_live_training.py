"""Networks that learn to read backwards, as the page has them."""

import math
from functools import partial

import pytest
import torch

from course_lib.figures.base import mulberry32
from course_lib.figures.live_training import (
    EXAMPLE,
    LENGTH,
    Options,
    adam_steps,
    live_training,
    make_model,
    train,
)
from course_lib.transformer.depth import ARRANGEMENTS
from course_tests.browser.live import apart


def test_numbers_are_drawn_evenly_and_again():
    numbers = mulberry32(7, 20_000)
    assert (numbers == mulberry32(7, 20_000)).all() and (numbers[:50] == mulberry32(7, 50)).all()
    assert (numbers[:50] != mulberry32(8, 50)).all()
    assert 0 <= numbers.min() and numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.01 and abs(numbers.var() - 1 / 12) < 0.005


def test_weights_are_drawn_as_their_text_says():
    model, parameters = make_model("pre", 4, 3)
    assert sum(p.numel() for p in parameters) == sum(p.numel() for p in model.parameters())
    hidden = model.stack.blocks[0].feed_forward.in_proj
    bound = math.sqrt(6 / sum(hidden.weight.shape))
    assert hidden.weight.abs().max() <= bound and hidden.weight.std() > 0.5 * bound
    assert not hidden.bias.any() and (model.stack.norm.weight == 1).all()
    assert all(p.dtype == torch.float64 for p in parameters)
    # Norms that are not there have no weights: two in a block, with scale and shift, and the last.
    lengths = {a: sum(p.numel() for p in make_model(a, 4, 0)[1]) for a in ARRANGEMENTS}
    assert lengths["pre"] - lengths["neither"] == (4 * 2 + 1) * 2 * 8
    assert lengths["pre"] - lengths["post"] == 2 * 8 and lengths["residual"] == lengths["neither"]


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_weights_are_put_back_where_they_were(arrangement):
    found = adam_steps(arrangement, 2, 5, [[EXAMPLE]] * 3, [0.01] * 3)
    model, parameters = make_model(arrangement, 2, found["weights"])
    assert torch.cat([p.flatten() for p in parameters]).tolist() == found["weights"]
    seen = live_training(arrangement, 2, found["weights"], EXAMPLE)
    assert model(torch.tensor([EXAMPLE])).flatten().tolist() == pytest.approx(seen["logits"])
    rows = torch.tensor(seen["maps"])
    assert rows.shape == (2, LENGTH, LENGTH)
    torch.testing.assert_close(rows.sum(-1), torch.ones(2, LENGTH))
    assert len(found["gradients"]) == len(found["weights"]) and seen["loss"] < found["losses"][0]


def test_a_step_of_a_rate_of_0_changes_nothing():
    found = adam_steps("pre", 1, 2, [[EXAMPLE]], [0.0])
    again = adam_steps("pre", 1, found["weights"], [[EXAMPLE]], [0.01])
    assert again["gradients"] == pytest.approx(found["gradients"], abs=1e-15)
    assert again["weights"] != found["weights"]


def test_what_has_been_learned_is_seen_in_the_map():
    run = train("pre", 1)
    assert run.last < 0.1 and run.accuracy > 0.99 and len(run.losses) == 300
    rows = torch.tensor(live_training("pre", 1, run.weights, EXAMPLE)["maps"][0])
    assert rows.argmax(-1).tolist() == [*range(LENGTH)][::-1]
    untrained = train("pre", 1, steps=0)
    assert untrained.losses == [] and math.isnan(untrained.last) and untrained.accuracy < 0.4


def test_a_warm_up_begins_small():
    start = train("post", 1, steps=0).weights
    moved = [
        apart(train("post", 1, warm_up=warm, steps=1).weights, start) for warm in (True, False)
    ]
    assert moved[0] * 200 == pytest.approx(moved[1], rel=1e-6)


def test_the_still_picture_tells_the_runs_that_it_draws(monkeypatch):
    short = partial(train, steps=30)
    monkeypatch.setattr("course_lib.figures.live_training.train", short)
    still = Options().still
    assert still.count("<tr>") == 2 * 5 and still.count("viewBox") == 2
    for name in ("pre", "post", "norm", "neither"):
        for blocks in (2, 4):
            run = short(name, blocks, 0.03, seed=1)
            assert f"<td>{run.last:.2f}</td><td>{run.accuracy:.0%}</td>" in still
