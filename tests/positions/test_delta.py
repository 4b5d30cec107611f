"""Increments for values: what they distinguish, what they forget, and what they must not see."""

import torch

from course_lib.positions.delta import literal_delta_value, steps


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


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
