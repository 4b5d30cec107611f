from course_lib.bank.prelude import Exercise, F, Tensor, Trial, Wrong, torch
from course_lib.bank.space.grid_positions import line_code
from course_lib.positions import sinusoidal_encoding
from grader.checks.compare import difference

exercise = Exercise(
    id="space.repaired_sum",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="11_space.html#space-added",
    outcomes=("space.collisions", "space.codes"),
    severe={"product_instead": "its steps differ from row to row, and it keeps neither code"},
    given=(line_code,),
    example=lambda t: (2, 3, 8),
)


def _grid(t: Trial) -> tuple[int, int]:
    height = t.integer(4, 7)
    return height, height + t.integer(2, 4)


def _table(t: Trial, height: int, width: int, d_model: int, base: float = 10_000.0) -> Tensor:
    """What the answer returns for a grid, as a grid."""
    places = height * width
    # The usual base is left out, so that what it is by default is asked, too.
    usual = base == 10_000.0
    got = t.call(height, width, d_model) if usual else t.call(height, width, d_model, base=base)
    table = t.a_tensor(got, (places, d_model))
    t.expect(table.isfinite().all(), "the table has entries that are not finite")
    return table.float().unflatten(0, (height, width))


def _apart(t: Trial, height: int, width: int, d_model: int, base: float = 10_000.0) -> None:
    """Expect no two places as near as a quarter of the distance of two neighbouring rows."""
    grid = _table(t, height, width, d_model, base)
    step = sinusoidal_encoding(torch.arange(2), d_model, base=base).diff(dim=0).norm()
    gaps = F.pdist(grid.flatten(0, 1).double())
    if float(gaps.min()) >= 0.25 * float(step):
        return
    i, j = torch.combinations(torch.arange(height * width))[int(gaps.argmin())].tolist()
    pair = f"({i // width}, {i % width}) and ({j // width}, {j % width})"
    t.expect(False, f"in a grid of {height} x {width}, {pair} are {float(gaps.min()):.3g} apart")


@exercise.prop(
    1.5,
    "List the pairs of places with one code. What would have to be different, so that no column's"
    " code is any row's code?",
)
def distinct(t: Trial) -> None:
    """no two places of a grid are nearer than a quarter of a step from row to row"""
    height, width = _grid(t)
    _apart(t, height, width, 32)
    _apart(t, width, height, 32)
    _apart(t, height, height, 64)


@exercise.prop(1, "Is what a column adds the same in every row?")
def a_sum(t: Trial) -> None:
    """the code is a sum: the step from column to column is the same in all rows and at all calls"""
    height, width = _grid(t)
    for rows, columns in ((height, width), (width, height)):
        grid = _table(t, rows, columns, 16)
        t.close(_table(t, rows, columns, 16), grid, "the table of a second call")
        steps = grid[:, 1:] - grid[:, :1]
        t.close(steps, steps[:1].expand_as(steps), "the step along a row", note="a sum")
        t.expect(steps.abs().max() > 0.01, "going along a row changes nothing")


@exercise.prop(
    1.5, "Try a grid of 2 x 3. Which rows of the table belong to the first row of the grid?"
)
def rows_as_before(t: Trial) -> None:
    """the place (r, c) is number r * width + c, and the code of its row is unchanged"""
    height, width = _grid(t)
    for rows, columns in ((height, width), (width, height)):
        grid = _table(t, rows, columns, 16)
        line = sinusoidal_encoding(torch.arange(rows), 16)
        want = (line - line[:1])[:, None].expand(rows, columns, 16)
        t.close(grid - grid[:1], want, "the code minus that of row 0")


@exercise.prop(0.5, "Does `base` still reach `line_code`?")
def another_base(t: Trial) -> None:
    """another base changes the rows' frequencies, places stay apart; the table is float32"""
    base = float(t.integer(5, 90))
    grid = _table(t, 4, 3, 8, base)
    line = sinusoidal_encoding(torch.arange(4), 8, base=base)
    want = (line - line[:1])[:, None].expand(4, 3, 8)
    t.close(grid - grid[:1], want, "the code minus that of row 0")
    t.close(t.call(4, 3, 8).dtype, torch.float32, "the dtype")
    # Whoever gives the columns a base of their own may have chosen one of these; what is too near
    # with the usual one costs its points above.
    try:
        _apart(t, 4, 5, 32)
    except Wrong:
        return
    for base in (10.0, 100.0, 1_000.0):
        _apart(t, 4, 5, 32, base)


@exercise.prop(0.5, "Where does your table of columns end?")
def thin(t: Trial) -> None:
    """a single row or column and a single place work"""
    given = colleagues_sum(2, 3, 8)
    t.expect(difference(t.call(2, 3, 8), given) is not None, "it is still the colleague's sum")
    n = t.integer(3, 6)
    for height, width in ((1, n), (n, 1), (1, 1)):
        if height * width > 1:
            _apart(t, height, width, 32)
        else:
            _table(t, 1, 1, 32)


def colleagues_sum(height, width, d_model, base=10_000.0):
    """What is right on square images is right."""
    line = line_code(torch.arange(max(height, width)), d_model, base)
    codes = line[:width, None] + line[:height]
    return codes.flatten(0, 1)
