"""Rotary positions of texts, images and videos in one sequence: time, height and width."""

from collections.abc import Sequence

import torch
from torch import Tensor

from course_lib.attention import Rotate
from course_lib.positions.rotary import rotary_frequencies, rotate, rotate_by_table, rotation_table
from course_lib.positions.tables import ComputedTables, keep_in_step

_AXES = 3


def multimodal_positions(parts: Sequence[int | tuple[int, int, int]], *, start: int = 0) -> Tensor:
    """Time, height and width ``(3, T)`` of texts, images and videos in one sequence.

    A word has the same number thrice, one more than the largest before it. A patch has its frame,
    row and column, counted from there. An image of 4 x 4 patches thus takes 4 numbers, not 16.
    ``parts`` has numbers of words and the ``(frames, rows, columns)`` of videos, in their order; an
    image has one frame. The first token gets the number ``start``.

    Source: Wang et al., Qwen2-VL (2024), M-RoPE.

    >>> multimodal_positions([2, (1, 2, 3), 1])  # two words, an image of 2 x 3 patches, a word
    tensor([[0, 1, 2, 2, 2, 2, 2, 2, 5],
            [0, 1, 2, 2, 2, 3, 3, 3, 5],
            [0, 1, 2, 3, 4, 2, 3, 4, 5]])
    """
    columns = [torch.empty(_AXES, 0, dtype=torch.long)]
    for part in parts:
        sizes = (part,) if isinstance(part, int) else part
        if min(sizes) < 1 or len(sizes) not in (1, _AXES):
            raise ValueError(f"a part is {part}, wanted words or (frames, rows, columns), above 0")
        places = torch.cartesian_prod(*(torch.arange(n) for n in sizes))
        columns.append(start + places.view(-1, len(sizes)).T.expand(_AXES, -1))
        start += max(sizes)
    return torch.cat(columns, dim=1)


def next_position(positions: Tensor) -> int:
    """Number of the token that follows positions ``(3, T)``: one more than the largest on any axis.

    It is smaller than the number of tokens if there was an image, so a model that writes cannot
    take the length of its cache for it.
    """
    return int(positions.max()) + 1


def section_axes(sections: Sequence[int], *, interleaved: bool = False) -> Tensor:
    """Axis that each of P pairs of channels turns by, ``(P,)``: 0 time, 1 height, 2 width.

    In blocks, time gets the highest frequencies and width the lowest. Interleaved, all three get
    some of all, and time gets what is left at the end.

    Source: Qwen2-VL (2024) for blocks, Qwen3-VL (2025) for interleaving, and their code.

    >>> section_axes((3, 2, 2)).tolist(), section_axes((3, 2, 2), interleaved=True).tolist()
    ([0, 0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2, 0])
    """
    if len(sections) != _AXES or min(sections) < 0:
        raise ValueError(f"sections are {tuple(sections)}, wanted pairs of time, height and width")
    # A list, for on the meta device a tensor has no numbers.
    axes = [axis for axis in range(_AXES) for _ in range(sections[axis])]
    if not interleaved:
        return torch.tensor(axes, dtype=torch.long)
    places = {
        place: axis for axis in (1, 2) for place in range(axis, _AXES * sections[axis], _AXES)
    }
    axes = [places.get(place, 0) for place in range(len(axes))]
    if [axes.count(axis) for axis in range(_AXES)] != list(sections):
        raise ValueError(
            f"sections are {tuple(sections)}, wanted height and width to fit between pairs of time"
        )
    return torch.tensor(axes, dtype=torch.long)


class MultimodalRotary(ComputedTables):
    """Rotary positions with three numbers per token; for words it is rotary on a line.

    Channels are paired half split; ``sections`` has the Dh / 2 pairs of :func:`section_axes`.
    Unlike on a line, the positions are given with each call:
    ``attend(x, rotate=rotary.at(positions))``.
    """

    # An angle is a position times a frequency: what is rounded here grows with the position.
    least = torch.float64
    frequencies: Tensor
    axes: Tensor

    def __init__(
        self,
        d_head: int,
        sections: Sequence[int],
        *,
        base: float = 10_000.0,
        interleaved: bool = False,
        fused: bool = True,
    ) -> None:
        super().__init__()
        axes = section_axes(sections, interleaved=interleaved)
        if d_head != 2 * len(axes):
            raise ValueError(
                f"sections are {tuple(sections)}, wanted pairs of the {d_head} channels of a head"
            )
        self.d_head = d_head
        self.sections = tuple(sections)
        self.base = base
        self.interleaved = interleaved
        self.fused = fused
        self.register_buffer("axes", axes, persistent=False)
        self.keep_tables()

    def compute_tables(self) -> dict[str, Tensor]:
        """Frequencies of the pairs."""
        return {"frequencies": rotary_frequencies(self.d_head, base=self.base)}

    def angles(self, positions: Tensor) -> Tensor:
        """Radians ``(T, Dh / 2)`` of ``(3, T)``, or ``(B, 1, T, Dh / 2)`` of ``(3, B, T)``."""
        if positions.ndim not in (2, 3) or positions.shape[0] != _AXES:
            raise ValueError(
                f"positions have shape {tuple(positions.shape)}, wanted (3, T) or (3, B, T)"
            )
        angles = positions[self.axes].movedim(0, -1) * self.frequencies
        return angles if positions.ndim == 2 else angles[:, None]

    def forward(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Turn q and k ``(B, H, T, Dh)`` by positions ``(3, T)`` or ``(3, B, T)``."""
        for name, x in (("q", q), ("k", k)):
            if x.shape[-2:] != (positions.shape[-1], self.d_head):
                raise ValueError(
                    f"{name} has tokens and channels {tuple(x.shape[-2:])}, wanted "
                    f"{(positions.shape[-1], self.d_head)}"
                )
        angles = self.angles(positions)
        if not self.fused:
            return rotate(q, angles, "half_split"), rotate(k, angles, "half_split")
        dtype = torch.promote_types(q.dtype, torch.float32)
        table = rotation_table(angles, "half_split", dtype=dtype)
        return rotate_by_table(q, table, "half_split"), rotate_by_table(k, table, "half_split")

    def at(self, positions: Tensor) -> Rotate:
        """The ``rotate`` of ``MultiHeadAttention`` for new tokens at positions ``(3, T)``."""
        return lambda q, k, offset: self(q, k, positions)


keep_in_step(
    MultimodalRotary,
    lambda rotary: {"axes": section_axes(rotary.sections, interleaved=rotary.interleaved)},
)


def qwen2_vl_rotary(*, fused: bool = True) -> MultimodalRotary:
    """The positions of Qwen2-VL: 16, 24 and 24 of 64 pairs, in blocks."""
    return MultimodalRotary(128, (16, 24, 24), base=1_000_000.0, fused=fused)


def qwen3_vl_rotary(*, fused: bool = True) -> MultimodalRotary:
    """The positions of Qwen3-VL: 24, 20 and 20 of 64 pairs, interleaved."""
    return MultimodalRotary(128, (24, 20, 20), base=5_000_000.0, interleaved=True, fused=fused)
