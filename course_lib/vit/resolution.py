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

    The rows of the patches are an image with D channels, which is resampled by bicubic
    interpolation; rows of tokens that are no patches stay as they are. Without antialiasing a
    coarser grid takes its rows between 4 x 4 old ones, however many there are. With it, all old
    rows count, and the cubic has another coefficient, -1/2 for -3/4, so that finer grids differ,
    too. That is what timm does.

    Source: Dosovitskiy et al., An Image is Worth 16x16 Words (2021), section 3.2.

    Args:
        table: ``(P + rows * columns, D)``: P tokens that are no patches, then the patches, row
            after row.
        grid: Rows and columns of the patches.
        new_grid: Rows and columns that are wanted.
        n_prefix: Number of tokens P before the patches.
        antialias: Whether to blur first where the grid gets coarser, as timm does.

    Returns:
        ``(P + new rows * new columns, D)``.

    Raises:
        ValueError: If the table is not of that length or a side is below 1.

    Example:
        >>> import torch
        >>> table = torch.tensor([[9.0], [0.0], [1.0], [0.0], [1.0]])  # each row goes from 0 to 1
        >>> resample_positions(table, (2, 2), (1, 4)).flatten()
        tensor([ 9.0000, -0.1055,  0.2266,  0.7734,  1.1055])
    """
    want = n_prefix + grid[0] * grid[1]
    if table.ndim != 2 or len(table) != want:
        raise ValueError(f"table has shape {tuple(table.shape)}, wanted ({want}, D)")
    return resample_grid(table, grid, new_grid, n_prefix=n_prefix, antialias=antialias).clone()
