from course_lib.bank.prelude import changed, torch
from course_lib.bank.space.distinct_codes import exercise


@exercise.answer
def reference(scheme: str, height: int, width: int) -> tuple[int, int]:
    """How many codes there are, and how many places share the most frequent one."""
    short = min(height, width)
    if scheme == "added":
        return height * width - short * (short - 1) // 2, min(short, 2)
    if scheme == "diagonal":
        return height + width - 1, short
    if scheme == "wrong stride" and width > height:
        return (height - 1) * height + width, min(height, -(-width // height))
    return height * width, 1


@exercise.mistake("Compute the sums of (2, 5) and (5, 2), or look at the chapter's figure.")
def sums_differ(scheme, height, width):
    """A sum of two codes is a code of two numbers, so no place shares its own."""
    short = min(height, width)
    if scheme == "diagonal":
        return height + width - 1, short
    if scheme == "wrong stride" and width > height:
        return (height - 1) * height + width, min(height, -(-width // height))
    return height * width, 1


@exercise.mistake("Where does the partner of (2, 8) lie in a grid of 3 x 10?")
@changed(reference, ("height * width - short * (short - 1", "(height * width + short"))
def every_place_has_a_partner():
    """Half of all places off the diagonal are lost, whatever the grid's shape."""


@exercise.mistake("How many places lie on the diagonal, and who is their partner?")
@changed(reference, ("(short - 1)", "short"))
def diagonal_shared_too():
    """Every place has a partner, those on the diagonal too, so half of the square is lost."""


@exercise.mistake("Are the codes of rows 0 and 3, added, those of 1 and 2, added?")
def sums_like_numbers(scheme, height, width):
    """Codes add up like the numbers they stand for."""
    short = min(height, width)
    if scheme in ("added", "diagonal"):
        return height + width - 1, short
    if scheme == "wrong stride" and width > height:
        return (height - 1) * height + width, min(height, -(-width // height))
    return height * width, 1


@exercise.mistake("Sums of row and column begin at 0. Where do they end, in a grid of 2 x 2?")
@changed(reference, ("width - 1", "width"))
def one_diagonal_too_many():
    """A grid has as many diagonals as rows and columns together."""


@exercise.mistake("Number a grid of 2 x 5 with the stride 2. Which number comes twice?")
def any_stride_counts(scheme, height, width):
    """Whatever the stride, row times stride plus column is another number each time."""
    short = min(height, width)
    if scheme == "added":
        return height * width - short * (short - 1) // 2, min(short, 2)
    if scheme == "diagonal":
        return height + width - 1, short
    return height * width, 1


@exercise.mistake("A stride that is too large leaves gaps. Does it make numbers equal?")
def stride_too_large_collides(scheme, height, width):
    """A wrong stride makes places collide, whether it is too small or too large."""
    short, long = sorted((height, width))
    if scheme == "added":
        return height * width - short * (short - 1) // 2, min(short, 2)
    if scheme == "diagonal":
        return height + width - 1, short
    if scheme == "wrong stride" and width != height:
        return (short - 1) * short + long, min(short, -(-long // short))
    return height * width, 1


@exercise.mistake("Two rows of 9, stride 2: can a number come more than twice? And in six rows?")
@changed(reference, ("min(height, -", "-"), ("height)", "height"))
def as_many_as_fit():
    """As many places share a number as the stride fits into a row."""


@exercise.alternative
def counted(scheme, height, width):
    """Counts how often each code occurs, and prints to stderr."""
    import sys
    from collections import Counter

    print("counting", file=sys.stderr)
    code = {
        "concatenated": lambda r, c: (r, c),
        "added": lambda r, c: frozenset((r, c)),
        "diagonal": lambda r, c: r + c,
        "wrong stride": lambda r, c: r * height + c,
    }[scheme]
    found = Counter(code(r, c) for r in range(height) for c in range(width))
    return len(found), max(found.values())


@exercise.alternative
def with_tensors(scheme, height, width):
    """Numbers the codes by tensors and lets `unique` count."""
    r = torch.arange(height)[:, None].expand(height, width)
    c = torch.arange(width)[None, :].expand(height, width)
    if scheme == "concatenated":
        number = r * width + c
    elif scheme == "added":
        number = torch.minimum(r, c) * (height + width) + torch.maximum(r, c)
    elif scheme == "diagonal":
        number = r + c
    else:
        number = r * height + c
    _, counts = number.unique(return_counts=True)
    return counts.numel(), int(counts.max())
