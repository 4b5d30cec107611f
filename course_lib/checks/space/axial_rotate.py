"""Exercise ``space.axial_rotate``."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.positions import axial_angles, rotate


def reference(x: Tensor, rows: int, columns: int, n_prefix: int = 0, base: float = 100.0) -> Tensor:
    """The library's angles, and none for the tokens before the grid."""
    angles = axial_angles(rows, columns, x.shape[-1], base=base)
    return torch.cat([x[..., :n_prefix, :], rotate(x[..., n_prefix:, :], angles)], dim=-2)


exercise = Exercise(
    id="space.axial_rotate",
    function="axial_rotate",
    reference=reference,
    points=6,
    minutes=25,
    difficulty=3,
    chapter="11_space.html#space-rotary",
    outcomes=("space.rotary",),
    example=lambda t: (t.randn(6, 8), 2, 3),
)


def _grid(t: Trial) -> tuple[int, int]:
    rows = t.integer(2, 4)
    return rows, rows + t.integer(1, 2)


@exercise.prop(
    "the first half of the pairs turns by the row, the second by the column",
    points=2,
    hint="For d_head 4 there is one pair for the row and one for the column, both with frequency 1."
    " Turn ones and look at the first row of the grid.",
)
def values(t: Trial) -> None:
    rows, columns = _grid(t)
    t.same(t.randn(rows * columns, 4), rows, columns, note="one pair each")
    t.same(t.randn(rows * columns, 12), columns, rows, note="three pairs each")


@exercise.prop(
    "heads and batches come along",
    points=0.5,
    hint="Count axes from the end: the last is the channels, the one before it the tokens.",
)
def leading_axes(t: Trial) -> None:
    rows, columns = _grid(t)
    t.same(t.randn(2, 3, rows * columns, 8), rows, columns)


@exercise.prop(
    "tokens before the grid stay as they are, and the grid begins behind them",
    points=1,
    hint="Where does the patch (0, 0) stand in the sequence? It does not turn either.",
)
def prefix(t: Trial) -> None:
    rows, columns = _grid(t)
    for n in (1, t.integer(2, 4)):
        x = t.randn(2, n + rows * columns, 8)
        t.same(x, rows, columns, n_prefix=n, note=f"{n} before the grid")


@exercise.prop(
    "another base changes the frequencies of both halves",
    points=0.5,
    hint="The slower pairs turn by base^(-2i/half), where half is the number of channels of one"
    " axis.",
)
def another_base(t: Trial) -> None:
    rows, columns = _grid(t)
    t.same(t.randn(rows * columns, 12), rows, columns, base=float(t.integer(4, 40)))


@exercise.prop(
    "a score depends on how far down and how far to the right, and on nothing else",
    points=1,
    hint="Put the same query and the same key everywhere, and compare the scores of two pairs of"
    " places with the same step between them.",
)
def relative(t: Trial) -> None:
    q, k = t.randn(1, 8).double(), t.randn(1, 8).double()
    n = 5
    turned = [
        t.a_tensor(t.call(v.expand(n * n, 8), n, n), (n * n, 8)).unflatten(0, (n, n))
        for v in (q, k)
    ]
    scores = torch.einsum("abd,ced->abce", *turned).float()
    down, right = t.integer(1, 2), t.integer(1, 2)
    want = scores[1, 1, 1 + down, 1 + right]
    for a in range(1, n - down):
        for b in range(1, n - right):
            t.close(scores[a, b, a + down, b + right], want, f"the score from ({a}, {b})")
    t.expect((scores[1, 1] - scores[1, 1, 1, 1]).abs().max() > 1e-3, "all scores are alike")
    t.expect(
        (scores[1, 1, 3, 1] - scores[1, 1, 1, 3]).abs() > 1e-6,
        "two steps down are the same as two to the right",
    )


@exercise.prop(
    "half precision comes out as half precision, and the tokens are left as they were",
    points=1,
    hint="Compute angles in double, sines and cosines in single precision, and convert at the end.",
)
def kind(t: Trial) -> None:
    rows, columns = _grid(t)
    t.same(t.randn(rows * columns, 8).half(), rows, columns, note="float16")
    t.same(t.randn(rows * columns, 8).double(), rows, columns, note="float64")
    x = t.randn(rows * columns, 8)
    out = t.a_tensor(t.call(x, rows, columns), x.shape)
    t.expect(not torch.equal(out, x), "nothing turns")
    t.unchanged(x, rows, columns)


@exercise.mistake("Which half of your channels changes along the first row of the grid?")
def column_first(x, rows, columns, n_prefix=0, base=100.0):
    """x comes before y, so the first half of the pairs turns by the column."""
    half = x.shape[-1] // 2
    rates = base ** -(torch.arange(0, half, 2).double() / half)
    n = torch.arange(rows * columns).double()[:, None]
    angles = torch.cat([n % columns * rates, n // columns * rates], dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    grid = x[..., n_prefix:, :]
    a, b = grid[..., 0::2], grid[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return torch.cat([x[..., :n_prefix, :], turned], dim=-2)


@exercise.mistake("In a grid of 2 x 3, which token is the first of the second row?")
def divided_by_the_rows(x, rows, columns, n_prefix=0, base=100.0):
    """The row of token n is n divided by the number of rows."""
    half = x.shape[-1] // 2
    rates = base ** -(torch.arange(0, half, 2).double() / half)
    n = torch.arange(rows * columns).double()[:, None]
    angles = torch.cat([n // rows * rates, n % rows * rates], dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    grid = x[..., n_prefix:, :]
    a, b = grid[..., 0::2], grid[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return torch.cat([x[..., :n_prefix, :], turned], dim=-2)


@exercise.mistake("What are the frequencies of the column's pairs? Do they begin with 1?")
def one_scale_for_all(x, rows, columns, n_prefix=0, base=100.0):
    """Frequencies fall over all pairs of the head, so the column gets the slow ones."""
    width = x.shape[-1]
    rates = base ** -(torch.arange(0, width, 2).double() / width)
    n = torch.arange(rows * columns).double()[:, None]
    fast, slow = rates.chunk(2)
    angles = torch.cat([n // columns * fast, n % columns * slow], dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    grid = x[..., n_prefix:, :]
    a, b = grid[..., 0::2], grid[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return torch.cat([x[..., :n_prefix, :], turned], dim=-2)


@exercise.mistake("Can a score then tell one step down from one step to the right?")
def sum_of_both(x, rows, columns, n_prefix=0, base=100.0):
    """Every pair turns by the row and then by the column."""
    width = x.shape[-1]
    rates = base ** -(torch.arange(0, width, 2).double() / width)
    n = torch.arange(rows * columns).double()[:, None]
    angles = (n // columns + n % columns) * rates
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    grid = x[..., n_prefix:, :]
    a, b = grid[..., 0::2], grid[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return torch.cat([x[..., :n_prefix, :], turned], dim=-2)


@exercise.mistake("Which channels make a pair here: 0 and 1, or 0 and one half the way apart?")
def halves_are_pairs(x, rows, columns, n_prefix=0, base=100.0):
    """Which channels make a pair is all the same."""
    half = x.shape[-1] // 2
    rates = base ** -(torch.arange(0, half, 2).double() / half)
    n = torch.arange(rows * columns).double()[:, None]
    angles = torch.cat([n // columns * rates, n % columns * rates], dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    grid = x[..., n_prefix:, :]
    a, b = grid.chunk(2, dim=-1)
    turned = torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
    return torch.cat([x[..., :n_prefix, :], turned], dim=-2)


@exercise.mistake("Turn tokens of which you know that n_prefix is 1: does token 1 turn?")
def prefix_counted(x, rows, columns, n_prefix=0, base=100.0):
    """The patches' numbers go on from those of the tokens before them."""
    half = x.shape[-1] // 2
    rates = base ** -(torch.arange(0, half, 2).double() / half)
    n = torch.arange(n_prefix, n_prefix + rows * columns).double()[:, None]
    angles = torch.cat([n // columns * rates, n % columns * rates], dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    grid = x[..., n_prefix:, :]
    a, b = grid[..., 0::2], grid[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return torch.cat([x[..., :n_prefix, :], turned], dim=-2)


@exercise.mistake("Multiply two tokens that are turned your way. Does an angle cancel?")
def codes_added(x, rows, columns, n_prefix=0, base=100.0):
    """Sines and cosines of the angles are added to the channels."""
    half = x.shape[-1] // 2
    rates = base ** -(torch.arange(0, half, 2).double() / half)
    n = torch.arange(rows * columns).double()[:, None]
    angles = torch.cat([n // columns * rates, n % columns * rates], dim=-1)
    code = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(x.dtype)
    return torch.cat([x[..., :n_prefix, :], x[..., n_prefix:, :] + code], dim=-2)


@exercise.mistake("Turn (1, 0) by a quarter, by hand. Do you get (0, 1)?")
def turned_the_other_way(x, rows, columns, n_prefix=0, base=100.0):
    """Which way a pair turns is all the same."""
    half = x.shape[-1] // 2
    rates = base ** -(torch.arange(0, half, 2).double() / half)
    n = torch.arange(rows * columns).double()[:, None]
    angles = torch.cat([n // columns * rates, n % columns * rates], dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    grid = x[..., n_prefix:, :]
    a, b = grid[..., 0::2], grid[..., 1::2]
    turned = torch.stack([a * cos + b * sin, b * cos - a * sin], dim=-1).flatten(-2)
    return torch.cat([x[..., :n_prefix, :], turned], dim=-2)


@exercise.alternative
def complex_numbers(x, rows, columns, n_prefix=0, base=100.0):
    """Neighbouring channels as complex numbers, multiplied by complex numbers of length 1."""
    half = x.shape[-1] // 2
    rates = base ** (-torch.arange(half // 2, dtype=torch.float64) * 2 / half)
    y, z = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    angles = torch.cat([torch.outer(y.flatten(), rates), torch.outer(z.flatten(), rates)], 1)
    angles = F.pad(angles, (0, 0, n_prefix, 0))
    pairs = torch.view_as_complex(x.double().contiguous().unflatten(-1, (-1, 2)).contiguous())
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


@exercise.alternative
def token_by_token(x, rows, columns, n_prefix=0, base=100.0):
    """Loops over places and pairs, with a 2 x 2 matrix each; prints to stderr."""
    import sys

    print("turning", file=sys.stderr)
    out = x.clone()
    quarter = x.shape[-1] // 4
    for r in range(rows):
        for c in range(columns):
            token = n_prefix + r * columns + c
            for pair in range(2 * quarter):
                place, i = (r, pair) if pair < quarter else (c, pair - quarter)
                angle = place * base ** (-i / quarter)
                cos, sin = math.cos(angle), math.sin(angle)
                a = x[..., token, 2 * pair].to(torch.promote_types(x.dtype, torch.float32))
                b = x[..., token, 2 * pair + 1].to(a.dtype)
                out[..., token, 2 * pair] = (cos * a - sin * b).to(x.dtype)
                out[..., token, 2 * pair + 1] = (sin * a + cos * b).to(x.dtype)
    return out
