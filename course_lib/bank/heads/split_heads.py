from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="heads.split_heads",
    points=3,
    minutes=10,
    difficulty=1,
    chapter="04_heads.html#heads-cut",
    outcomes=("heads.split",),
    example=lambda t: (t.randn(2, 4, 6), 2),
)


@exercise.prop(1, "Number the channels 0, 1, 2, … for two tokens and print what each head holds.")
def values(t: Trial) -> None:
    """head h of a token holds the h-th block of its channels, in order"""
    t.same(t.randn(2, t.integer(4, 6), 6), 3)


@exercise.prop(
    1.5,
    "Change one token and look at which entries of the heads change. And is anything detached,"
    " converted to numpy or to a list?",
)
def own_token(t: Trial) -> None:
    """what a head holds of token t comes from token t alone, and a gradient gets back to it"""
    x = t.randn(2, 5, 8)
    before = t.a_tensor(t.call(x, 4), (2, 4, 5, 2))
    place = t.integer(1, 3)
    x[1, place] += 1 + t.randn(8).abs()
    after = t.a_tensor(t.call(x, 4), (2, 4, 5, 2))
    changed = (after != before).any(-1)
    expected = torch.zeros(2, 4, 5, dtype=torch.bool)
    expected[1, :, place] = True
    wrong = sorted({(b, s) for b, _, s in changed.ne(expected).nonzero().tolist()})
    t.expect(
        not wrong,
        f"token {place} of sentence 1 was changed: a change is missing or out of place at"
        f" (sentence, token) {', '.join(map(str, wrong[:3]))}",
    )
    t.gradient(t.randn(2, 3, 4, dtype=torch.float64), 2)


@exercise.prop(0.5, "Which sizes of your result depend on the number of heads, and which must not?")
def any_number(t: Trial) -> None:
    """any number of heads, from one to d_model"""
    x = t.randn(3, 4, 12)
    for n_heads in (1, 2, 6, 12):
        t.same(x, n_heads, note=f"{n_heads} heads")


def colleagues_split(x, n_heads):
    """A reshape to the right shape puts the numbers into the right places."""
    B, T, D = x.shape
    return x.reshape(B, n_heads, T, D // n_heads)
