from course_lib.bank.prelude import F, Tensor, torch
from course_lib.bank.swin.merge_patches import colleagues_merge, exercise
from course_lib.swin import pad_grid


@exercise.answer
def reference(x: Tensor) -> Tensor:
    """The four of a square side by side, down first."""
    rows, columns = (-(-side // 2) for side in x.shape[1:3])
    x = pad_grid(x, (2 * rows, 2 * columns))
    squares = x.unflatten(2, (columns, 2)).unflatten(1, (rows, 2))
    return squares.permute(0, 1, 3, 4, 2, 5).flatten(3)


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake(
    "Three things are wrong. Begin with the first symptom: what is the second number?"
)(colleagues_merge)


@exercise.mistake("Merge the numbers of a square of 2 x 2, and compare with the order asked for.")
def across_first(x):
    """The four are read like a text: across, then down."""
    x = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
    return torch.cat([x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)], dim=-1)


@exercise.mistake("With two channels: is channel 0 of the second token at 1 or at 2?")
def channels_by_turns(x):
    """Stacking and flattening puts tokens side by side, whatever the axis."""
    x = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
    four = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
    return torch.stack(four, dim=-1).flatten(-2)


@exercise.mistake("Merge 3 x 3 tokens. How many come back, and who has been lost?")
def odd_ones_dropped(x):
    """A row that is left over can be dropped."""
    x = x[:, : x.shape[1] // 2 * 2, : x.shape[2] // 2 * 2]
    return torch.cat([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], dim=-1)


@exercise.mistake("With what is the missing row filled: with zeros, or with the last one again?")
def border_repeated(x):
    """What is missing is filled with what is next to it."""
    if x.shape[1] % 2:
        x = torch.cat([x, x[:, -1:]], dim=1)
    if x.shape[2] % 2:
        x = torch.cat([x, x[:, :, -1:]], dim=2)
    return torch.cat([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], dim=-1)


@exercise.mistake("Which four tokens meet in your first one? Put their numbers in and look.")
def quarters(x):
    """The grid is cut into four quarters, which are laid on each other."""
    x = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
    upper, lower = x.chunk(2, dim=1)
    parts = [*upper.chunk(2, dim=2), *lower.chunk(2, dim=2)]
    return torch.cat([parts[0], parts[2], parts[1], parts[3]], dim=-1)


@exercise.mistake("For an odd grid: at which sides are your zeros?")
def padded_at_the_front(x):
    """Zeros may be on any side."""
    x = F.pad(x, (0, 0, x.shape[2] % 2, 0, x.shape[1] % 2, 0))
    return torch.cat([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], dim=-1)


@exercise.alternative
def by_unfolding(x):
    """Unfolds squares, which come channel by channel and across first, and sorts them."""
    x = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
    B, rows, columns, D = x.shape
    cut = x.unfold(1, 2, 2).unfold(2, 2, 2)  # (B, rows / 2, columns / 2, D, down, across)
    return cut.permute(0, 1, 2, 5, 4, 3).reshape(B, rows // 2, columns // 2, 4 * D)


@exercise.alternative
def square_by_square(x):
    """Loops over the squares, with zeros where there is no token; prints to stderr."""
    import sys

    print("looping", file=sys.stderr)
    B, rows, columns, D = x.shape
    nothing = x.new_zeros(B, D)
    lines = []
    for r in range(0, rows, 2):
        line = []
        for c in range(0, columns, 2):
            four = [
                x[:, i, j] if i < rows and j < columns else nothing
                for j in (c, c + 1)
                for i in (r, r + 1)
            ]
            line.append(torch.cat(four, dim=1))
        lines.append(torch.stack(line, dim=1))
    return torch.stack(lines, dim=1)
