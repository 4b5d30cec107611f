"""A task that needs positions: solved with them, not without."""

import torch

from course_lib.positions import Alibi, RelativeBias, Rotary, sinusoidal_positions
from course_lib.positions.previous import PlacedAttention, accuracy_by_place, train_previous


def test_positions_are_what_it_takes():
    blind, blind_losses = train_previous(lambda n: torch.zeros(n, 32), length=8, steps=200)
    model, losses = train_previous(lambda n: sinusoidal_positions(n, 32), length=8, steps=200)
    assert sum(losses[-20:]) < 0.1 * sum(blind_losses[-20:])
    assert accuracy_by_place(model, 8).min() > 0.9
    assert accuracy_by_place(blind, 8).mean() < 0.6
    again, same = train_previous(lambda n: sinusoidal_positions(n, 32), length=8, steps=200)
    assert same == losses and torch.equal(again.guess.weight, model.guess.weight)
    assert torch.equal(accuracy_by_place(model, 8), accuracy_by_place(again, 8))


def test_positions_may_enter_in_the_scores():
    def placed(**options):
        return lambda: PlacedAttention(32, 4, **options)

    for options in ({"bias": RelativeBias(4, n_buckets=8, max_distance=8)}, {"rotate": Rotary(8)}):
        model, _ = train_previous(attention=placed(**options), length=8, steps=200)
        assert accuracy_by_place(model, 8).mean() > 0.9
    blind, _ = train_previous(attention=placed(), length=8, steps=200)
    assert accuracy_by_place(blind, 8).mean() < 0.6


def test_a_causal_layer_does_not_see_what_comes_later():
    attend = PlacedAttention(32, 4, bias=Alibi(4), causal=True)
    x = torch.randn(1, 6, 32, generator=torch.Generator().manual_seed(0))
    changed = x.clone()
    changed[:, 4] += 1
    same = (attend(x) == attend(changed)).all(dim=-1)[0]
    assert same.tolist() == [True] * 4 + [False] * 2


def test_a_bias_that_is_a_module_is_trained():
    bias = RelativeBias(4)
    before = bias.table.detach().clone()
    train_previous(attention=lambda: PlacedAttention(32, 4, bias=bias), length=8, steps=2)
    assert not torch.equal(bias.table, before)
