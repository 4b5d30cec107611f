"""CvT, PVT and CSwin: shapes, counts, who sees whom, and what is easily done wrong."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import MultiHeadAttention
from course_lib.efficient import (
    ConvolutionalAttention,
    CrossShapedAttention,
    ReducedAttention,
    stripe_masks,
)
from course_tests.refusals import refusals


def grid(rows=4, columns=6, width=8, batch=2):
    return torch.randn(batch, rows, columns, width, generator=torch.Generator().manual_seed(1))


def make(kind, *args, **kwargs):
    torch.manual_seed(0)
    return kind(*args, **kwargs).eval()


def count(module):
    return sum(p.numel() for p in module.parameters())


MODULES = {
    "cvt": lambda **kw: make(ConvolutionalAttention, 8, 2, **kw),
    "pvt": lambda **kw: make(ReducedAttention, 8, 2, reduction=2, **kw),
    "cswin": lambda **kw: make(CrossShapedAttention, 8, 2, stripe=2, **kw),
}


def test_parameter_counts():
    maps = 4 * (64 + 8)
    assert count(make(ConvolutionalAttention, 8, 2)) == maps + 3 * (9 * 8 + 2 * 8)
    assert count(make(ReducedAttention, 8, 2, reduction=3)) == maps + (9 * 64 + 8) + 2 * 8
    assert count(make(ReducedAttention, 8, 2, reduction=1)) == maps
    assert count(make(CrossShapedAttention, 8, 2, stripe=2)) == maps + 8 * 9 + 8
    assert count(make(CrossShapedAttention, 8, 2, stripe=2, lepe=False)) == maps


@pytest.mark.parametrize("kind", MODULES)
def test_weights_are_distributions_and_asking_for_them_changes_nothing(kind):
    attend = MODULES[kind]()
    out, weights = attend(grid(), return_weights=True)
    assert out.shape == grid().shape
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    torch.testing.assert_close(attend(grid()), out)


def test_without_reduction_pvt_is_full_attention():
    attend, full = make(ReducedAttention, 8, 2, reduction=1), make(MultiHeadAttention, 8, 2)
    full.load_state_dict(attend.state_dict())
    torch.testing.assert_close(attend(grid()).flatten(1, 2), full(grid().flatten(1, 2)))


def test_a_reduced_key_is_made_of_its_own_square_and_every_query_sees_it():
    attend = make(ReducedAttention, 8, 2, reduction=2)
    x = grid().requires_grad_()
    attend(x)[0, 0, 0].sum().backward()
    assert x.grad[0].abs().sum(-1).ne(0).all() and not x.grad[1].any()
    _, weights = attend(grid(), return_weights=True)
    assert weights.shape == (2, 2, 24, 6)


def test_a_key_of_cvt_is_made_of_a_neighbourhood():
    attend = make(ConvolutionalAttention, 8, 2, stride=2)
    x = grid().requires_grad_()
    attend.k_conv(x.permute(0, 3, 1, 2))[0, :, 1, 1].sum().backward()
    touched = x.grad[0].abs().sum(-1).ne(0).nonzero()
    assert touched.min(0).values.tolist() == [1, 1] and touched.max(0).values.tolist() == [3, 3]


@given(rows=st.integers(1, 7), columns=st.integers(1, 7), stride=st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_cvt_has_a_key_for_each_started_square(rows, columns, stride):
    attend = make(ConvolutionalAttention, 4, 2, stride=stride)
    _, weights = attend(grid(rows, columns, width=4), return_weights=True)
    assert weights.shape[-1] == -(-rows // stride) * -(-columns // stride)


def test_cvt_divides_by_the_root_of_the_whole_width():
    ours, usual = (make(ConvolutionalAttention, 8, 2, scale=s) for s in (None, 4**-0.5))
    flat = ours(grid(), return_weights=True)[1].amax()
    sharp = usual(grid(), return_weights=True)[1].amax()
    assert flat < sharp
    explicit = make(ConvolutionalAttention, 8, 2, scale=8**-0.5)
    torch.testing.assert_close(explicit(grid()), ours(grid()))


@given(
    rows=st.sampled_from([2, 4, 6]),
    columns=st.sampled_from([2, 4, 6]),
    stripe=st.sampled_from([1, 2]),
    lepe=st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_cutting_into_stripes_is_masking_what_lies_outside(rows, columns, stripe, lepe):
    attend = make(CrossShapedAttention, 8, 4, stripe=stripe, lepe=lepe).double()
    x = grid(rows, columns).double()
    out, weights = attend(x, return_weights=True)
    torch.testing.assert_close(attend(x), out, atol=1e-12, rtol=0)
    masks = stripe_masks(rows, columns, stripe)
    assert not weights[:, :2].masked_fill(masks[0], 0).any()
    assert not weights[:, 2:].masked_fill(masks[1], 0).any()


def test_one_layer_sees_a_cross_and_two_see_the_grid():
    attend = make(CrossShapedAttention, 8, 2, stripe=1)
    x = grid(5, 5).requires_grad_()
    attend(x)[0, 1, 3].sum().backward()
    seen = x.grad[0].abs().sum(-1).ne(0)
    cross = torch.zeros(5, 5, dtype=torch.bool)
    cross[1], cross[:, 3] = True, True
    assert torch.equal(seen, cross)
    x.grad = None
    attend(attend(x))[0, 1, 3].sum().backward()
    assert x.grad[0].abs().sum(-1).ne(0).all()


def test_the_position_code_stops_at_the_border_of_a_stripe():
    attend = make(CrossShapedAttention, 8, 2, stripe=2)
    for part in (attend.q_proj, attend.k_proj):  # all weights of attention the same
        torch.nn.init.zeros_(part.weight)
    x = grid(4, 4)
    v = attend.v_proj(x)
    whole = F.conv2d(v[..., :4].permute(0, 3, 1, 2), attend.lepe[0].weight, padding=1, groups=4)
    stripes = attend._lepe(0, v[..., :4]).permute(0, 3, 1, 2)
    stripes = stripes - attend.lepe[0].bias[:, None, None]
    torch.testing.assert_close(stripes[:, :, [0, 3]], whole[:, :, [0, 3]])
    assert not torch.allclose(stripes[:, :, [1, 2]], whole[:, :, [1, 2]], atol=1e-3)


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: ConvolutionalAttention(8, 3), "n_heads is 3, wanted a divisor of d_model 8"),
    (lambda: ConvolutionalAttention(8, 2, kernel_size=2), "kernel_size is 2, wanted an odd"),
    (lambda: ConvolutionalAttention(8, 2, stride=0), "stride is 0, wanted at least 1"),
    (lambda: ReducedAttention(8, 2, reduction=0), "reduction is 0, wanted at least 1"),
    (lambda: CrossShapedAttention(8, 1, stripe=1), "n_heads is 1, wanted an even number"),
    (lambda: CrossShapedAttention(8, 2, stripe=0), "stripe is 0, wanted at least 1"),
    (lambda: MODULES["cvt"]()(grid()[0]), r"\(4, 6, 8\), wanted \(B, rows, columns, 8\)"),
    (lambda: stripe_masks(4, 6, 4), "stripe is 4, wanted a divisor of 4 rows and 6 columns"),
)
