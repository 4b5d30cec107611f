"""A task that needs positions: solved with them, not without."""

import torch

from course_lib.positions import sinusoidal_positions
from course_lib.positions.previous import accuracy_by_place, train_previous


def test_positions_are_what_it_takes():
    blind, blind_losses = train_previous(lambda n: torch.zeros(n, 32), length=8, steps=200)
    model, losses = train_previous(lambda n: sinusoidal_positions(n, 32), length=8, steps=200)
    assert sum(losses[-20:]) < 0.1 * sum(blind_losses[-20:])
    assert accuracy_by_place(model, 8).min() > 0.9
    assert accuracy_by_place(blind, 8).mean() < 0.6
    again, same = train_previous(lambda n: sinusoidal_positions(n, 32), length=8, steps=200)
    assert same == losses and torch.equal(again.guess.weight, model.guess.weight)
    assert torch.equal(accuracy_by_place(model, 8), accuracy_by_place(again, 8))
