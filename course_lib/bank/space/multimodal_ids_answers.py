from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.space.multimodal_ids import exercise
from course_lib.positions import multimodal_positions, next_position


@exercise.answer
def reference(parts: list[int | list[int]], start: int = 0) -> tuple[Tensor, int]:
    """The library's numbers, and the one that comes next."""
    ids = multimodal_positions(
        [p if isinstance(p, int) else (p[0], p[1], p[2]) for p in parts], start=start
    )
    return ids, next_position(ids)


@exercise.mistake(
    "How many numbers does an image of 2 x 3 use up, if its columns end at start + 2?"
)
def as_many_as_patches(parts, start=0):
    """What follows an image goes on after as many numbers as it has patches."""
    columns = []
    for part in parts:
        sizes = [part] if isinstance(part, int) else part
        places = torch.cartesian_prod(*[torch.arange(n) for n in sizes]).view(-1, len(sizes)).T
        columns.append(start + places.expand(3, -1))
        start += places.shape[1]
    return torch.cat(columns, dim=1), start


@exercise.mistake("An image has no time of its own, but the words before it had. What is its time?")
def time_from_zero(parts, start=0):
    """An image has no time, so its time is 0."""
    columns = []
    for part in parts:
        sizes = [part] if isinstance(part, int) else part
        places = torch.cartesian_prod(*[torch.arange(n) for n in sizes]).view(-1, len(sizes)).T
        ids = start + places.expand(3, -1)
        start = int(ids.max()) + 1
        columns.append(ids - (ids[0, 0] * torch.tensor([[1], [0], [0]]) if len(sizes) > 1 else 0))
    return torch.cat(columns, dim=1), start


@exercise.mistake(
    "The patch in the first row and first column, after two words: what are its numbers?"
)
def picture_from_zero(parts, start=0):
    """Rows and columns of an image are counted from 0."""
    columns = []
    for part in parts:
        sizes = [part] if isinstance(part, int) else part
        places = torch.cartesian_prod(*[torch.arange(n) for n in sizes]).view(-1, len(sizes)).T
        ids = start + places.expand(3, -1)
        start = int(ids.max()) + 1
        columns.append(ids - (ids[0, 0] * torch.tensor([[0], [1], [1]]) if len(sizes) > 1 else 0))
    return torch.cat(columns, dim=1), start


@exercise.mistake(
    "The first row of an image of 2 x 3 has three patches. What changes between them?"
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


@exercise.mistake("In [3, [1, 4, 2], 1], what is the last word's number?")
def behind_the_last_patch(parts, start=0):
    """What follows an image goes on after the column of its last patch."""
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


@exercise.mistake(
    "Which is the largest number of an image of 2 x 3 after two words? And of a film?"
)
def frames_alone(parts, start=0):
    """A film takes as long as it has frames."""
    columns = []
    for part in parts:
        sizes = [part] if isinstance(part, int) else part
        places = torch.cartesian_prod(*[torch.arange(n) for n in sizes]).view(-1, len(sizes)).T
        columns.append(start + places.expand(3, -1))
        start += sizes[0]
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
