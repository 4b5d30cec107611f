from typing import Any

from course_lib.bank.prelude import Exercise, F, Tensor, Trial, torch


def line_code(positions, d_model, base=10_000.0):
    """The function of chapter 7: sines and cosines of d_model / 2 waves, (..., d_model)."""
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angles = positions.unsqueeze(-1).double() / base**exponents
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


exercise = Exercise(
    id="space.grid_positions",
    points=4,
    minutes=15,
    difficulty=2,
    chapter="11_space.html#space-concatenated",
    outcomes=("space.codes",),
    given=(line_code,),
    severe={"added": "every channel is a sum, so nothing of what is asked for is left"},
    example=lambda t: (2, 3, 8),
)


def _grid(t: Trial) -> tuple[int, int]:
    """A height and another width."""
    height = t.integer(2, 5)
    return height, height + t.integer(1, 3)


def apart(t: Trial, height: int, width: int, d_model: int, **more: Any) -> Tensor:
    """Expect each two places to have the expected distance, in any order of the channels."""
    got, want = t.call(height, width, d_model, **more), t.want(height, width, d_model, **more)
    gaps = [F.pdist(table.double()).float() for table in (t.a_tensor(got, want.shape), want)]
    t.close(gaps[0], gaps[1], "the distance of two places", note=f"a grid of {height} x {width}")
    return t.a_tensor(got, want.shape)


@exercise.prop(1, "Print the table for a grid of 2 x 3. Which three places are in the first row?")
def places(t: Trial) -> None:
    """places are numbered row after row, and each two are as far apart as their codes say"""
    height, width = _grid(t)
    apart(t, height, width, 8)
    apart(t, width, height, 16)


@exercise.prop(
    0.5,
    "Print the first channel for a grid of 2 x 3: the sine of the row, so it is 0 three times and"
    " then 0.84 three times.",
)
def values(t: Trial) -> None:
    """the code of row and column in float32, for grids that are not square"""
    height, width = _grid(t)
    t.same(height, width, 8, note="a wide grid")
    t.same(width, height, 16, note="a high grid", exact=True)


@exercise.prop(1, "Unflatten the places into rows and columns and compare two places of one row.")
def halves(t: Trial) -> None:
    """the first half of the channels says the row and nothing else, the second half the column"""
    n = t.integer(3, 6)
    table = t.a_tensor(t.call(n, n, 12), (n * n, 12))
    grid = table.unflatten(0, (n, n))
    rows, columns = grid[..., :6], grid[..., 6:]
    t.close(rows, rows[:, :1].expand_as(rows), "the first half within a row")
    t.close(columns, columns[:1].expand_as(columns), "the second half within a column")
    t.expect((rows[0] - rows[1]).abs().max() > 0.1, "two rows have the same first half")
    t.expect((columns[:, 0] - columns[:, 1]).abs().max() > 0.1, "two columns look alike")


@exercise.prop(0.5, "Does `base` reach both calls of `line_code`?")
def another_base(t: Trial) -> None:
    """another base changes the frequencies of both halves"""
    n, base = t.integer(3, 6), float(t.integer(5, 90))
    apart(t, 1, n, 8, base=base)
    apart(t, n, 1, 8, base=base)


@exercise.prop(0.5, "Which of your steps needs more than one row?")
def thin(t: Trial) -> None:
    """a single row, a single column and a single place are grids, too"""
    n = t.integer(3, 6)
    for height, width in ((1, n), (n, 1)):
        apart(t, height, width, 8)
    t.a_tensor(t.call(1, 1, 4), (1, 4), "the table of one place")


@exercise.prop(0.5, "Each half needs pairs. What does `9 // 2` do with the ninth channel?")
def uneven(t: Trial) -> None:
    """a width that is no multiple of 4 is refused with a ValueError"""
    for d_model in (4 * t.integer(1, 9) + 1, 6):
        t.raises(2, 2, d_model, why=f"d_model is {d_model}")
