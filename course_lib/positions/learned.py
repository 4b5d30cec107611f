"""Learned positions: a row for each place, and how to get rows for places never seen."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class LearnedPositions(nn.Module):
    """Add a learned row to each token, by its place of ``max_len``.

    A place that no training sequence reached keeps its random row.

    Source: Gehring et al., Convolutional Sequence to Sequence Learning (2017), section 3.1; with
    the initial spread of Devlin et al., BERT (2019).
    """

    def __init__(
        self, max_len: int, d_model: int, *, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        if max_len < 1:
            raise ValueError(f"max_len is {max_len}, wanted at least 1")
        self.table = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.trunc_normal_(self.table, std=0.02, generator=generator)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add the rows from ``offset`` on to tokens ``(..., T, D)``."""
        (N, D), (T, width) = self.table.shape, x.shape[-2:]
        if width != D or not 0 <= offset <= N - T:
            raise ValueError(
                f"x has {T} tokens of width {width} from place {offset}, wanted places in "
                f"0..{N - 1} and width {D}"
            )
        return x + self.table[offset : offset + T]


def resample_grid(
    table: Tensor,
    old: tuple[int, int],
    new: tuple[int, int],
    *,
    n_prefix: int = 0,
    antialias: bool = True,
) -> Tensor:
    """Fit the learned table of a grid to another one, for images of another size.

    Smoothly, by cubic polynomials in both directions, and, unless ``antialias`` is off, blurred
    first where the grid gets coarser.

    Args:
        table: Rows ``(n_prefix + rows * columns, D)``; the prefix is kept.
        old, new: Rows and columns of the two grids.

    Source: Dosovitskiy et al., An Image is Worth 16x16 Words (2021), section 3.2, which says
    "2D interpolation"; bicubic with antialiasing as in timm.
    """
    places = _places(table, n_prefix)
    if old[0] * old[1] != len(places):
        raise ValueError(
            f"the table has {len(places)} places, wanted {old[0]} x {old[1]} behind {n_prefix}"
        )
    if min(new) < 1:
        raise ValueError(f"the new grid is {new[0]} x {new[1]}, wanted at least 1 x 1")
    if old == new:
        return table
    grid = _channels_first(places.T.unflatten(1, old))
    fitted = F.interpolate(grid, size=new, mode="bicubic", antialias=antialias)[0].flatten(1).T
    return torch.cat([table[:n_prefix], fitted.to(table.dtype)])


def _places(table: Tensor, n_prefix: int) -> Tensor:
    if table.ndim != 2 or not 0 <= n_prefix < len(table):
        raise ValueError(
            f"the table has shape {tuple(table.shape)}, wanted (N, D) with more than "
            f"{n_prefix} rows"
        )
    return table[n_prefix:]


def _channels_first(x: Tensor) -> Tensor:
    # Half precision has no cubic interpolation everywhere, and would lose digits.
    return x[None].to(torch.promote_types(x.dtype, torch.float32))


def stretch_places(old: int, new: int) -> Tensor:
    """Middles of new cells ``(new,)``, counted in old cells, if both fill the same length."""
    if min(old, new) < 1:
        raise ValueError(f"there are {old} old and {new} new cells, wanted at least 1 of each")
    return (torch.arange(new, dtype=torch.float64) + 0.5) * (old / new) - 0.5


def stretch_weights(old: int, new: int) -> Tensor:
    """Measure how much each new cell takes of each old one: ``(new, old)``, rows sum to 1."""
    places = stretch_places(old, new).clamp(0, old - 1)
    return (1 - (places[:, None] - torch.arange(old)).abs()).clamp(min=0)


def stretch_grid(
    table: Tensor, old: tuple[int, int], new: tuple[int, int], *, n_prefix: int = 0
) -> Tensor:
    """Fit a table ``(n_prefix + rows * columns, D)`` to another grid: one matrix per direction.

    The explicit way for what :func:`course_lib.positions.resample_grid` does with smoother weights.
    Source: bilinear interpolation, as ``F.interpolate`` does it without aligning corners.

    >>> stretch_grid(torch.tensor([[9.0], [0.0], [1.0]]), (1, 2), (1, 4), n_prefix=1).T.tolist()
    [[9.0, 0.0, 0.25, 0.75, 1.0]]
    """
    if table.ndim != 2 or len(table) != n_prefix + old[0] * old[1]:
        raise ValueError(
            f"the table has shape {tuple(table.shape)}, wanted "
            f"({n_prefix} + {old[0]} * {old[1]}, D)"
        )
    down, across = (stretch_weights(n, m).to(table) for n, m in zip(old, new, strict=True))
    grid = table[n_prefix:].unflatten(0, old)
    fitted = torch.einsum("ar,bc,rcd->abd", down, across, grid)
    return torch.cat([table[:n_prefix], fitted.flatten(0, 1)])
