from course_lib.bank.cheaper.pattern_counts import exercise
from course_lib.bank.prelude import changed, math, torch


@exercise.answer
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
    """With a stride, information travels one stride per layer."""
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


def right(pattern, T, size):
    """Base of the mistakes, itself right."""
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
    return 2 * near - T + 2 * max(T - 1 - size, 0), 1 if T - 2 <= size else 2


@exercise.mistake("Who in the second block has ever seen anybody of the first?")
@changed(right, ("1 if T <= size else 0", "-(-T // size)"))
def blocks_pass_it_on():
    """With enough layers information gets from block to block."""


@exercise.mistake("How many positions are in the last block when size doesn't divide T?")
@changed(right, ("// size * size**2 + (T % size) ** 2", "* size"))
def every_block_is_whole():
    """All blocks have the same size."""


@exercise.mistake("Which pairs are in both parts of the pattern?")
@changed(right, ("max(i // size - 1, 0)", "i // size"), ("max(T - 1 - size, 0", "(T - 1"))
def counted_twice():
    """The parts of a pattern can be counted one by one and added."""


@exercise.mistake("Two words far from each other: does either see the other through the first one?")
@changed(right, ("1 if T - 2 <= size else 2", "max(-(-(T - 2) // size), 1)"))
def global_alone_hears_all():
    """A global position shortens the way to itself only; all others still go step by step."""


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
