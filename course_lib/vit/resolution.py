"""Learned positions for another resolution."""

from torch import Tensor

from course_lib.positions import resample_grid


def resample_positions(
    table: Tensor,
    grid: tuple[int, int],
    new_grid: tuple[int, int],
    *,
    n_prefix: int = 1,
    antialias: bool = False,
) -> Tensor:
    """Stretch a learned table of positions over a grid of other sides.

    It is ``(P + rows * columns, D)``. The patches' rows are an image of D channels, resampled by
    bicubic interpolation; the first P, of other tokens, stay. Without antialiasing a coarser grid
    takes its rows between 4 x 4 old ones. With it, all old rows count, and the cubic has another
    coefficient, -1/2 for -3/4, so that finer grids differ, too, as timm's do. Source: Dosovitskiy
    et al., An Image is Worth 16x16 Words (2021), section 3.2.
    """
    want = n_prefix + grid[0] * grid[1]
    if table.ndim != 2 or len(table) != want:
        raise ValueError(f"table has shape {tuple(table.shape)}, wanted ({want}, D)")
    return resample_grid(table, grid, new_grid, n_prefix=n_prefix, antialias=antialias).clone()
