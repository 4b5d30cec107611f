"""Words and images in one sequence, in any order: where each token stands and whom it may see."""

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

__all__ = ["Segment", "interleaved_mask", "interleaved_positions", "token_count"]

Segment: TypeAlias = int | tuple[int, int] | tuple[int, int, int]
"""A number of words, the rows and columns of an image, or frames, rows and columns of a video."""

Scheme = Literal["grid", "line"]


def token_count(segments: Sequence[Segment]) -> int:
    """Count the tokens of a sequence.

    Args:
        segments: Words as a number, images as (rows, columns), videos as (frames, rows, columns).

    Returns:
        Number of tokens T.

    Raises:
        ValueError: If a segment is none of these.

    Example:
        >>> token_count([3, (2, 2), 4])
        11
    """
    return sum(frames * rows * columns for _, frames, rows, columns in _shapes(segments))


def interleaved_positions(segments: Sequence[Segment], *, scheme: Scheme = "grid") -> Tensor:
    """Give each token a position in time, in height and in width.

    A word has the same number on all three axes, so among words alone this is an ordinary line. A
    patch counts rows and columns from where the text has come to, frames likewise; the text goes on
    after the largest number so far. An image of 4 x 4 patches thus moves the text on by 4, not by
    16. With ``scheme="line"`` every token is one step further on all axes, as if an image were a
    text: vertical neighbours are then as far apart as the image is wide.

    Source: Wang et al., Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any
    Resolution (2024), section 2.1, figure 3.

    Args:
        segments: Words as a number, images as (rows, columns), videos as (frames, rows, columns).
        scheme: ``"grid"`` or ``"line"``.

    Returns:
        Whole numbers ``(3, T)``: time, row, column.

    Raises:
        ValueError: If a segment or the scheme is unknown.

    Example:
        Two words, an image of 2 x 3 patches, a word.

        >>> interleaved_positions([2, (2, 3), 1])
        tensor([[0, 1, 2, 2, 2, 2, 2, 2, 5],
                [0, 1, 2, 2, 2, 3, 3, 3, 5],
                [0, 1, 2, 3, 4, 2, 3, 4, 5]])
    """
    if scheme not in get_args(Scheme):
        raise ValueError(f"scheme is {scheme!r}, wanted one of {get_args(Scheme)}")
    if scheme == "line":
        return torch.arange(token_count(segments)).expand(3, -1).clone()
    parts = [torch.empty(3, 0, dtype=torch.long)]
    start = 0
    for is_text, *shape in _shapes(segments):
        if is_text:
            grid = torch.arange(shape[-1]).expand(3, -1)
            extent = shape[-1]
        else:
            axes = [torch.arange(size) for size in shape]
            grid = torch.stack(torch.meshgrid(*axes, indexing="ij")).flatten(1)
            extent = max(shape)
        parts.append(start + grid)
        start += extent
    return torch.cat(parts, dim=1)


def interleaved_mask(segments: Sequence[Segment], *, whole_images: bool = True) -> Tensor:
    """Let each token see what comes before it, and each patch its whole image.

    The parts of a picture have no order in time: under a plain causal mask the first patch would
    see nothing of it.

    Args:
        segments: As in :func:`interleaved_positions`.
        whole_images: Whether the tokens of an image or video see each other; else the mask is
            simply causal.

    Returns:
        Boolean ``(T, T)``; ``True`` = may attend.

    Raises:
        ValueError: If a segment is unknown.

    Example:
        >>> interleaved_mask([1, (1, 2), 1]).int()
        tensor([[1, 0, 0, 0],
                [1, 1, 1, 0],
                [1, 1, 1, 0],
                [1, 1, 1, 1]], dtype=torch.int32)
    """
    numbers = []
    for number, (is_text, frames, rows, columns) in enumerate(_shapes(segments)):
        n_tokens = frames * rows * columns
        numbers.append(torch.full((n_tokens,), -1 if is_text else number))
    segment = torch.cat(numbers) if numbers else torch.empty(0, dtype=torch.long)
    mask = torch.ones(len(segment), len(segment), dtype=torch.bool).tril()
    if whole_images:
        mask |= (segment[:, None] == segment) & (segment >= 0)
    return mask


def _shapes(segments: Sequence[Segment]) -> Iterator[tuple[bool, int, int, int]]:
    """Whether each is text, and its frames, rows and columns."""
    for segment in segments:
        shape = (segment,) if isinstance(segment, int) else tuple(segment)
        if not 1 <= len(shape) <= 3 or min(shape) < 1:
            raise ValueError(
                f"segment is {segment!r}, wanted a number of words, (rows, columns) or "
                "(frames, rows, columns), all at least 1"
            )
        frames, rows, columns = (1,) * (3 - len(shape)) + shape
        yield len(shape) == 1, frames, rows, columns
