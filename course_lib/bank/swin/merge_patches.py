from course_lib.bank.prelude import Exercise, Trial, torch
from grader.checks.compare import difference

exercise = Exercise(
    id="swin.merge_patches",
    points=4,
    minutes=20,
    difficulty=2,
    chapter="15_stages.html#swin-merging",
    outcomes=("swin.windows",),
    severe={"quarters": "no token of the result is made of its square"},
    example=lambda t: (t.randn(1, 4, 6, 2),),
)


def _repaired(t: Trial) -> None:
    """What is right in the function that was handed out earns nothing by itself."""
    x = t.randn(1, 4, 6, 2)
    same = difference(t.call(x), colleagues_merge(x)) is None
    t.expect(not same, "it is still the colleague's function")


@exercise.prop(
    1, "Put the number of its square on each token. Are a new token's four channels equal?"
)
def squares(t: Trial) -> None:
    """a token is made of the four of its square"""
    _repaired(t)
    rows, columns = t.integer(2, 3), t.integer(4, 5)
    number = torch.arange(1.0, rows * columns + 1).view(1, rows, columns, 1)
    x = number.repeat_interleave(2, 1).repeat_interleave(2, 2)
    got = t.a_tensor(t.call(x), (1, rows, columns, 4))
    t.close(got, number.expand(-1, -1, -1, 4), "a token of each square")


@exercise.prop(1, "Merge the numbers 0 to 3 in a square of 2 x 2: you should get 0, 2, 1, 3.")
def order(t: Trial) -> None:
    """in the order down first: (0, 0), (1, 0), (0, 1), (1, 1)"""
    t.same(t.randn(t.integer(1, 2), 2 * t.integer(1, 3), 8, 1), note="one channel")
    t.same(torch.arange(4.0).view(1, 2, 2, 1) + t.integer(1, 9), note="four numbers")


@exercise.prop(1, "Merge tokens of two channels, one of them always 0. Where are the zeros?")
def channels(t: Trial) -> None:
    """all channels of the first token come first, then all of the second"""
    D = t.integer(3, 5)
    t.same(t.randn(2, 4, 6, D), note=f"{D} channels")
    t.same(t.randn(1, 2, 2, 2), note="one square")


@exercise.prop(0.5, "How many new tokens do seven make? And which of the old ones is left over?")
def odd(t: Trial) -> None:
    """odd sides get zeros below and to the right"""
    n = 2 * t.integer(1, 3)
    _repaired(t)
    for rows, columns in ((n + 1, n), (n, n + 3)):
        x = t.randn(1, rows, columns, 2)
        want = t.want(x)
        got = t.a_tensor(t.call(x), want.shape)
        # In any order of the four.
        note = f"{rows} x {columns}"
        t.close(got.sort(-1).values, want.sort(-1).values, "the sorted channels", note=note)
    t.same(t.randn(2, 1, 1, 2), note="one token")


@exercise.prop(
    0.5, "Padding in place changes the caller's tokens; a new tensor filled from them is fine."
)
def numbers(t: Trial) -> None:
    """gradients reach every token, half precision stays, and the tokens are left as they were"""
    x = t.randn(1, 3, 4, 2)
    t.gradient(x.double())
    t.same(x.half(), note="half precision", exact=True)
    t.unchanged(x)


def colleagues_merge(x):
    """A merged token is any four tokens that are near each other."""
    B, rows, columns, D = x.shape
    rows, columns = rows // 2, columns // 2
    x = x[:, : 2 * rows, : 2 * columns]
    four = [x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]
    return torch.stack(four, dim=-1).flatten(-2)
