from itertools import product

from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="attention.layer_cost",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="03_attention.html#attention-cost",
    outcomes=("attention.cost",),
    example=lambda t: ("self-attention", 10, 4, 3),
    returns=("the number of multiplications", "the number of sequential steps", "the path"),
)

ATTENTION = ("self-attention", "restricted")
PRODUCTS = ("recurrent", "convolution", "dilated")


def _agree(t: Trial, which: int, kinds: tuple[str, ...], sizes: list[tuple[int, ...]]) -> None:
    """Compare one of the three numbers, and say which one of what is wrong."""
    for kind, size in product(kinds, sizes):
        got, want = t.values(t.call(kind, *size)), t.want(kind, *size)
        named = zip(("n", "d_model", "window"), size, strict=False)
        note = ", ".join([kind, *(f"{name}={number}" for name, number in named)])
        number = got[which]
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        t.close(number, want[which], exercise.returns[which], note=note)


def _sizes(t: Trial) -> list[tuple[int, ...]]:
    """A short and narrow, a long, and a wide layer; never one where n - 1 is a whole path."""
    small = (t.integer(3, 4) * 4 + 3, t.integer(3, 6), 5)
    return [small, (t.integer(30, 40) * 6 + 2, 5, 7), (12, t.integer(20, 60), 4)]


@exercise.prop(
    1.5,
    "List the matrix products with their shapes, the three projections among them. An (a, b) by"
    " (b, c) product takes a·b·c multiplications.",
)
def attention_multiplications(t: Trial) -> None:
    """multiplications of both kinds of attention"""
    _agree(t, 0, ATTENTION, _sizes(t))


@exercise.prop(1, "Which matrices are applied at one position, and how large is each of them?")
def other_multiplications(t: Trial) -> None:
    """multiplications of recurrent layer and convolutions"""
    _agree(t, 0, PRODUCTS, _sizes(t))
    _agree(t, 0, PRODUCTS, [(t.integer(5, 9), 3)])


@exercise.prop(
    0.5, "With as many processors as you like: what can't be begun before its neighbour is done?"
)
def sequential(t: Trial) -> None:
    """steps that must wait for one another"""
    _agree(t, 1, ATTENTION + PRODUCTS, _sizes(t))


@exercise.prop(
    1, "Follow one signal from the first position to the last and count how often it moves."
)
def short_and_long_path(t: Trial) -> None:
    """path from first to last: self-attention and recurrent layer"""
    _agree(t, 2, ("self-attention", "recurrent"), _sizes(t))


@exercise.prop(
    1,
    "A window holds the position itself: how far back does its first place lie? Draw three layers"
    " with a window of 3.",
)
def contiguous_path(t: Trial) -> None:
    """path from first to last: restricted attention and contiguous convolution"""
    window = t.integer(3, 6)
    whole = 1 + (window - 1) * t.integer(2, 9)
    around = [(whole + more, 4, window) for more in (0, 1, -1)]
    _agree(t, 2, ("restricted", "convolution"), [*_sizes(t), *around])


@exercise.prop(
    1,
    "By how much does each further layer multiply what the last position sees? Count in whole"
    " numbers: a computed logarithm can just miss one.",
)
def dilated_path(t: Trial) -> None:
    """path from first to last: dilated convolutions"""
    sizes = [(base**power + more, 4, base)
             for base, power in ((5, 3), (3, 5), (2, t.integer(4, 8)))
             for more in (0, 1, -1)]  # fmt: skip
    _agree(t, 2, ("dilated",), [*_sizes(t), *sizes])
