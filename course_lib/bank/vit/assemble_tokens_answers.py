from course_lib.bank.prelude import F, Tensor, torch
from course_lib.bank.vit.assemble_tokens import colleagues_assemble_tokens, exercise


@exercise.answer
def reference(patches: Tensor, positions: Tensor, cls_token: Tensor | None = None) -> Tensor:
    """What enters the first block."""
    x = patches
    if cls_token is not None:
        x = torch.cat([cls_token.expand(len(x), 1, -1), x], dim=1)
    if positions.shape != x.shape[1:]:
        raise ValueError(
            f"positions have shape {tuple(positions.shape)}, expected {tuple(x.shape[1:])}"
        )
    return x + positions


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake(
    "Several things are wrong. Begin with the first symptom above: where is the class token?"
)(colleagues_assemble_tokens)


@exercise.mistake("Which row of the table does the class token get, and which one patch 0?")
def no_row_for_the_class(patches, positions, cls_token=None):
    """The class token has no place, so it needs no position and takes no row."""
    n = patches.shape[1]
    if len(positions) != n + (cls_token is not None):
        raise ValueError("wrong number of rows")
    x = patches + positions[:n]
    if cls_token is not None:
        x = torch.cat([cls_token.expand(len(x), 1, -1), x], dim=1)
    return x


@exercise.mistake("Your patches have the right rows. What has become of row 0?")
def row_0_unused(patches, positions, cls_token=None):
    """Positions are for patches, so the first row is skipped."""
    n = patches.shape[1]
    if len(positions) != n + (cls_token is not None):
        raise ValueError("wrong number of rows")
    x = patches + positions[-n:]
    if cls_token is not None:
        x = torch.cat([cls_token.expand(len(x), 1, -1), x], dim=1)
    return x


@exercise.mistake("The classifier will read token 0. Which one is that?")
def class_last(patches, positions, cls_token=None):
    """A summary comes at the end of what it sums up."""
    x = patches
    if cls_token is not None:
        x = torch.cat([x, cls_token.expand(len(x), 1, -1)], dim=1)
    if len(positions) != x.shape[1]:
        raise ValueError("wrong number of rows")
    return x + positions


@exercise.mistake("Your tokens are in order. Does each get the row of its number?")
def last_row_for_the_class(patches, positions, cls_token=None):
    """What is added to the sequence last has the last row of the table."""
    n = patches.shape[1]
    if len(positions) != n + (cls_token is not None):
        raise ValueError("wrong number of rows")
    x = patches + positions[:n]
    if cls_token is not None:
        first = (cls_token + positions[n]).expand(len(x), 1, -1)
        x = torch.cat([first, x], dim=1)
    return x


@exercise.mistake("Give it the table of a larger image. What should happen, and what does?")
def silently_cut(patches, positions, cls_token=None):
    """A table that is too long can be cut to the length of the sequence."""
    x = patches
    if cls_token is not None:
        x = torch.cat([cls_token.expand(len(x), 1, -1), x], dim=1)
    return x + positions[: x.shape[1]]


@exercise.mistake("Adding a single row to all tokens works without an error. Does it say where?")
def broadcast_will_tell(patches, positions, cls_token=None):
    """Shapes that don't fit together raise an error by themselves."""
    x = patches
    if cls_token is not None:
        x = torch.cat([cls_token.expand(len(x), 1, -1), x], dim=1)
    try:
        return x + positions
    except RuntimeError as error:
        raise ValueError(str(error)) from error


@exercise.mistake("Is the first token the same in both images of a batch?")
def class_in_the_first_picture(patches, positions, cls_token=None):
    """The class token is one vector, so it goes into one image."""
    x = patches
    if cls_token is not None:
        first = torch.zeros_like(x[:, :1])
        first[0, 0] = cls_token
        x = torch.cat([first, x], dim=1)
    if len(positions) != x.shape[1]:
        raise ValueError("wrong number of rows")
    return x + positions


@exercise.alternative
def token_by_token(patches, positions, cls_token=None):
    """Makes each token by itself and stacks them; prints to stderr."""
    import sys

    print("stacking", file=sys.stderr)
    tokens = list(patches.unbind(1))
    if cls_token is not None:
        tokens.insert(0, cls_token + torch.zeros_like(tokens[0]))
    if len(tokens) != len(positions):
        raise ValueError(f"{len(tokens)} tokens, {len(positions)} positions")
    return torch.stack([x + row for x, row in zip(tokens, positions, strict=True)], dim=1)


@exercise.alternative
def written_into(patches, positions, cls_token=None):
    """Begins with the positions of every image and adds what is there."""
    B, N, D = patches.shape
    front = 0 if cls_token is None else 1
    if positions.shape[0] != N + front:
        raise ValueError("a row for every token, please")
    x = positions.repeat(B, 1, 1)
    x[:, front:] += patches
    if front:
        x[:, 0] += cls_token
    return x


@exercise.alternative
def padded(patches, positions, cls_token=None):
    """Pads the patches with an empty token in front, and adds a table that holds the class."""
    table = positions
    if cls_token is not None:
        patches = F.pad(patches, (0, 0, 1, 0))
        table = torch.cat([positions[:1] + cls_token, positions[1:]])
    if table.shape != patches.shape[1:]:
        raise ValueError("table and tokens differ in number")
    return torch.add(patches, table)
