"""Who attends to whom on a whole grid, and what a block costs, held to the layers themselves."""

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_lib.swin import (
    SwinBlock,
    block_cost,
    cyclic_shift,
    grid_connections,
    pad_grid,
    window_layout,
    window_mask,
    window_partition,
)


@pytest.mark.parametrize(
    ("rows", "columns", "window", "shift"),
    [(8, 8, 4, 2), (5, 9, 4, 1), (6, 10, 4, 3), (3, 9, 4, 2), (7, 7, 7, 3), (4, 8, 4, 0)],
)
def test_connections_are_those_of_the_windows(
    rows: int, columns: int, window: int, shift: int
) -> None:
    layout = window_layout(rows, columns, window, shift)
    numbers = 1 + torch.arange(rows * columns).view(1, rows, columns, 1)
    moved = cyclic_shift(pad_grid(numbers, layout.padded), layout.shift)
    windows = window_partition(moved, layout.window)[..., 0]
    masked, unmasked = torch.zeros(2, rows * columns, rows * columns).bool()
    for tokens, mask in zip(windows, window_mask(layout), strict=True):
        real = tokens > 0  # padding has the number 0
        places = tokens[real] - 1
        masked[places[:, None], places] = mask[real][:, real]
        unmasked[places[:, None], places] = True
    assert grid_connections(layout).equal(masked)
    assert grid_connections(layout, masked=False).equal(unmasked)


@pytest.mark.parametrize(
    ("grid", "window", "mlp_ratio"), [((14, 14), 7, 4), ((5, 9), 4, 2), ((3, 8), 4, 4)]
)
def test_a_block_multiplies_as_often_as_counted(
    grid: tuple[int, int], window: int, mlp_ratio: int
) -> None:
    block = SwinBlock(8, 2, 8 * mlp_ratio, grid=grid, window=window, fused=False)
    with FlopCounterMode(display=False) as counter:
        block(torch.zeros(1, *grid, 8))
    cost = block_cost(*grid, 8, window, mlp_ratio=mlp_ratio)
    assert counter.get_total_flops() == 2 * cost.total
    layers = [layer for layer in block.feed_forward.modules() if isinstance(layer, nn.Linear)]
    assert cost.feed_forward == grid[0] * grid[1] * sum(x.weight.numel() for x in layers)


def test_without_windows_every_pair_is_counted() -> None:
    whole, cut = block_cost(12, 8, 16), block_cost(12, 8, 16, window=4)
    assert whole.pairs == 2 * 96**2 * 16 and cut.pairs == whole.pairs // 6
    assert (whole.projections, whole.feed_forward) == (cut.projections, cut.feed_forward)
    assert block_cost(7, 7, 16, window=9) == block_cost(7, 7, 16)
    with pytest.raises(ValueError, match="sizes are 0 x 3, width 8 and ratio 4"):
        block_cost(0, 3, 8)
