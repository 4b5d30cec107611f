from course_lib.bank.prelude import Exercise, Trial, Wrong
from grader.checks.compare import difference, misfit

exercise = Exercise(
    id="cheaper.pattern_counts",
    points=5.5,
    minutes=25,
    difficulty=3,
    chapter="14_patterns.html#cheaper-strided",
    outcomes=("cheaper.count",),
    example=lambda t: ("window", 6, 2),
    returns=("the pairs", "the layers"),
)


def counts(t: Trial, pattern: str, T: int, size: int, note: str) -> None:
    """Compare both numbers, and tell of both: who counts wrong twice should hear it once."""
    got, want = t.call(pattern, T, size), t.want(pattern, T, size)
    if wrong := misfit(got, want, exercise.returns):
        raise Wrong(wrong)
    parts = [difference(g, w, what) for g, w, what in zip(got, want, exercise.returns, strict=True)]
    if any(parts):
        said = "; ".join(filter(None, parts))
        raise Wrong(f"{note}: {said}; called with {pattern!r}, {T}, {size}")


@exercise.prop(
    1,
    "Add up the rows for T = 5 and radius 2: 3, 4, 5, 4, 3. And how far has the information of the"
    " first position come after one layer?",
)
def window(t: Trial) -> None:
    """a window on both sides"""
    radius = t.integer(2, 5)
    for T in (radius * t.integer(3, 6) + 1, radius * t.integer(3, 6) + 2, 40 + t.integer(0, 9)):
        counts(t, "window", T, radius, note=f"T = {T}")
    counts(t, "window", 5, t.integer(4, 9), note="a window that is wider than the text")


@exercise.prop(0.5, "The first query sees itself. The second one sees two, up to radius + 1.")
def past(t: Trial) -> None:
    """a window on the past"""
    radius = t.integer(2, 5)
    for T in (radius * t.integer(3, 6) + 1, 40 + t.integer(0, 9)):
        counts(t, "past", T, radius, note=f"T = {T}")
    counts(t, "past", 4, t.integer(4, 9), note="a window that is wider than the text")


@exercise.prop(
    1.5,
    "Any distance is a multiple of the stride plus a remainder. How many steps is that? And is the"
    " distance of one stride counted twice?",
)
def strided(t: Trial) -> None:
    """the last positions and every size-th before them"""
    stride = t.integer(3, 6)
    for T in (stride * t.integer(4, 7), stride * t.integer(4, 7) + t.integer(1, 2), 4 * stride + 1):
        counts(t, "strided", T, stride, note=f"T = {T}")
    counts(t, "strided", stride + 2, stride, note="two positions more than the stride")
    counts(t, "strided", stride + 1, stride, note="a stride that reaches the first position")
    counts(t, "strided", stride - 1, stride, note="a stride longer than the text")
    counts(t, "strided", t.integer(5, 9), 1, note="a stride of 1")


@exercise.prop(
    1, "How large is the last block? And what can a second layer fetch that the first could not?"
)
def blocks(t: Trial) -> None:
    """blocks that see only themselves"""
    size = t.integer(3, 6)
    counts(t, "blocks", size * t.integer(3, 6), size, note="whole blocks")
    counts(t, "blocks", size * t.integer(3, 6) + t.integer(1, 2), size, note="a shorter last block")
    counts(t, "blocks", size, size, note="a single block")
    counts(t, "blocks", size - 1, size, note="less than a block")


@exercise.prop(
    1,
    "Draw T = 6 and radius 1. Which cells of the first row and column are new? And who is the"
    " middleman between two positions that are far apart?",
)
def with_global(t: Trial) -> None:
    """a window with a global first position"""
    radius = t.integer(2, 5)
    for T in (30 + t.integer(0, 9), radius + 3):
        counts(t, "global", T, radius, note=f"T = {T}")
    for T in (radius + 2, radius + 1, radius):
        counts(t, "global", T, radius, note=f"T = {T}, radius {radius}")


@exercise.prop(
    0.5, "A mask of 100,000 x 100,000 takes 10 GB. Add up rows instead, or find the formula."
)
def long_texts(t: Trial) -> None:
    """a text of 100,000 tokens, without a mask of that size"""
    size = t.integer(90, 110)
    # The last block is a shorter one.
    T = 100_000 // size * size + t.integer(1, size - 1)
    for pattern in ("window", "past", "strided", "blocks", "global"):
        t.size_probe(
            pattern,
            T,
            size,
            want=[exercise.reference(pattern, T, size)],
            keep=t.slices(),
            memory=100,
            cpu=4,
            why=f"{T:,} tokens",
        )
    t.same("window", 50, 3, note="a short text")
