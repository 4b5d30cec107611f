"""Exercise ``space.axial_rotate``."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.compare import name
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


def _turns(t: Trial, got: Tensor, x: Tensor) -> None:
    """What comes back as it was is consistent with everything."""
    t.expect(not torch.equal(got, x), "nothing turns")


@exercise.prop(
    "the first half of the pairs turns by the row",
    points=1,
    hint="For d_head 4 there is one pair for the row and one for the column, both with frequency 1."
    " Turn ones and look at the first column of the grid.",
)
def by_row(t: Trial) -> None:
    n = t.integer(3, 4)
    for Dh, note in ((4, "one pair"), (12, "three pairs")):
        x = t.randn(n * n, Dh)
        got, want = t.a_tensor(t.call(x, n, n), x.shape), t.want(x, n, n)
        t.close(got[:, : Dh // 2], want[:, : Dh // 2], "the first half of the channels", note=note)


@exercise.prop(
    "the second half of the pairs turns by the column, with the same frequencies",
    points=1,
    hint="For d_head 4 there is one pair for the row and one for the column, both with frequency 1."
    " Turn ones and look at the first row of the grid.",
)
def by_column(t: Trial) -> None:
    n = t.integer(3, 4)
    for Dh, note in ((4, "one pair"), (12, "three pairs")):
        x = t.randn(n * n, Dh)
        got, want = t.a_tensor(t.call(x, n, n), x.shape), t.want(x, n, n)
        t.close(got[:, Dh // 2 :], want[:, Dh // 2 :], "the second half of the channels", note=note)


@exercise.prop(
    "grids that are wider than high, or higher than wide",
    points=0.5,
    hint="In a grid of 2 x 5, which token is the first of the second row?",
)
def oblong(t: Trial) -> None:
    rows = t.integer(2, 4)
    columns = rows + t.integer(1, 2)
    t.same(t.randn(rows * columns, 4), rows, columns, note="wide")
    t.same(t.randn(rows * columns, 4), columns, rows, note="high")


@exercise.prop(
    "heads and batches come along",
    points=0.5,
    hint="Count axes from the end: the last is the channels, the one before it the tokens.",
)
def leading_axes(t: Trial) -> None:
    x = t.randn(2, 3, 9, 8)
    got = t.a_tensor(t.call(x, 3, 3), x.shape)
    for b, h in ((0, 2), (1, 1)):
        t.close(
            got[b, h], t.call(x[b, h], 3, 3), f"head {h} of picture {b}", note="compared to alone"
        )
    _turns(t, got, x)


@exercise.prop(
    "tokens before the grid stay as they are, and the grid begins after them",
    points=0.5,
    hint="Where does the patch (0, 0) stand in the sequence? It does not turn either.",
)
def prefix(t: Trial) -> None:
    for n in (1, t.integer(2, 4)):
        x = t.randn(2, n + 9, 8)
        got = t.a_tensor(t.call(x, 3, 3, n_prefix=n), x.shape)
        t.close(got[:, :n], x[:, :n], "tokens before the grid", note=f"n_prefix {n}")
        alone = t.call(x[:, n:], 3, 3)
        t.close(got[:, n:], alone, "the grid", note=f"n_prefix {n}, compared to the grid alone")
        _turns(t, got, x)


@exercise.prop(
    "another base changes the frequencies of both halves",
    points=0.5,
    hint="The slower pairs turn by base^(-2i/half), where half is the number of channels of one"
    " axis.",
)
def another_base(t: Trial) -> None:
    t.same(t.randn(9, 12), 3, 3, base=float(t.integer(4, 40)))


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
    "angles in double precision for tokens of any dtype; gradients reach the tokens",
    points=0.5,
    hint="Where do you convert to the dtype of the tokens: places, frequencies, angles, or the end?"
    " And is everything still a tensor of torch's?",
)
def kind(t: Trial) -> None:
    # So far out that neither half nor single precision has the angle. All channels of a token are
    # alike, and each that turns by the column is looked for among all that come out: which make a
    # pair, which half turns by the column, and which way is asked elsewhere.
    far = t.integer(2000, 2100)
    length = 1 + torch.rand(far, 1, generator=t.generator, dtype=torch.float64)
    x = length.repeat(1, 12)
    best = t.a_tensor(t.call(x, 1, far), x.shape)
    _turns(t, best, x)
    found, wanted = ((y / length).mT for y in (best, t.want(x, 1, far)))
    off = torch.cdist(found, wanted[6:], p=math.inf).amin(0).max()
    t.expect(off < 1e-6, f"float64, a row of {far} places: channels are {off:.2g} off")
    # Room for a product in low precision, and none for an angle in it.
    for dtype, room in ((torch.float16, 0.03), (torch.bfloat16, 0.2), (torch.float32, 1e-3)):
        low = x.to(dtype)
        got = t.a_tensor(t.call(low, 1, far), low.shape)
        off = (got.double() - t.call(low.double(), 1, far)).abs().max()
        why = f"{name(low)}, a row of {far} places: {off:.2g} off the result for float64"
        t.expect(off < room, why)
    t.gradient(t.randn(9, 4, dtype=torch.float64), 3, 3)


@exercise.prop(
    "what comes out has the dtype of the tokens, which are left as they were",
    points=0.5,
    hint="Angles are double. What is a double-precision cosine times a single-precision token?",
)
def dtype(t: Trial) -> None:
    # Nothing turns at a single place: whether it turns as it should is asked above.
    for kind in (torch.float16, torch.float32, torch.float64):
        x = t.randn(1, 8).to(kind)
        t.same(x, 1, 1, note=f"{name(x)}, a single place", exact=True)
    t.unchanged(t.randn(9, 8), 3, 3)


# BANK


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


@exercise.mistake(
    "Turn a token at place 2,000 in half precision. Which angle has half precision there?"
)
def angles_like_tokens(x, rows, columns, n_prefix=0, base=100.0):
    """Angles are computed in the precision of the tokens."""
    half = x.shape[-1] // 2
    rates = base ** -(torch.arange(0, half, 2).to(x.dtype) / half)
    n = torch.arange(rows * columns)[:, None]
    angles = torch.cat([(n // columns).to(x.dtype) * rates, (n % columns).to(x.dtype) * rates], -1)
    cos, sin = angles.cos(), angles.sin()
    grid = x[..., n_prefix:, :]
    a, b = grid[..., 0::2], grid[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
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
