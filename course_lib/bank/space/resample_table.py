from course_lib.bank.prelude import Exercise, Trial, torch
from grader.checks.compare import name

exercise = Exercise(
    id="space.resample_table",
    points=6,
    minutes=30,
    difficulty=4,
    chapter="11_order.html#space-resolution",
    outcomes=("space.resolution",),
    forbidden=("interpolate",),
    example=lambda t: (t.randn(6, 4), (2, 3), (3, 4)),
)


def _shapes(t: Trial) -> tuple[tuple[int, int], tuple[int, int]]:
    """Two grids, both wide, the second one larger."""
    rows, more = t.integer(3, 4), t.integer(1, 2)
    return (rows, rows + 2), (rows + more, rows + 4 + more)


@exercise.prop(
    1,
    "Where does place i of 6 lie among 4? What do the shares of a new place add up"
    " to? If only the last digits differ: in which precision do you compute?",
)
def finer(t: Trial) -> None:
    """to a finer grid, along one side"""
    n = t.integer(3, 5)
    m = n + t.integer(1, 3)
    t.same(t.randn(n, 3), (1, n), (1, m), note=f"a row of {n} to {m}")
    t.same(t.randn(n, 3), (n, 1), (m, 1), note=f"a column of {n} to {m}")
    t.same(t.randn(n, 3).double(), (1, n), (1, 2 * n), note="twice as fine, float64")


@exercise.prop(0.5, "First the rows, then the columns. Which axis is which after the first step?")
def both(t: Trial) -> None:
    """along both sides at once"""
    old, new = _shapes(t)
    t.same(t.randn(old[0] * old[1], 3), old, new, note=f"{old} to {new}")
    t.same(t.randn(16, 2), (4, 4), (8, 8), note="twice as fine")


@exercise.prop(0.5, "The formula does not ask which grid is the larger one.")
def coarser(t: Trial) -> None:
    """to a coarser grid, by the same rule"""
    n = t.integer(6, 8)
    t.same(t.randn(n, 3), (1, n), (1, n - 3), note=f"a row of {n} to {n - 3}")
    t.same(t.randn(n, 3), (n, 1), (n - 2, 1), note=f"a column of {n} to {n - 2}")


@exercise.prop(
    1,
    "`table.T.reshape(D, rows, columns)`, or `table.reshape(rows, columns, D)`: which of the two"
    " do you have, and which do you need?",
)
def not_turned(t: Trial) -> None:
    """wide stays wide and high stays high"""
    # A table that does not change along the stretched side is the same afterwards.
    n, m = t.integer(4, 5), t.integer(6, 8)
    number = t.randn(3)
    down = number[:, None].expand(3, n).reshape(-1, 1)
    want = number[:, None].expand(3, m).reshape(-1, 1)
    t.close(t.call(down, (3, n), (3, m)), want, note="each row has its number, and gets longer")
    across = number.expand(n, 3).reshape(-1, 1)
    want = number.expand(m, 3).reshape(-1, 1)
    t.close(t.call(across, (n, 3), (m, 3)), want, note="each column has its number, gets longer")


@exercise.prop(
    0.5,
    "The first of the new places lies before the first of the old ones. What is there to"
    " interpolate?",
)
def border(t: Trial) -> None:
    """at the border a place takes the nearest row of the table"""
    t.same(t.randn(1, 2), (1, 1), (2, 3), note="from a single place")
    for n, m in ((2, 7), (t.integer(3, 4), 10)):
        table = t.randn(n, 2)
        got = t.a_tensor(t.call(table, (1, n), (1, m)), (m, 2))
        t.close(got[[0, -1]], table[[0, -1]], "the outermost", note=f"{n} places to {m}")


@exercise.prop(1, "A class token has no place in the image.")
def prefix(t: Trial) -> None:
    """rows before the grid are kept as they are"""
    old, new = _shapes(t)
    for n in (1, t.integer(2, 3)):
        table = t.randn(n + old[0] * old[1], 2)
        got = t.a_tensor(t.call(table, old, new, n_prefix=n), (n + new[0] * new[1], 2))
        t.close(got[:n], table[:n], "the rows before the grid", note=f"{n} before the grid")
        alone = t.call(table[n:], old, new)
        t.close(got[n:], alone, "the grid", note=f"{n} before it, compared to the grid alone")


@exercise.prop(
    1,
    "Interpolating is linear: weights times rows, and the weights don't depend on the rows. If"
    " only the last digits differ: in which precision do you compute?",
)
def linear(t: Trial) -> None:
    """the same grid gives the same table, sums give sums, gradients flow; no argument changes"""
    old, new = _shapes(t)
    n = old[0] * old[1]
    a, b = t.randn(n, 2).double(), t.randn(n, 2).double()
    t.close(t.call(a, old, old), a, "the table for the same grid")
    parts = [t.a_tensor(t.call(x, old, new), (new[0] * new[1], 2)) for x in (a, b, a + 2 * b)]
    t.close(parts[2], parts[0] + 2 * parts[1], "the table of a sum")
    t.gradient(a, old, new)
    t.unchanged(a, old, new)


@exercise.prop(
    0.5,
    "Places and weights have a dtype, too. Print it, line by line, for a table in bfloat16 and"
    " places up to 60.",
)
def dtypes(t: Trial) -> None:
    """half precision keeps its dtype, and its weights come from double precision"""
    # Neighbours differ, and from place 32 on bfloat16 has no quarters.
    n = 2 * t.integer(28, 32)
    table = (torch.arange(n) % 2)[:, None] + 0.1 * torch.rand(n, 1, generator=t.generator)
    # Weights made in single precision are off by a millionth, which double precision shows.
    double = table.double()
    t.same(double, (1, n), (1, n + 17), note=f"float64, {n} places to {n + 17}")
    for dtype in (torch.bfloat16, torch.float16):
        low = table.to(dtype)
        want = t.call(low.double(), (1, n), (1, n + 17)).to(dtype)
        note = f"{name(low)}, {n} places to {n + 17}, compared to float64"
        t.close(t.call(low, (1, n), (1, n + 17)), want, "the table", note=note, exact=True)
