"""Exercise ``space.multimodal_ids``."""

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.positions import multimodal_positions, next_position


def reference(parts: list[int | list[int]], start: int = 0) -> tuple[Tensor, int]:
    """The library's numbers, and the one that comes next."""
    ids = multimodal_positions(
        [p if isinstance(p, int) else (p[0], p[1], p[2]) for p in parts], start=start
    )
    return ids, next_position(ids)


exercise = Exercise(
    id="space.multimodal_ids",
    function="multimodal_ids",
    reference=reference,
    points=4,
    minutes=15,
    difficulty=2,
    chapter="11_space.html#space-multimodal",
    outcomes=("space.rotary", "space.codes"),
    severe={
        "time_from_zero": "no number behind a picture is right",
        "picture_from_zero": "no number of a patch is right",
        "largest_again": "no number behind the first part is right",
    },
    returns=("the numbers", "the next number"),
    example=lambda t: ([2, [1, 2, 3], 1],),
)


@exercise.prop(
    "words count up, with the same number three times",
    points=1,
    hint="This is the branch that was there already. Does its next number reach the next part?",
)
def words(t: Trial) -> None:
    n = t.integer(2, 6)
    t.same([n])
    t.same([n, t.integer(1, 4)], note="two texts")


@exercise.prop(
    "a picture's patches have their row and column, counted from where the words ended",
    points=1,
    hint="Write the three rows of [2, (1, 2, 3)] by hand: the time of all patches is 2.",
)
def picture(t: Trial) -> None:
    rows = t.integer(2, 3)
    t.same([t.integer(2, 5), [1, rows, rows + t.integer(1, 2)]], note="wide")
    t.same([t.integer(2, 5), [1, rows + t.integer(1, 2), rows]], note="high")
    t.same([[1, 2, 3]], note="a picture first")


@exercise.prop(
    "what follows a picture goes on behind its largest number",
    points=1,
    hint="Not behind its number of patches. What is the largest number in any of the three rows?",
)
def after(t: Trial) -> None:
    rows = t.integer(2, 3)
    t.same([3, [1, rows, rows + 2], t.integer(2, 4)], note="the columns are more")
    t.same([3, [1, rows + 2, rows], t.integer(2, 4)], note="the rows are more")
    t.same([1, [1, 2, 2], [1, 3, 2], 1], note="two pictures")


@exercise.prop(
    "a film counts its frames, too",
    points=0.5,
    hint="Frames change slowest: all patches of frame 0 come before those of frame 1.",
)
def film(t: Trial) -> None:
    frames = t.integer(2, 3)
    t.same([2, [frames, 2, 3]], note="a short film")
    t.same([1, [5, 2, 2], 2], note="more frames than rows or columns")


@exercise.prop(
    "numbering may begin anywhere",
    points=0.5,
    hint="`start` is the number of the first token, whatever that is.",
)
def start(t: Trial) -> None:
    for parts in ([2, [1, 2, 3], 1], [[2, 2, 1], 2]):
        number = t.integer(3, 20)
        (here, after), (zero, then) = t.call(parts, start=number), t.call(parts)
        t.expect(isinstance(here, Tensor) and isinstance(zero, Tensor), "the numbers are no tensor")
        t.close(here, zero + number, "the numbers", note=f"start {number}, compared to start 0")
        t.close(after, then + number, "the next number", note=f"start {number}")
        t.expect(bool(zero.any()), "all numbers are 0")


@exercise.mistake(
    "How many numbers does a picture of 2 x 3 use up, if its columns end at start + 2?"
)
def as_many_as_patches(parts, start=0):
    """What follows a picture goes on behind as many numbers as it has patches."""
    columns = []
    for part in parts:
        sizes = [part] if isinstance(part, int) else part
        places = torch.cartesian_prod(*[torch.arange(n) for n in sizes]).view(-1, len(sizes)).T
        columns.append(start + places.expand(3, -1))
        start += places.shape[1]
    return torch.cat(columns, dim=1), start


@exercise.mistake(
    "A picture has no time of its own, but the words before it had. What is its time?"
)
def time_from_zero(parts, start=0):
    """A picture has no time, so its time is 0."""
    columns = []
    for part in parts:
        sizes = [part] if isinstance(part, int) else part
        places = torch.cartesian_prod(*[torch.arange(n) for n in sizes]).view(-1, len(sizes)).T
        ids = start + places.expand(3, -1)
        start = int(ids.max()) + 1
        columns.append(ids - (ids[0, 0] * torch.tensor([[1], [0], [0]]) if len(sizes) > 1 else 0))
    return torch.cat(columns, dim=1), start


@exercise.mistake(
    "The patch in the first row and first column: which numbers has it, after two words?"
)
def picture_from_zero(parts, start=0):
    """Rows and columns of a picture are counted from 0."""
    columns = []
    for part in parts:
        sizes = [part] if isinstance(part, int) else part
        places = torch.cartesian_prod(*[torch.arange(n) for n in sizes]).view(-1, len(sizes)).T
        ids = start + places.expand(3, -1)
        start = int(ids.max()) + 1
        columns.append(ids - (ids[0, 0] * torch.tensor([[0], [1], [1]]) if len(sizes) > 1 else 0))
    return torch.cat(columns, dim=1), start


@exercise.mistake(
    "The first row of a picture of 2 x 3 has three patches. What changes between them?"
)
def columns_before_rows(parts, start=0):
    """The second row of numbers is the column and the third the row."""
    columns = []
    for part in parts:
        sizes = [part] if isinstance(part, int) else part
        places = torch.cartesian_prod(*[torch.arange(n) for n in sizes]).view(-1, len(sizes)).T
        ids = start + places.expand(3, -1)
        start = int(ids.max()) + 1
        columns.append(ids[[0, 2, 1]])
    return torch.cat(columns, dim=1), start


@exercise.mistake("In [3, (1, 4, 2), 1], which number has the last word?")
def behind_the_last_patch(parts, start=0):
    """What follows a picture goes on behind the column of its last patch."""
    columns = []
    for part in parts:
        sizes = [part] if isinstance(part, int) else part
        places = torch.cartesian_prod(*[torch.arange(n) for n in sizes]).view(-1, len(sizes)).T
        columns.append(start + places.expand(3, -1))
        start += sizes[-1]
    return torch.cat(columns, dim=1), start


@exercise.mistake("Two tokens must not have the same three numbers. Which number is free?")
def largest_again(parts, start=0):
    """A part begins at the largest number that the part before it used."""
    columns = []
    for part in parts:
        sizes = [part] if isinstance(part, int) else part
        places = torch.cartesian_prod(*[torch.arange(n) for n in sizes]).view(-1, len(sizes)).T
        columns.append(start + places.expand(3, -1))
        start = int(columns[-1].max())
    return torch.cat(columns, dim=1), start


@exercise.alternative
def patch_by_patch(parts, start=0):
    """Plain loops; warns."""
    import warnings

    warnings.warn("loops", stacklevel=1)
    ids = []
    for part in parts:
        if isinstance(part, int):
            ids += [(start + i,) * 3 for i in range(part)]
            start += part
        else:
            frames, rows, columns = part
            for frame in range(frames):
                for row in range(rows):
                    ids += [(start + frame, start + row, start + c) for c in range(columns)]
            start += max(part)
    return torch.tensor(ids).T, start


@exercise.alternative
def by_division(parts, start=0):
    """Frame, row and column by division with remainder; words are films of one patch a frame."""
    found = []
    for part in parts:
        word = isinstance(part, int)
        frames, rows, columns = (part, 1, 1) if word else part
        n = torch.arange(frames * rows * columns)
        axes = torch.stack([n // (rows * columns), n // columns % rows, n % columns])
        found.append((axes[:1].repeat(3, 1) if word else axes) + start)
        start += max(frames, rows, columns)
    return torch.cat(found, 1), start
