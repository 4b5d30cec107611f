"""Exercise ``cheaper.pattern_counts``."""

import math

import torch

from course_lib.checks.compare import difference, misfit
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial, Wrong


def reference(pattern: str, T: int, size: int) -> tuple[int, int]:
    """Pairs of a pattern, and layers until all that is ever heard has been heard."""
    if pattern == "window":
        radius = min(size, T - 1)
        return T * (2 * radius + 1) - radius * (radius + 1), -(-(T - 1) // size)
    if pattern == "past":
        radius = min(size, T - 1)
        return T * (radius + 1) - radius * (radius + 1) // 2, -(-(T - 1) // size)
    if pattern == "strided":
        near = reference("past", T, size)[0]
        # Multiples of the stride beyond the first: a row i has i // size - 1 of them.
        rows, rest = divmod(T, size)
        far = size * (rows - 1) * (rows - 2) // 2 + rest * (rows - 1) if rows else 0
        return near + far, 1 if size == 1 or T - 1 <= size else 2
    if pattern == "blocks":
        whole, rest = divmod(T, size)
        return whole * size**2 + rest**2, 1 if T <= size else 0
    window = reference("window", T, size)[0]
    return window + 2 * max(T - 1 - size, 0), 1 if T - 2 <= size else 2


exercise = Exercise(
    id="cheaper.pattern_counts",
    function="pattern_counts",
    reference=reference,
    points=5.5,
    minutes=25,
    difficulty=3,
    chapter="14_cheaper.html#cheaper-strided",
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
    "a window on both sides",
    points=1,
    hint="Add up the rows for T = 5 and radius 2: 3, 4, 5, 4, 3. And how far has the news of the"
    " first position come after one layer?",
)
def window(t: Trial) -> None:
    radius = t.integer(2, 5)
    for T in (radius * t.integer(3, 6) + 1, radius * t.integer(3, 6) + 2, 40 + t.integer(0, 9)):
        counts(t, "window", T, radius, note=f"T = {T}")
    counts(t, "window", 5, t.integer(4, 9), note="a window that is wider than the text")


@exercise.prop(
    "a window on the past",
    points=0.5,
    hint="The first query sees itself. The second one sees two, up to radius + 1.",
)
def past(t: Trial) -> None:
    radius = t.integer(2, 5)
    for T in (radius * t.integer(3, 6) + 1, 40 + t.integer(0, 9)):
        counts(t, "past", T, radius, note=f"T = {T}")
    counts(t, "past", 4, t.integer(4, 9), note="a window that is wider than the text")


@exercise.prop(
    "the last positions and every size-th before them",
    points=1.5,
    hint="Any distance is a multiple of the stride and a rest. How many steps is that? And is the"
    " distance of one stride counted twice?",
)
def strided(t: Trial) -> None:
    stride = t.integer(3, 6)
    for T in (stride * t.integer(4, 7), stride * t.integer(4, 7) + t.integer(1, 2), 4 * stride + 1):
        counts(t, "strided", T, stride, note=f"T = {T}")
    counts(t, "strided", stride + 2, stride, note="two positions more than the stride")
    counts(t, "strided", stride + 1, stride, note="a stride that reaches the first position")
    counts(t, "strided", stride - 1, stride, note="a stride longer than the text")
    counts(t, "strided", t.integer(5, 9), 1, note="a stride of 1")


@exercise.prop(
    "blocks that see only themselves",
    points=1,
    hint="How large is the last block? And what can a second layer fetch that the first could not?",
)
def blocks(t: Trial) -> None:
    size = t.integer(3, 6)
    counts(t, "blocks", size * t.integer(3, 6), size, note="whole blocks")
    counts(t, "blocks", size * t.integer(3, 6) + t.integer(1, 2), size, note="a shorter last block")
    counts(t, "blocks", size, size, note="a single block")
    counts(t, "blocks", size - 1, size, note="less than a block")


@exercise.prop(
    "a window with a global first position",
    points=1,
    hint="Draw T = 6 and radius 1. Which cells of the first row and column are new? And who is the"
    " middleman between two positions that are far apart?",
)
def with_global(t: Trial) -> None:
    radius = t.integer(2, 5)
    for T in (30 + t.integer(0, 9), radius + 3):
        counts(t, "global", T, radius, note=f"T = {T}")
    for T in (radius + 2, radius + 1, radius):
        counts(t, "global", T, radius, note=f"T = {T}, radius {radius}")


@exercise.prop(
    "a text of 100,000 tokens, without a mask of that size",
    points=0.5,
    hint="A mask of 100,000 x 100,000 takes 10 GB. Add up rows instead, or find the formula.",
)
def long_texts(t: Trial) -> None:
    size = t.integer(90, 110)
    # The last block is a shorter one.
    T = 100_000 // size * size + t.integer(1, size - 1)
    for pattern in ("window", "past", "strided", "blocks", "global"):
        t.size_probe(
            pattern,
            T,
            size,
            want=[reference(pattern, T, size)],
            keep=t.slices(),
            memory=100,
            cpu=4,
            why=f"{T:,} tokens",
        )
    t.same("window", 50, 3, note="a short text")


@exercise.mistake("How many keys does the first query see?")
def full_windows(pattern, T, size):
    """Every query sees a full window."""
    if pattern == "window":
        return T * (2 * size + 1), -(-(T - 1) // size)
    radius = min(size, T - 1)
    near = T * (radius + 1) - radius * (radius + 1) // 2
    if pattern == "past":
        return near, -(-(T - 1) // size)
    if pattern == "strided":
        far = sum(max(i // size - 1, 0) for i in range(T))
        return near + far, 1 if size == 1 or T - 1 <= size else 2
    if pattern == "blocks":
        return T // size * size**2 + (T % size) ** 2, 1 if T <= size else 0
    both = 2 * near - T
    return both + 2 * max(T - 1 - size, 0), 1 if T - 2 <= size else 2


@exercise.mistake("A token sees every size-th before it. Must it go there step by step?")
def strides_step_by_step(pattern, T, size):
    """With a stride, news travel one stride a layer."""
    radius = min(size, T - 1)
    near = T * (radius + 1) - radius * (radius + 1) // 2
    if pattern == "window":
        return 2 * near - T, -(-(T - 1) // size)
    if pattern == "past":
        return near, -(-(T - 1) // size)
    if pattern == "strided":
        return near + sum(max(i // size - 1, 0) for i in range(T)), -(-(T - 1) // size)
    if pattern == "blocks":
        return T // size * size**2 + (T % size) ** 2, 1 if T <= size else 0
    return 2 * near - T + 2 * max(T - 1 - size, 0), 1 if T - 2 <= size else 2


@exercise.mistake("Is a distance of one stride and one position covered?")
def one_layer_is_enough(pattern, T, size):
    """A stride of any size covers all distances in one layer."""
    radius = min(size, T - 1)
    near = T * (radius + 1) - radius * (radius + 1) // 2
    if pattern == "window":
        return 2 * near - T, -(-(T - 1) // size)
    if pattern == "past":
        return near, -(-(T - 1) // size)
    if pattern == "strided":
        return near + sum(max(i // size - 1, 0) for i in range(T)), 1
    if pattern == "blocks":
        return T // size * size**2 + (T % size) ** 2, 1 if T <= size else 0
    return 2 * near - T + 2 * max(T - 1 - size, 0), 1 if T - 2 <= size else 2


@exercise.mistake("Who in the second block has ever seen anybody of the first?")
def blocks_pass_it_on(pattern, T, size):
    """With enough layers news get from block to block."""
    radius = min(size, T - 1)
    near = T * (radius + 1) - radius * (radius + 1) // 2
    if pattern == "window":
        return 2 * near - T, -(-(T - 1) // size)
    if pattern == "past":
        return near, -(-(T - 1) // size)
    if pattern == "strided":
        far = sum(max(i // size - 1, 0) for i in range(T))
        return near + far, 1 if size == 1 or T - 1 <= size else 2
    if pattern == "blocks":
        return T // size * size**2 + (T % size) ** 2, -(-T // size)
    return 2 * near - T + 2 * max(T - 1 - size, 0), 1 if T - 2 <= size else 2


@exercise.mistake("How many positions are in the last block when size doesn't divide T?")
def every_block_is_whole(pattern, T, size):
    """All blocks have the same size."""
    radius = min(size, T - 1)
    near = T * (radius + 1) - radius * (radius + 1) // 2
    if pattern == "window":
        return 2 * near - T, -(-(T - 1) // size)
    if pattern == "past":
        return near, -(-(T - 1) // size)
    if pattern == "strided":
        far = sum(max(i // size - 1, 0) for i in range(T))
        return near + far, 1 if size == 1 or T - 1 <= size else 2
    if pattern == "blocks":
        return T * size, 1 if T <= size else 0
    return 2 * near - T + 2 * max(T - 1 - size, 0), 1 if T - 2 <= size else 2


@exercise.mistake("Which pairs are in both parts of the pattern?")
def counted_twice(pattern, T, size):
    """The parts of a pattern can be counted one by one and added."""
    radius = min(size, T - 1)
    near = T * (radius + 1) - radius * (radius + 1) // 2
    if pattern == "window":
        return 2 * near - T, -(-(T - 1) // size)
    if pattern == "past":
        return near, -(-(T - 1) // size)
    if pattern == "strided":
        far = sum(i // size for i in range(T))
        return near + far, 1 if size == 1 or T - 1 <= size else 2
    if pattern == "blocks":
        return T // size * size**2 + (T % size) ** 2, 1 if T <= size else 0
    return 2 * near - T + 2 * (T - 1), 1 if T - 2 <= size else 2


@exercise.mistake("Two words far from each other: does either see the other through the first one?")
def global_alone_hears_all(pattern, T, size):
    """A global position shortens the way to itself only; all others still go step by step."""
    radius = min(size, T - 1)
    near = T * (radius + 1) - radius * (radius + 1) // 2
    if pattern == "window":
        return 2 * near - T, -(-(T - 1) // size)
    if pattern == "past":
        return near, -(-(T - 1) // size)
    if pattern == "strided":
        far = sum(max(i // size - 1, 0) for i in range(T))
        return near + far, 1 if size == 1 or T - 1 <= size else 2
    if pattern == "blocks":
        return T // size * size**2 + (T % size) ** 2, 1 if T <= size else 0
    return 2 * near - T + 2 * max(T - 1 - size, 0), max(-(-(T - 2) // size), 1)


@exercise.alternative
def row_by_row(pattern, T, size):
    """Adds up the rows, and looks for the shortest distance that one layer doesn't cover."""
    pairs = 0
    for i in range(T):
        back, ahead = min(i, size), min(T - 1 - i, size)
        if pattern == "window":
            pairs += back + 1 + ahead
        elif pattern == "past":
            pairs += back + 1
        elif pattern == "strided":
            pairs += back + 1 + len(range(2 * size, i + 1, size))
        elif pattern == "blocks":
            pairs += min(T, i // size * size + size) - i // size * size
        else:
            pairs += T if i == 0 else back + 1 + ahead + (i > size)
    if pattern in ("window", "past"):
        return pairs, (T - 2 + size) // size
    if pattern == "blocks":
        return pairs, int(T <= size)
    first = 0 if pattern == "strided" else 1
    covered = all(
        distance <= size or (pattern == "strided" and distance % size == 0)
        for distance in range(1, T - first)
    )
    return pairs, 1 if covered else 2


@exercise.alternative
def masks_where_they_fit(pattern, T, size):
    """A mask and its powers for short texts, sums of rows for long ones; prints to stderr."""
    import sys

    print("counting", pattern, file=sys.stderr)
    if T <= 200:
        place = torch.arange(T)
        back = place[:, None] - place
        mask = {
            "window": back.abs() <= size,
            "past": (back >= 0) & (back <= size),
            "strided": (back >= 0) & ((back <= size) | (back % size == 0)),
            "blocks": place[:, None] // size == place // size,
            "global": (back.abs() <= size) | (place == 0) | (place[:, None] == 0),
        }[pattern]
        wanted = back >= 0 if pattern in ("past", "strided") else torch.ones_like(mask)
        reached, layers = mask, 1
        while (wanted & ~reached).any():
            further = (mask.float() @ reached.float()) > 0
            if further.equal(reached):
                return int(mask.sum()), 0
            reached, layers = further, layers + 1
        return int(mask.sum()), layers
    i = torch.arange(T)
    back, ahead = i.clamp(max=size) + 1, (T - 1 - i).clamp(max=size)
    rows = {
        "window": back + ahead,
        "past": back,
        "strided": back + (i // size - 1).clamp(min=0),
        "blocks": (i // size * size + size).clamp(max=T) - i // size * size,
        "global": torch.where(i == 0, T, back + ahead + (i > size)),
    }[pattern]
    layers = {"strided": 2, "global": 2, "blocks": 0}.get(pattern, math.ceil((T - 1) / size))
    return int(rows.sum()), layers
