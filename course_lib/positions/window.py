"""Swin's relative positions: one learned number per head for each offset inside a window."""

import torch
from torch import Tensor, nn

from course_lib.positions.tables import keep_in_step


def window_index(rows: int, columns: int) -> Tensor:
    """Number the offsets between the tokens of a window, so that equal offsets share a number.

    A token at ``(r, c)`` sees one at ``(r', c')`` at the offset ``(r - r', c - c')``. With both
    parts shifted to begin at 0, the number is ``(r - r' + rows - 1) * (2 * columns - 1) +
    (c - c' + columns - 1)``: a row of offsets has ``2 * columns - 1`` entries. On a square window
    ``2 * rows - 1`` is the same; on any other it lets different offsets collide. The result is
    ``(N, N)`` with ``N = rows * columns``, query by key.

    Source: Liu et al., Swin Transformer (2021), section 3.2, equation 4.

    >>> window_index(2, 2)[0]  # the first token's offsets
    tensor([4, 3, 1, 0])
    """
    _check_window(rows, columns)
    r, c = torch.arange(rows), torch.arange(columns)
    down = (r[:, None] - r + rows - 1) * (2 * columns - 1)
    right = c[:, None] - c + columns - 1
    return (down[:, None, :, None] + right[:, None, :]).flatten(2).flatten(0, 1)


class WindowBias(nn.Module):
    """A learned number per head for each offset inside the largest window, added to the scores."""

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
        """Look up the bias ``(H, N, N)``, query by key; of the largest window if not given."""
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
