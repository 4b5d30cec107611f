"""Attention by tiles: the same numbers, without ever a matrix of all pairs."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_lib.attention import scaled_dot_product_attention
from course_lib.efficient import online_attention, tiled_attention
from course_lib.masks import causal_mask, padding_mask

B, H, T, S, DH, DV = 2, 3, 5, 7, 4, 6


def draw(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def inputs(dtype=torch.float64):
    shapes = (B, H, T, DH), (B, H, S, DH), (B, H, S, DV)
    return [draw(*s, seed=i, dtype=dtype).requires_grad_() for i, s in enumerate(shapes)]


def holes(*shape):
    mask = torch.rand(*shape, generator=torch.Generator().manual_seed(3)) > 0.4
    mask[..., 1, :] = False
    return mask


CASES = {
    "plain": {},
    "mask": {"mask": holes(B, 1, T, S)},
    "mask of each head": {"mask": holes(1, H, T, S)},
    "padding": {"mask": padding_mask(torch.tensor([0, 4]), S)},
    "row": {"mask": torch.tensor([True] * 3 + [False] * 4), "bias": draw(S)},
    "column": {"mask": torch.tensor([[True], [False], [True], [True], [False]])},
    "nothing": {"mask": torch.tensor(False), "bias": torch.tensor(1.0)},
    "bias": {"bias": draw(B, H, T, S, seed=4)},
    "bias of each head": {"bias": draw(1, H, T, S, seed=4)},
    "bias of each key": {"bias": draw(B, 1, 1, S, seed=4)},
    "bias of each query": {"bias": draw(T, 1, seed=4)},
    "blocking bias": {"bias": torch.where(holes(T, S), 0.0, -math.inf)},
    "both": {"mask": holes(B, 1, T, S), "bias": draw(1, H, T, S, seed=4)},
    "causal": {"causal": True},
    "causal and padded": {"causal": True, "mask": padding_mask(torch.tensor([2, 7]), S)},
    "scale": {"scale": 0.7},
}


def expected(q, k, v, causal=False, mask=None, **rest):
    if causal:
        mask = causal_mask(T, S) if mask is None else mask & causal_mask(T, S)
    return scaled_dot_product_attention(q, k, v, mask, **rest)[0]


def run(attend, arguments, dtype=torch.float64):
    leaves = inputs(dtype)
    arguments = dict(arguments)
    if "bias" in arguments:
        arguments["bias"] = arguments["bias"].to(dtype).clone().requires_grad_()
        leaves.append(arguments["bias"])
    out = attend(*leaves[:3], **arguments)
    out.square().sum().backward()
    return [out, *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("tiles", [(2, 3), (1, 1), (5, 7), (100, 4), (2, 100)], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_output_and_all_gradients_are_those_of_plain_attention(case, tiles):
    sizes = dict(zip(("query_tile", "key_tile"), tiles, strict=True))
    ours = run(lambda *a, **kw: tiled_attention(*a, **kw, **sizes), CASES[case])
    for a, b in zip(ours, run(expected, CASES[case]), strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if "causal" not in c])
def test_the_readable_loop_says_the_same(case):
    ours = run(lambda *a, **kw: online_attention(*a, **kw, tile=3), CASES[case])
    for a, b in zip(ours, run(expected, CASES[case]), strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    T=st.integers(1, 9), extra=st.integers(0, 6), rows=st.integers(1, 9), columns=st.integers(1, 9)
)
def test_no_size_of_tile_changes_causal_attention(T, extra, rows, columns):
    q, k, v = draw(2, T, 4), draw(2, T + extra, 4, seed=1), draw(2, T + extra, 3, seed=2)
    out = tiled_attention(q, k, v, causal=True, query_tile=rows, key_tile=columns)
    exact, _ = scaled_dot_product_attention(q, k, v, causal_mask(T, T + extra))
    torch.testing.assert_close(out, exact)


def test_the_chosen_tiles_are_exact_beyond_one_tile_of_keys():
    q, k, v = draw(1, 3, 8), draw(1, 5000, 8, seed=1), draw(1, 5000, 8, seed=2)
    exact, _ = scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(tiled_attention(q, k, v), exact)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_single(dtype):
    half = run(lambda *a, **kw: tiled_attention(*a, **kw, key_tile=2), CASES["both"], dtype)
    for a, b in zip(half, run(expected, CASES["both"]), strict=True):
        assert a.dtype == dtype
        torch.testing.assert_close(a.double(), b, atol=0.06, rtol=0.06)


def test_autocast_does_not_reach_the_sums():
    q, k, v = inputs(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = tiled_attention(q, k, v, key_tile=3)
    torch.testing.assert_close(out, expected(q, k, v))


def test_scores_of_ten_thousand_and_rows_without_a_key():
    q, k = torch.tensor([[1e2]]), torch.tensor([[1e2], [-1e2], [1e2]])
    v = torch.tensor([[1.0], [2.0], [3.0]])
    for attend in (
        lambda **kw: online_attention(q, k, v, tile=1, **kw),
        lambda **kw: tiled_attention(q, k, v, key_tile=1, **kw),
    ):
        assert attend().item() == 2
        assert attend(mask=torch.tensor([[False, True, False]])).item() == 2
        assert attend(mask=torch.tensor([[False] * 3])).item() == 0


class Largest(TorchDispatchMode):
    """The most numbers that any tensor held."""

    def __init__(self):
        super().__init__()
        self.size = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = function(*arguments, **(options or {}))
        sizes = [x.numel() for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
        self.size = max([self.size, *sizes])
        return result


def largest(attend, length):
    q, k, v = (draw(1, length, 2, seed=i, dtype=torch.float32).requires_grad_() for i in range(3))
    with Largest() as seen:
        attend(q, k, v).sum().backward()
    return seen.size


def test_no_tensor_grows_with_the_square_of_the_length():
    tiled = lambda *a: tiled_attention(*a, query_tile=16, key_tile=32)  # noqa: E731
    assert largest(tiled, 512) == 2 * 512
    assert largest(tiled, 1024) == 2 * 1024
    plain = lambda *a: scaled_dot_product_attention(*a)[0]  # noqa: E731
    assert largest(plain, 512) == 512**2
    assert largest(tiled_attention, 4096) < 4096**2 / 32, "tiles chosen by the function"


def test_tiles_of_the_future_are_not_computed():
    q, k, v = (draw(1, 64, 4, seed=i) for i in range(3))

    def products(**arguments):
        with torch.profiler.profile() as recorded:
            tiled_attention(q, k, v, query_tile=8, key_tile=8, **arguments)
        return sum(e.count for e in recorded.key_averages() if e.key == "aten::bmm")

    assert products() == 64 and products(causal=True) == 36


def test_it_compiles_with_its_gradients():
    torch._dynamo.reset()
    attend = torch.compile(
        lambda q, k, v: tiled_attention(q, k, v, causal=True, query_tile=2, key_tile=3),
        backend="aot_eager",
        fullgraph=True,
    )
    for a, b in zip(run(attend, {}), run(expected, {"causal": True}), strict=True):
        torch.testing.assert_close(a, b)


def test_tiles_and_causal_attention_that_cannot_be_are_refused():
    q, k, v = inputs()
    with pytest.raises(ValueError, match="tile is 0, wanted at least 1"):
        online_attention(q, k, v, tile=0)
    with pytest.raises(ValueError, match="query_tile is -1"):
        tiled_attention(q, k, v, query_tile=-1)
    with pytest.raises(ValueError, match="causal with 7 queries and 5 keys"):
        tiled_attention(k, q, q, causal=True)


def test_second_derivatives_are_those_of_the_formula():
    q, k, v = (x.requires_grad_() for x in inputs())
    mask = torch.rand(1, 1, T, S, generator=torch.Generator().manual_seed(3)) > 0.3
    bias = draw(1, 3, 1, S).requires_grad_()

    def attend(q, k, v, bias):
        return tiled_attention(q, k, v, mask, bias, query_tile=2, key_tile=3)

    torch.autograd.gradgradcheck(attend, (q, k, v, bias))
    found = []
    for way in (tiled_attention, lambda *x: scaled_dot_product_attention(*x)[0]):
        (first,) = torch.autograd.grad(way(q, k, v).sum(), q, create_graph=True)
        loss = way(q, k, v).square().sum() + 100 * first.square().sum()
        found.append(torch.autograd.grad(loss, q)[0])
    torch.testing.assert_close(*found)
