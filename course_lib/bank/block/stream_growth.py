from course_lib.bank.prelude import Exercise, Trial, Wrong, math

exercise = Exercise(
    id="block.stream_growth",
    points=4,
    minutes=20,
    difficulty=3,
    chapter="06_stack.html#block-stream",
    outcomes=("block.stream",),
    returns=("the variance", "the share"),
    example=lambda t: (6, 1.0, 0.5),
)


def _gain(t: Trial) -> float:
    return t.integer(10, 90) / 100


def _entry(t: Trial, index: int, n_layers: int, start: float, gain: float, norm: str) -> None:
    """One of the two numbers alone, so that either can be right without the other."""
    got = t.values(t.call(n_layers, start, gain, norm))
    want = exercise.reference(n_layers, start, gain, norm)[index]
    note = f"{n_layers} blocks, start {start:g}, gain {gain:g}, norm {norm!r}"
    t.close(got[index], want, ("the variance", "the share")[index], note=note)


@exercise.prop(
    0.75, "What does each sub-layer read in pre-norm, and does it notice how large the stream is?"
)
def pre_variance(t: Trial) -> None:
    """the variance after the last block in pre-norm"""
    for n_layers in (1, t.integer(2, 12), t.integer(20, 48)):
        _entry(t, 0, n_layers, t.integer(5, 30) / 4, _gain(t), "pre")


@exercise.prop(
    0.75, "Each sub-layer reads the stream as it is. By which factor does it change its variance?"
)
def bare_variance(t: Trial) -> None:
    """the variance after the last block without norms, norm="none\""""
    for n_layers in (1, t.integer(2, 9)):
        _entry(t, 0, n_layers, t.integer(5, 30) / 4, _gain(t), "none")


@exercise.prop(0.75, "What is the last thing that happens in a post-norm block?")
def post_variance(t: Trial) -> None:
    """the variance after the last block in post-norm"""
    for n_layers in (1, t.integer(2, 40)):
        _entry(t, 0, n_layers, t.integer(5, 30) / 4, _gain(t), "post")


@exercise.prop(
    1, "How large is the stream just before the last sub-layer? And it's sizes that are compared."
)
def pre_share(t: Trial) -> None:
    """pre-norm: the size of what the last sub-layer adds, over the size of the stream before it"""
    # Of the answer's own variance, whose last summand is the gain.
    for n_layers in (1, t.integer(2, 12), t.integer(20, 48)):
        start, gain = t.integer(5, 30) / 4, _gain(t)
        variance, share = t.values(t.call(n_layers, start, gain, "pre"))
        if float(variance) <= gain:
            raise Wrong(
                f"a variance of {float(variance):g}, of which the last sub-layer adds {gain:g}"
            )
        want = math.sqrt(gain / (float(variance) - gain))
        t.close(share, want, "the share", note=f"variance {float(variance):g}, gain {gain:g}")


@exercise.prop(0.75, "In both, does the answer depend on the depth?")
def other_shares(t: Trial) -> None:
    """the same without norms, and in post-norm"""
    for norm in ("none", "post"):
        _entry(t, 1, t.integer(2, 9), t.integer(5, 30) / 4, _gain(t), norm)
