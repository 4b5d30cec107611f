from course_lib.bank.prelude import F, Tensor, changed, math, torch
from course_lib.bank.space.axial_rotate import exercise
from course_lib.positions import axial_angles, rotate


@exercise.answer
def reference(x: Tensor, rows: int, columns: int, n_prefix: int = 0, base: float = 100.0) -> Tensor:
    """The library's angles, and none for the tokens before the grid."""
    angles = axial_angles(rows, columns, x.shape[-1], base=base)
    return torch.cat([x[..., :n_prefix, :], rotate(x[..., n_prefix:, :], angles)], dim=-2)


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


def right(x, rows, columns, n_prefix=0, base=100.0):
    """Base of the mistakes, itself right."""
    half = x.shape[-1] // 2
    rates = base ** -(torch.arange(0, half, 2).double() / half)
    n = torch.arange(rows * columns).double()[:, None]
    angles = torch.cat([n // columns * rates, n % columns * rates], dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    grid = x[..., n_prefix:, :]
    a, b = grid[..., 0::2], grid[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return torch.cat([x[..., :n_prefix, :], turned], dim=-2)


@exercise.mistake("In a grid of 2 x 3, which token is the first of the second row?")
@changed(right, ("// columns", "// rows"), ("% columns", "% rows"))
def divided_by_the_rows():
    """The row of token n is n divided by the number of rows."""


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


@exercise.mistake("Which channels make a pair here: 0 and 1, or 0 and d_head / 2?")
@changed(
    right,
    ("[..., 0::2], grid[..., 1::2]", ".chunk(2, dim=-1)"),
    ("stack([", "cat(["),
    (").flatten(-2)", ")"),
)
def halves_are_pairs():
    """It is all the same which channels pair up."""


@exercise.mistake("With n_prefix 1, token 1 is the patch (0, 0). Does yours turn it?")
@changed(right, ("(rows *", "(n_prefix, n_prefix + rows *"))
def prefix_counted():
    """The patches' numbers go on from those of the tokens before them."""


@exercise.mistake("Turn (1, 0) by a quarter, by hand. Do you get (0, 1)?")
@changed(right, ("- b * sin, a * sin + b * cos", "+ b * sin, b * cos - a * sin"))
def turned_the_other_way():
    """It doesn't matter which way a pair turns."""


@exercise.mistake("Turn a token at place 2,000 in half precision. How exact is its angle?")
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
