from course_lib.bank.prelude import F, Tensor, changed, torch
from course_lib.bank.space.resample_table import exercise
from course_lib.positions.learned import stretch_grid


@exercise.answer
def reference(
    table: Tensor, old: tuple[int, int], new: tuple[int, int], n_prefix: int = 0
) -> Tensor:
    """The library's explicit way."""
    return stretch_grid(table, (old[0], old[1]), (new[0], new[1]), n_prefix=n_prefix)


def right(table, old, new, n_prefix=0):
    """Base of the mistakes, itself right."""

    def weights(n, m):
        at = ((torch.arange(m).double() + 0.5) * (n / m) - 0.5).clamp(0, n - 1)
        return (1 - (at[:, None] - torch.arange(n)).abs()).clamp(min=0).to(table.dtype)

    grid = table[n_prefix:].reshape(old[0], old[1], -1)
    out = torch.einsum("ar,bc,rcd->abd", weights(old[0], new[0]), weights(old[1], new[1]), grid)
    return torch.cat([table[:n_prefix], out.flatten(0, 1)])


@exercise.mistake("Where does the second of 8 new places lie among 4 old ones?")
@changed(
    right,
    ("((torch", "torch"),
    ("+ 0.5) * (n / m) - 0.5).clamp(0, n - 1", "* ((n - 1) / max(m - 1, 1)"),
)
def corners_aligned():
    """The first and last places of both grids coincide."""


@exercise.mistake("Draw 4 old and 8 new cells over the same image. Where are their middles?")
@changed(right, ("(torch.", "torch."), ("+ 0.5) *", "*"), ("- 0.5).", ")."))
def corners_of_cells():
    """Place i of the new grid lies at i times the ratio of the sizes."""


@exercise.mistake(
    "Take the column's number as the code. Do your rows still count from left to right?"
)
def turned(table, old, new, n_prefix=0):
    """A table of rows * columns entries can be read as columns x rows."""

    def weights(n, m):
        at = ((torch.arange(m).double() + 0.5) * (n / m) - 0.5).clamp(0, n - 1)
        return (1 - (at[:, None] - torch.arange(n)).abs()).clamp(min=0).to(table.dtype)

    grid = table[n_prefix:].reshape(old[1], old[0], -1)
    out = torch.einsum("ar,bc,rcd->abd", weights(old[1], new[1]), weights(old[0], new[0]), grid)
    return torch.cat([table[:n_prefix], out.flatten(0, 1)])


@exercise.mistake("Are the last place of a row and the first of the next neighbours in the image?")
def as_a_line(table, old, new, n_prefix=0):
    """A table is a line of rows, so it is stretched as a line."""
    n, m = old[0] * old[1], new[0] * new[1]
    at = ((torch.arange(m).double() + 0.5) * (n / m) - 0.5).clamp(0, n - 1)
    weights = (1 - (at[:, None] - torch.arange(n)).abs()).clamp(min=0).to(table.dtype)
    return torch.cat([table[:n_prefix], weights @ table[n_prefix:]])


@exercise.mistake("Is there anything between two rows of your new table?")
def nearest(table, old, new, n_prefix=0):
    """A new place takes the row of the old place in whose cell it lies."""
    r = torch.div(torch.arange(new[0]) * old[0], new[0], rounding_mode="floor")
    c = torch.div(torch.arange(new[1]) * old[1], new[1], rounding_mode="floor")
    grid = table[n_prefix:].reshape(old[0], old[1], -1)
    return torch.cat([table[:n_prefix], grid[r][:, c].flatten(0, 1)])


@exercise.mistake("Print the weights of your first new place. What do they add up to?")
@changed(right, ("(torch.", "torch."), ("0.5).clamp(0, n - 1)", "0.5"))
def zeros_outside():
    """Outside of the table there are zeros."""


@exercise.mistake("Where does the class token's row end up in your table?")
def prefix_at_the_end(table, old, new, n_prefix=0):
    """Rows that belong to no place come after the grid."""

    def weights(n, m):
        at = ((torch.arange(m).double() + 0.5) * (n / m) - 0.5).clamp(0, n - 1)
        return (1 - (at[:, None] - torch.arange(n)).abs()).clamp(min=0).to(table.dtype)

    n = old[0] * old[1]
    grid = table[:n].reshape(old[0], old[1], -1)
    out = torch.einsum("ar,bc,rcd->abd", weights(old[0], new[0]), weights(old[1], new[1]), grid)
    return torch.cat([out.flatten(0, 1), table[n:]])


@exercise.mistake("Print the new places in bfloat16, and what lies between 60 and 61.")
def weights_like_the_table(table, old, new, n_prefix=0):
    """Weights are computed in the dtype of the table."""

    def weights(n, m):
        at = ((torch.arange(m).to(table.dtype) + 0.5) * (n / m) - 0.5).clamp(0, n - 1)
        return (1 - (at[:, None] - torch.arange(n).to(table.dtype)).abs()).clamp(min=0)

    grid = table[n_prefix:].reshape(old[0], old[1], -1)
    out = torch.einsum("ar,bc,rcd->abd", weights(old[0], new[0]), weights(old[1], new[1]), grid)
    return torch.cat([table[:n_prefix], out.flatten(0, 1)])


@exercise.alternative
def four_corners(table, old, new, n_prefix=0):
    """Mixes the four neighbours of each new place, one place after the other; prints to stderr."""
    import sys

    print("resampling", file=sys.stderr)

    def neighbours(i, n, m):
        at = min(max((i + 0.5) * n / m - 0.5, 0.0), n - 1.0)
        low = int(at)
        high = min(low + 1, n - 1)
        return (low, 1 - (at - low)), (high, at - low)

    rows = list(table[:n_prefix])
    for i in range(new[0]):
        for j in range(new[1]):
            row = 0
            for r, a in neighbours(i, old[0], new[0]):
                for c, b in neighbours(j, old[1], new[1]):
                    row = row + a * b * table[n_prefix + r * old[1] + c]
            rows.append(row)
    return torch.stack(rows)


@exercise.alternative
def gathered(table, old, new, n_prefix=0):
    """One direction after the other, by two gathered neighbours and a share."""

    def along(grid, m):
        n = len(grid)
        at = ((torch.arange(m, dtype=torch.float64) + 0.5) * n / m - 0.5).clamp(0, n - 1)
        low = at.floor().long()
        share = (at - low).to(grid.dtype)[:, None, None]
        return torch.lerp(grid[low], grid[(low + 1).clamp(max=n - 1)], share)

    grid = table[n_prefix:].unflatten(0, tuple(old))
    grid = along(along(grid, new[0]).transpose(0, 1), new[1]).transpose(0, 1)
    return torch.vstack((table[:n_prefix], grid.reshape(new[0] * new[1], -1)))


@exercise.alternative
def one_big_matrix(table, old, new, n_prefix=0):
    """The Kronecker product of both directions' weights."""

    def weights(n, m):
        middle = (torch.arange(m).double() + 0.5) / m
        distance = (middle[:, None] * n - 0.5).clamp(0, n - 1) - torch.arange(n)
        return F.relu(1 - distance.abs()).to(table.dtype)

    every = torch.kron(weights(old[0], new[0]), weights(old[1], new[1]))
    return torch.cat((table[:n_prefix], every @ table[n_prefix:]))
