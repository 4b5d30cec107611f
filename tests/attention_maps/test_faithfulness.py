"""Faithfulness: curves with known areas, and attention that explains nothing."""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.attention_maps import (
    curve_area,
    deletion_curve,
    gradient_importance,
    random_importance,
)
from course_tests.refusals import refusals


def test_the_right_order_falls_first_and_the_reverse_last():
    generator = torch.Generator().manual_seed(0)
    values = torch.rand(4, 10, generator=generator)

    def score(keep):
        return (values * keep).sum(dim=1) / values.sum(dim=1)

    right, wrong = deletion_curve(score, values), deletion_curve(score, -values)
    chance = deletion_curve(score, random_importance((4, 10), generator))
    assert (curve_area(right) < curve_area(chance)).all()
    assert (curve_area(chance) < curve_area(wrong)).all()
    torch.testing.assert_close(curve_area(right) + curve_area(wrong), torch.ones(4))


def test_all_is_there_at_the_start_and_nothing_at_the_end_whatever_the_length():
    present = torch.tensor([[True] * 7, [True] * 3 + [False] * 4])
    seen = []

    def score(keep):
        seen.append(keep.clone())
        return keep.sum(dim=1).float()

    curve = deletion_curve(score, torch.rand(2, 7), present=present, n_steps=4)
    assert curve.shape == (5, 2)
    assert torch.equal(seen[0], present) and not seen[-1].any()
    assert all(not (keep & ~present).any() for keep in seen)
    assert (curve.diff(dim=0) <= 0).all()


def test_gradient_times_input_is_exact_for_a_linear_answer():
    x = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    weight = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    found = gradient_importance(lambda x: (x * weight).sum(dim=(1, 2)), x)
    torch.testing.assert_close(found, (x * weight).sum(-1).abs())
    assert not x.requires_grad


def test_attention_may_point_at_what_does_not_matter():
    # The most attended token has the value 0: the answer comes from the others.
    v = torch.tensor([[[0.0], [3.0], [5.0]]])
    k = torch.tensor([[[4.0], [1.0], [1.0]]])
    q = torch.ones(1, 1, 1)

    def answer(keep):
        return scaled_dot_product_attention(q, k, v * keep[..., None])[0][:, 0, 0]

    attention = scaled_dot_product_attention(q, k, v)[1][:, 0]
    assert attention.argmax() == 0
    by_attention = deletion_curve(answer, attention)
    by_gradient = deletion_curve(
        answer, gradient_importance(lambda v: scaled_dot_product_attention(q, k, v)[0][:, 0, 0], v)
    )
    assert by_attention[1] == by_attention[0]
    assert curve_area(by_gradient) < curve_area(by_attention)


IMPORTANCE = torch.rand(2, 4)
test_wrong_input_is_named = refusals(
    (lambda: deletion_curve(lambda k: k.sum(1), IMPORTANCE[0]), "wanted \\(B, T\\)"),
    (lambda: deletion_curve(lambda k: k.sum(1), IMPORTANCE, n_steps=0), "n_steps is 0"),
    (lambda: deletion_curve(lambda k: k.sum(), IMPORTANCE), "wanted \\(2,\\)"),
    (lambda: deletion_curve(lambda k: k.sum(1), IMPORTANCE, present=IMPORTANCE), "boolean"),
    (lambda: curve_area(torch.ones(1, 2)), "at least 2 points"),
    (lambda: gradient_importance(lambda x: x, torch.ones(2, 2)), r"\(B, T, D\)"),
)
