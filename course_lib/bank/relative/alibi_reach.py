from typing import Any

from course_lib.bank.prelude import Exercise, Tensor, Trial, Wrong, math
from course_lib.positions import alibi_slopes
from grader.checks.compare import kind


def _exact(n_heads: int, share: float, length: int | None) -> list[float]:
    """How many keys it takes, before rounding up."""
    slopes = alibi_slopes(n_heads).tolist()
    past = [1.0 if length is None else -math.expm1(-slope * length) for slope in slopes]
    return [math.log1p(-share * p) / -slope for slope, p in zip(slopes, past, strict=True)]


exercise = Exercise(
    id="relative.alibi_reach",
    points=4,
    minutes=20,
    difficulty=3,
    chapter="08_relative.html#relative-slope",
    example=lambda t: (4, 0.9),
    outcomes=("relative.distances",),
)


def _share(t: Trial, low: int, high: int, n_heads: int, length: int | None = None) -> float:
    """A share in thousandths for which no head is within rounding of a whole number of keys."""
    while True:
        share = t.integer(low, high) / 1000 + 0.0003
        if all(0.01 < keys % 1 < 0.99 for keys in _exact(n_heads, share, length)):
            return share


def _heads(t: Trial, n_heads: int, share: float, length: int | None = None) -> None:
    """Numbers of any type, from the fewest on; one key more or less is asked about once."""
    options: dict[str, Any] = {} if length is None else {"length": length}
    got = t.call(n_heads, share, **options)
    got = got.tolist() if isinstance(got, Tensor) else got
    if not isinstance(got, (list, tuple)) or len(got) != n_heads:
        raise Wrong(
            f"the result is {kind(got)}, expected a list of {n_heads} numbers, one per head"
        )
    for found, want in zip(sorted(map(float, got)), t.want(n_heads, share, length), strict=True):
        note = f"n_heads {n_heads}, share {share:g}, length {length}: {got}"
        t.expect(abs(found - want) <= 1, f"{note}, expected {want} for {found:g}")


@exercise.prop(0.5, "By which factor does a weight change when its score falls by the slope?")
def eight_heads(t: Trial) -> None:
    """eight heads and an endless past"""
    _heads(t, 8, _share(t, 700, 980, 8))


@exercise.prop(0.5, "Write down the slopes of two heads, and of sixteen: which is the gentlest?")
def other_heads(t: Trial) -> None:
    """other numbers of heads have other slopes"""
    for n_heads in (1, 2, 16):
        _heads(t, n_heads, _share(t, 500, 980, n_heads))


@exercise.prop(2, "How much of the weight does the query's own key hold? Count it as the first.")
def whole_keys(t: Trial) -> None:
    """a list with the smallest number of keys that hold the share, the query's own among them,
    for each head, the steepest first
    """
    for n_heads, low, high in ((4, 100, 350), (4, 500, 980)):
        t.same(n_heads, _share(t, low, high, n_heads))


@exercise.prop(
    1, "A softmax over 20 keys. How much of an endless past's weight would these 20 have had?"
)
def short_past(t: Trial) -> None:
    """with a short past the weights of what is there sum to 1"""
    for n_heads, length in (
        (8, t.integer(20, 60)),
        (4, t.integer(5, 12)),
        (2, t.integer(200, 400)),
    ):
        _heads(t, n_heads, _share(t, 600, 950, n_heads, length), length)
