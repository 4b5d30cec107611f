"""Swin: attention inside windows, windows that move, and maps that shrink from stage to stage."""

from course_lib.swin.blocks import (
    DropPath,
    PatchMerging,
    SwinBlock,
    WindowAttention,
    drop_path,
    drop_path_rates,
)
from course_lib.swin.model import PRESETS, Swin, SwinConfig, swin
from course_lib.swin.survey import BlockCost, block_cost, grid_connections
from course_lib.swin.windows import (
    Layout,
    cyclic_shift,
    pad_grid,
    window_layout,
    window_mask,
    window_partition,
    window_reverse,
)
