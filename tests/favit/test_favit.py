"""Factorised attention: its ways to fuse windows, its model, and what it reads."""

import math
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.favit import (
    CrossWindow,
    FactorisedAttention,
    FaViT,
    FaViTBlock,
    FaViTConfig,
    Operator,
    dilated_windows,
    dilation_rate,
    factorised_cost,
    favit,
    group_survey,
    informative_keys,
    pad_by_reflection,
    pooled_windows,
    reflected,
    split_channels,
    tokens_read,
    unfold_windows,
    window_cost,
)
from course_tests.parity.peers.favit import by_loops
from course_tests.refusals import refusals

OPERATORS = get_args(Operator)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def parameters(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize(("size", "dilation"), [(49, 8), (25, 4), (13, 2), (7, 1)])
def test_samples_reach_from_edge_to_edge(size, dilation):
    assert dilation_rate(size, 7) == dilation
    places = torch.arange(0, size, dilation)
    assert len(places) == 7 and places[-1] == size - 1


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 9), st.integers(0, 30))
def test_reflection_is_numpys_as_often_as_it_takes(side, extra):
    wanted = np.pad(np.arange(side), (0, extra), mode="reflect")
    assert reflected(side + extra, side).tolist() == wanted.tolist()


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 4), st.integers(1, 3))
def test_picking_pooling_and_unfolding_agree(rows, columns, window, dilation):
    x = torch.randn(2, 3, rows, columns, generator=seeded())
    samples = unfold_windows(x, window, dilation)
    assert torch.equal(dilated_windows(x, window, dilation), samples)
    assert torch.equal(pooled_windows(x, window, dilation, "max"), samples.amax(-1))
    mean = pooled_windows(x, window, dilation, "mean")
    torch.testing.assert_close(mean, samples.mean(-1), atol=1e-6, rtol=0)


def test_one_place_of_one_window():
    x = torch.arange(14.0 * 14).view(1, 1, 14, 14)
    local, dilated = unfold_windows(x, 7, 1)[0, 0], unfold_windows(x, 7, 2)[0, 0]
    assert local.shape == (49, 4) and dilated.shape == (49, 4)
    assert local[8, 3] == x[0, 0, 7 + 1, 7 + 1]
    assert dilated[8, 0] == x[0, 0, 2, 2]
    assert dilated[48, 0] == x[0, 0, 12, 12]
    assert dilated[0, 1] == x[0, 0, 0, 13]


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6))
def test_pooling_channels_equals_the_mean_only_for_one_window_or_channel(n_windows, width):
    windows = torch.randn(2, 3, 5, n_windows, width, generator=seeded())
    rebuilt = torch.nn.AdaptiveAvgPool2d((None, width))(windows.flatten(3))
    ours = CrossWindow("mean", pool_channels=True)(windows)
    torch.testing.assert_close(ours, rebuilt, atol=1e-6, rtol=0)
    same = torch.allclose(ours, CrossWindow("mean")(windows), atol=1e-6)
    assert same == (n_windows == 1 or width == 1)


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_leaves_one_window(operator):
    fuse = CrossWindow(operator, n_windows=6, width=4)
    windows = torch.randn(2, 3, 9, 6, 4, generator=seeded(), requires_grad=True)
    queries = torch.randn(2, 3, 20, 4, generator=seeded(1))
    out = fuse(windows, queries)
    assert out.shape == (2, 3, 9, 4)
    out.sum().backward()
    assert windows.grad.abs().sum() > 0
    assert all(p.grad is not None for p in fuse.parameters())


@pytest.mark.parametrize("operator", OPERATORS)
def test_one_window_stays_as_it_is(operator):
    windows = torch.randn(2, 3, 9, 1, 4, generator=seeded())
    queries = torch.randn(2, 3, 20, 4, generator=seeded(1))
    out = CrossWindow(operator, n_windows=1, width=4)(windows, queries)
    torch.testing.assert_close(out, windows[..., 0, :])


def test_operators_with_weights_begin_as_the_mean_and_can_leave_it():
    windows = torch.randn(2, 3, 9, 6, 4, generator=seeded())
    for operator, count in (("linear", 6 + 1), ("pointwise", 6 * 4 * 4 + 4)):
        fuse = CrossWindow(operator, n_windows=6, width=4)
        assert parameters(fuse) == count
        torch.testing.assert_close(fuse(windows), windows.mean(3))
        with torch.no_grad():
            for p in fuse.parameters():
                p.normal_(generator=seeded(1))
        assert not torch.allclose(fuse(windows), windows.mean(3))


def test_pointwise_is_a_convolution_over_the_places_of_the_window():
    fuse = CrossWindow("pointwise", n_windows=6, width=4)
    with torch.no_grad():
        fuse.sum.weight.normal_(generator=seeded(1))
    windows = torch.randn(2, 1, 9, 6, 4, generator=seeded())
    image = windows[:, 0].flatten(2).transpose(1, 2).view(2, 24, 3, 3)
    wanted = torch.nn.functional.conv2d(image, fuse.sum.weight[:, :, None, None], fuse.sum.bias)
    torch.testing.assert_close(fuse(windows)[:, 0], wanted.flatten(2).transpose(1, 2))


def test_linear_is_one_weight_a_window():
    fuse = CrossWindow("linear", n_windows=3, width=4)
    with torch.no_grad():
        fuse.sum.weight.copy_(torch.tensor([[1.0, 10.0, 100.0]]))
    windows = torch.randn(2, 1, 9, 3, 4, generator=seeded())
    wanted = windows[..., 0, :] + 10 * windows[..., 1, :] + 100 * windows[..., 2, :]
    torch.testing.assert_close(fuse(windows), wanted)


def keys_by_loops(queries, keys, n_keep, pool):
    N, K, c = len(queries), len(keys), queries.shape[-1]
    scores = [[float(q @ k) / math.sqrt(c) for k in keys] for q in queries]
    divergences = []
    for row in scores:
        total = sum(math.exp(s) for s in row)
        p = [math.exp(s) / total for s in row]
        divergences.append(sum(x * math.log(x * K) for x in p))
    order = sorted(range(N), key=lambda i: -divergences[i])
    chosen = order[: max(1, math.ceil(math.log(N)))]
    merge = max if pool == "max" else lambda values: sum(values) / len(values)
    pooled = [merge([scores[i][j] for i in chosen]) for j in range(K)]
    return sorted(sorted(range(K), key=lambda j: -pooled[j])[:n_keep])


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 12), st.integers(1, 10), st.sampled_from(["mean", "max"]), st.integers(0, 9))
def test_keys_are_those_that_the_most_decided_queries_like_best(N, K, pool, seed):
    queries = torch.randn(1, 2, N, 3, dtype=torch.float64, generator=seeded(seed))
    keys = torch.randn(1, 2, K, 3, dtype=torch.float64, generator=seeded(seed + 100))
    n_keep = 1 + seed % K
    index = informative_keys(queries, keys, n_keep, pool=pool)
    for h in range(2):
        assert index[0, h].tolist() == keys_by_loops(queries[0, h], keys[0, h], n_keep, pool)


def test_the_samples_that_stay_are_samples():
    windows = torch.randn(1, 1, 4, 5, 2, generator=seeded())
    out = CrossWindow("prob_sparse")(windows, torch.randn(1, 1, 9, 2, generator=seeded(1)))
    samples = {tuple(s) for s in windows.flatten(0, 3).tolist()}
    kept = [tuple(s) for s in out.flatten(0, 2).tolist()]
    assert set(kept) <= samples and len(set(kept)) == 4


def test_channels_are_shared_out_as_in_the_release():
    assert split_channels(128, 2) == (16, 56, 56)
    assert split_channels(256, 1) == (32, 224)


@pytest.mark.parametrize(("grid", "reduction"), [((4, 6), 2), ((3, 3), 1), ((5, 4), 4)])
def test_attention_is_what_loops_compute(grid, reduction):
    attend = FactorisedAttention(16, 1, reduction=reduction, window=3).double()
    x = torch.randn(2, *grid, 16, dtype=torch.float64, generator=seeded())
    with torch.no_grad():
        wanted = by_loops(attend, x)
        torch.testing.assert_close(attend(x), wanted, atol=1e-12, rtol=0)
        out, weights = attend(x, return_weights=True)
    torch.testing.assert_close(out, wanted, atol=1e-12, rtol=0)
    assert len(weights) == (2 if reduction == 1 else 3)
    for part in weights:
        torch.testing.assert_close(part.sum(-1), torch.ones_like(part[..., 0]))


@pytest.mark.parametrize(
    ("operator", "pool_channels"), [*((operator, False) for operator in OPERATORS), ("mean", True)]
)
def test_both_paths_agree_for_each_operator(operator, pool_channels):
    attend = FactorisedAttention(
        32, 2, reduction=2, window=3, operator=operator, pool_channels=pool_channels, grid=(8, 7)
    ).double()
    x = torch.randn(2, 8, 7, 32, dtype=torch.float64, generator=seeded(), requires_grad=True)
    results = []
    for fused in (True, False):
        attend.fused = fused
        out = attend(x)
        out.square().sum().backward()
        results.append((out, x.grad.clone()))
        x.grad = None
    for fast, explicit in zip(*results, strict=True):
        torch.testing.assert_close(fast, explicit, atol=1e-12, rtol=0)


def test_each_query_sees_the_whole_map_through_few_keys():
    attend = FactorisedAttention(32, 1, reduction=2, window=3)
    x = torch.randn(1, 12, 12, 32, generator=seeded(), requires_grad=True)
    out, weights = attend(x, return_weights=True)
    (gradient,) = torch.autograd.grad(out[0, 0, 0].sum(), x)
    assert (gradient[0].abs().sum(-1) > 0).all()
    assert [w.shape[-1] for w in weights] == [36, 9, 9]


def test_what_does_not_fill_a_kernel_is_not_read_by_the_global_group():
    attend = FactorisedAttention(16, 1, reduction=4, window=3)
    x = torch.randn(1, 7, 7, 16, generator=seeded())
    _, weights = attend(x, return_weights=True)
    assert weights[0].shape[-1] == 1


def test_operators_with_weights_belong_to_a_size():
    attend = FactorisedAttention(16, 1, reduction=2, window=3, operator="linear", grid=(6, 6))
    attend(torch.randn(1, 6, 6, 16))
    with pytest.raises(ValueError, match="there are 9 windows, wanted 4"):
        attend(torch.randn(1, 9, 9, 16))


@pytest.mark.parametrize(
    ("preset", "operator", "count"),
    [
        ("b0", "mean", 3_427_704),
        ("b1", "mean", 12_958_568),
        ("b2", "mean", 24_919_896),
        ("b3", "mean", 48_746_440),
        # The report says 3.5 million for pointwise and linear, 3.4 for the rest.
        ("b0", "pointwise", 3_473_512),
        ("b0", "linear", 3_427_952),
        ("b0", "max", 3_427_704),
        ("b0", "prob_sparse", 3_427_704),
    ],
)
def test_presets_have_the_releases_number_of_parameters(preset, operator, count):
    with torch.device("meta"):
        assert parameters(favit(preset, operator=operator)) == count


MAP = torch.zeros(1, 2, 4, 4)
WINDOWS = torch.zeros(1, 1, 4, 3, 2)
QUERIES, KEYS = (torch.zeros(1, 1, 5, 2), torch.zeros(1, 1, 6, 2))
MODEL = FaViT(FaViTConfig(image_size=32, depths=(1, 1, 1, 1)))
test_what_does_not_fit_is_refused = refusals(
    (lambda: favit("b4"), "no preset 'b4'; there are b0, b1, b2, b3"),
    (lambda: group_survey(0, 3, 2, 1), "the map is 0 x 3"),
    (lambda: factorised_cost(7, 9, 32, reduction=8), "wanted at least 8 x 8"),
    (lambda: dilation_rate(10, 7), "size is 10 and window 7"),
    (lambda: reflected(3, 0), "length is 3 and side 0"),
    (lambda: pad_by_reflection(torch.zeros(4, 4), 2), "wanted a map"),
    (lambda: pooled_windows(MAP, 2, 1, "sum"), "operator is 'sum', wanted 'mean' or 'max'"),
    (lambda: CrossWindow("sum"), "operator is 'sum', wanted one of"),
    (lambda: CrossWindow("linear"), "n_windows is None, wanted at least 1 for 'linear'"),
    (
        lambda: CrossWindow("pointwise", n_windows=3),
        "width is None, wanted at least 1 for 'pointwise'",
    ),
    (
        lambda: CrossWindow("mean")(WINDOWS[0]),
        "windows have shape .1, 4, 3, 2., wanted .B, H, L, nW, c.",
    ),
    (lambda: CrossWindow("prob_sparse")(WINDOWS), "got no queries"),
    (
        lambda: CrossWindow("prob_sparse")(WINDOWS, torch.zeros(1, 1, 5, 2), WINDOWS[:, :, :2]),
        "keys have shape",
    ),
    (lambda: informative_keys(QUERIES, KEYS, 7), "n_keep is 7, wanted 1 to the number of keys 6"),
    (
        lambda: informative_keys(QUERIES, KEYS, 2, n_queries=6),
        "n_queries is 6, wanted 1 to the number of queries 5",
    ),
    (lambda: informative_keys(QUERIES, KEYS, 2, pool="sum"), "pool is 'sum'"),
    (lambda: informative_keys(QUERIES, KEYS[..., :1], 2), "queries have 2 channels and keys 1"),
    (lambda: informative_keys(QUERIES[0], KEYS, 2), "wanted .B, H, N, c. and .B, H, K, c."),
    (lambda: split_channels(30, 8), "d_model is 30, wanted a multiple of 16"),
    (lambda: FactorisedAttention(32, 3, reduction=2), "n_heads is 3, wanted a divisor of .14, 14."),
    (lambda: FactorisedAttention(32, 1, reduction=0), "reduction is 0"),
    (
        lambda: FactorisedAttention(32, 1, reduction=2)(torch.zeros(1, 8, 8, 16)),
        "wanted .B, rows, columns, 32.",
    ),
    (
        lambda: FaViTBlock(32, 1, 64, reduction=8)(torch.zeros(1, 4, 9, 32)),
        "grid is 4 x 9, wanted at least 8 x 8",
    ),
    (lambda: FaViTConfig(depths=(2, 2)), "depths are .2, 2., wanted 4 numbers"),
    (lambda: FaViTConfig(operator="sum"), "operator is 'sum'"),
    (lambda: FaViTConfig(window=0), "window is 0"),
    (lambda: FaViTConfig(drop_path=1), "drop_path is 1"),
    (lambda: FaViTConfig(n_heads=(3, 2, 4, 8)), "n_heads is 3"),
    (
        lambda: MODEL(torch.zeros(1, 1, 32, 32)),
        "images have shape .1, 1, 32, 32., wanted .B, 3, height, width.",
    ),
    (
        lambda: MODEL(torch.zeros(1, 3, 28, 28)),
        "grid is 7 x 7, wanted at least 8 x 8 for the reduction",
    ),
    (lambda: unfold_windows(torch.zeros(4, 4), 2, 1), "x has shape .4, 4., wanted a map"),
    (lambda: dilated_windows(torch.zeros(4, 4), 2, 1), "x has shape .4, 4., wanted a map"),
    (lambda: unfold_windows(MAP, 2, 0), "window is 2 and dilation 0"),
    (lambda: dilated_windows(MAP, 2, 0), "window is 2 and dilation 0"),
    (
        lambda: CrossWindow("max", n_windows=1, width=1, pool_channels=True),
        "wanted 'mean' to pool channels",
    ),
)


def test_the_smallest_costs_what_the_release_says():
    """0.6 billion multiply-adds, nearly all of them in linear maps and convolutions."""
    costs = []

    def count(part, _, out):
        inputs = part.in_features if hasattr(part, "in_features") else part.weight[0].numel()
        costs.append(out.numel() * inputs)

    with torch.device("meta"):
        model = favit("b0").eval()
    for part in model.modules():
        if isinstance(part, (torch.nn.Linear, torch.nn.Conv2d)):
            part.register_forward_hook(count)
    model(torch.empty(1, 3, 224, 224, device="meta"))
    assert sum(costs) == 585_421_840


@pytest.mark.parametrize("operator", OPERATORS)
def test_images_of_the_size_of_cifar(operator):
    model = FaViT(
        FaViTConfig(image_size=32, n_classes=10, depths=(1, 1, 1, 1), operator=operator),
        generator=seeded(),
    ).eval()
    images = torch.randn(2, 3, 32, 32, generator=seeded(1))
    logits, weights = model(images, return_weights=True)
    assert logits.shape == (2, 10)
    assert [len(groups) for groups in weights] == [3, 3, 3, 2]
    torch.testing.assert_close(model(images), logits, atol=1e-5, rtol=0)


@pytest.mark.parametrize("sides", [(7, 7), (13, 9), (4, 20), (1, 5)])
@pytest.mark.parametrize(("window", "dilation"), [(3, 1), (3, 2), (2, 5), (1, 3)])
def test_samples_are_those_that_the_windows_hold(sides, window, dilation):
    rows, columns = sides
    size, n_windows, n_read = group_survey(rows, columns, window, dilation)
    numbers = torch.arange(1.0, rows * columns + 1).view(1, 1, rows, columns)
    samples = dilated_windows(numbers, window, dilation)
    assert samples.shape[3] == n_windows and size == dilation * (window - 1) + 1
    read = tokens_read(rows, columns, window, dilation)
    assert torch.equal(read.flatten().nonzero().flatten() + 1, samples.unique().long())
    assert n_read <= min(samples.numel(), rows * columns)
    if rows % size == 0 and columns % size == 0:
        assert n_read == samples.numel() == int(read.sum())


def test_gradients_reach_the_tokens_that_are_read():
    torch.manual_seed(0)
    attend = FactorisedAttention(16, n_heads=1, reduction=2, window=3).double()
    x = torch.randn(1, 10, 10, 16, dtype=torch.float64, requires_grad=True)
    for group, radius in ((attend.sampled[0], 1), (attend.sampled[1], 1)):
        maps = attend.pointwise(attend.depthwise(x.permute(0, 3, 1, 2)[:, 2:]))
        part = maps[:, :7] if group.dilation == 1 else maps[:, 7:]
        k, _ = group(torch.zeros(1, 1, 100, 7, dtype=torch.float64), part, False)
        grad = torch.autograd.grad((k * torch.randn_like(k)).sum(), x)[0]
        heard = grad[0].abs().sum(-1) > 0
        assert torch.equal(heard, tokens_read(10, 10, 3, group.dilation, radius=radius))


def test_cost_counts_the_keys_of_the_module():
    attend = FactorisedAttention(32, n_heads=2, reduction=2, window=3)
    _, weights = attend(torch.randn(1, 9, 12, 32), return_weights=True)
    cost = factorised_cost(9, 12, 32, reduction=2, window=3)
    wanted = [2 * 108 * w.shape[-1] * c for w, c in zip(weights, attend.widths, strict=True)]
    assert [cost.reduced, cost.local, cost.dilated] == wanted
    assert factorised_cost(7, 7, 8, reduction=1).dilated == 0
    assert factorised_cost(112, 112, 32, reduction=8).total > window_cost(112, 112, 32)
