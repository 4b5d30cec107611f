"""What factorised attention reads and multiplies, against the module that does it."""

import pytest
import torch

from course_lib.favit import (
    FactorisedAttention,
    dilated_windows,
    factorised_cost,
    group_survey,
    tokens_read,
    window_cost,
)


@pytest.mark.parametrize("sides", [(7, 7), (13, 9), (4, 20), (1, 5)])
@pytest.mark.parametrize(("window", "dilation"), [(3, 1), (3, 2), (2, 5), (1, 3)])
def test_samples_are_those_that_the_windows_hold(
    sides: tuple[int, int], window: int, dilation: int
) -> None:
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


def test_gradients_reach_the_tokens_that_are_read() -> None:
    """All three groups, the local one with the whole map, by the module itself."""
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


def test_cost_counts_the_keys_of_the_module() -> None:
    attend = FactorisedAttention(32, n_heads=2, reduction=2, window=3)
    _, weights = attend(torch.randn(1, 9, 12, 32), return_weights=True)
    cost = factorised_cost(9, 12, 32, reduction=2, window=3)
    wanted = [2 * 108 * w.shape[-1] * c for w, c in zip(weights, attend.widths, strict=True)]
    assert [cost.reduced, cost.local, cost.dilated] == wanted
    assert factorised_cost(7, 7, 8, reduction=1).dilated == 0
    assert factorised_cost(112, 112, 32, reduction=8).total > window_cost(112, 112, 32)


def test_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="the map is 0 x 3"):
        group_survey(0, 3, 2, 1)
    with pytest.raises(ValueError, match="wanted at least 8 x 8"):
        factorised_cost(7, 9, 32, reduction=8)
