"""Increments for values: what they distinguish, what they forget, and what they must not see."""

import itertools

import torch

from course_lib.positions.delta import literal_delta_value, steps


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def test_the_literal_form_tells_all_orders_apart():
    x = draw(4, 3)
    orders = list(itertools.permutations(range(4)))
    values = torch.stack([literal_delta_value(x[list(order)]) for order in orders])
    distances = torch.cdist(values, values) + torch.eye(24) * 1e9
    assert distances.min() > 1e-3
    # Without steps a token's result does not depend on the order of the others.
    plain = torch.stack([(x[list(o)][0] @ x[list(o)][1:].T) @ x[list(o)][1:] for o in orders])
    assert (torch.cdist(plain, plain) < 1e-9).sum() == 24 * 6


def test_the_literal_form_is_the_reports():
    x1, x2, x3, x4 = x = draw(4, 5)
    value = x1 + (x1 @ x2) * (x2 - x1) + (x1 @ x3) * (x3 - x2) + (x1 @ x4) * (x4 - x3)
    torch.testing.assert_close(literal_delta_value(x), value)
    swapped = x2 + (x2 @ x1) * (x1 - x2) + (x2 @ x3) * (x3 - x1) + (x2 @ x4) * (x4 - x3)
    torch.testing.assert_close(literal_delta_value(x[[1, 0, 2, 3]]), swapped)
    torch.testing.assert_close(literal_delta_value(x.expand(2, 4, 5))[1], value)


def test_steps_forget_a_constant():
    v = draw(2, 5, 3)
    torch.testing.assert_close(steps(v + 7), steps(v))
    assert not steps(v)[:, 0].any()
