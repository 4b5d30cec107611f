"""Swin's relative positions: one learned number per head for each offset inside a window."""

import torch
from torch import Tensor, nn

from course_lib.positions.tables import keep_in_step


def window_index(rows: int, columns: int) -> Tensor:
    """Number the offsets between the tokens of a window, so that equal offsets share a number.

    A token at ``(r, c)`` sees one at ``(r', c')`` at the offset ``(r - r', c - c')``. With both
    parts shifted to begin at 0, the number is ``(r - r' + rows - 1) * (2 * columns - 1) +
    (c - c' + columns - 1)``: a row of offsets has ``2 * columns - 1`` entries. On a square window
    ``2 * rows - 1`` is the same; on any other it lets different offsets collide.

    Source: Liu et al., Swin Transformer (2021), section 3.2, equation 4.

    Args:
        rows: Height of the window.
        columns: Width of the window.

    Returns:
        Integers ``(rows * columns, rows * columns)``, query by key, tokens row after row; the
        smallest is 0 and the largest ``(2 * rows - 1) * (2 * columns - 1) - 1``.

    Raises:
        ValueError: If the window is empty.

    Example:
        >>> window_index(2, 2)
        tensor([[4, 3, 1, 0],
                [5, 4, 2, 1],
                [7, 6, 4, 3],
                [8, 7, 5, 4]])
        >>> window_index(3, 7).unique().numel()  # 5 * 13 offsets, a number each
        65
    """
    _check_window(rows, columns)
    r, c = torch.arange(rows), torch.arange(columns)
    down = (r[:, None] - r + rows - 1) * (2 * columns - 1)
    right = c[:, None] - c + columns - 1
    return (down[:, None, :, None] + right[:, None, :]).flatten(2).flatten(0, 1)


class WindowBias(nn.Module):
    """A learned number per head for each offset inside a window, added to the scores.

    Source: Liu et al., Swin Transformer (2021), section 3.2, equation 4.

    Args:
        n_heads: Number of heads H.
        rows: Height of the largest window.
        columns: Width of the largest window.
        generator: Source of the initial table; torch's global one if not given.

    Raises:
        ValueError: If there is no head or the window is empty.

    Example:
        One step to the right is the same offset anywhere in the window.

        >>> bias = WindowBias(3, rows=7, columns=7)
        >>> tuple(bias.table.shape)
        (169, 3)
        >>> numbers = bias().detach()[0]
        >>> bool(numbers[1, 0] == numbers[48, 47])
        True
    """

    index: Tensor

    def __init__(
        self, n_heads: int, rows: int, columns: int, *, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        if n_heads < 1:
            raise ValueError(f"n_heads is {n_heads}, wanted at least 1")
        _check_window(rows, columns)
        self.rows, self.columns = rows, columns
        self.table = nn.Parameter(torch.empty((2 * rows - 1) * (2 * columns - 1), n_heads))
        self.register_buffer("index", window_index(rows, columns).flatten(), persistent=False)
        nn.init.trunc_normal_(self.table, std=0.02, generator=generator)

    def forward(self, rows: int | None = None, columns: int | None = None) -> Tensor:
        """Look up the bias of each pair of tokens.

        Args:
            rows: Height of the window at hand; the largest if not given.
            columns: Width of the window at hand; the largest if not given.

        Returns:
            ``(H, N, N)`` with ``N = rows * columns``, query by key.

        Raises:
            ValueError: If the window is empty or larger than the largest.
        """
        rows = self.rows if rows is None else rows
        columns = self.columns if columns is None else columns
        index = self.index
        if (rows, columns) != (self.rows, self.columns):
            if not (1 <= rows <= self.rows and 1 <= columns <= self.columns):
                raise ValueError(
                    f"the window is {rows} x {columns}, wanted at most {self.rows} x {self.columns}"
                )
            # Offsets don't depend on where a token stands: the corner of the largest window knows
            # all of a smaller one.
            whole = index.view(self.rows, self.columns, self.rows, self.columns)
            index = whole[:rows, :columns, :rows, :columns].flatten()
        N = rows * columns
        return self.table[index].view(N, N, -1).permute(2, 0, 1).contiguous()


keep_in_step(WindowBias, lambda bias: {"index": window_index(bias.rows, bias.columns).flatten()})


def _check_window(rows: int, columns: int) -> None:
    if rows < 1 or columns < 1:
        raise ValueError(f"the window is {rows} x {columns}, wanted at least 1 x 1")
