"""Words and images in one sequence, in any order: where each token stands and whom it may see."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from course_lib.attention import check_heads
from course_lib.layers import EncoderBlock
from course_lib.positions import MultimodalRotary, multimodal_positions

Segment: TypeAlias = int | tuple[int, int] | tuple[int, int, int]
"""A number of words, the rows and columns of an image, or frames, rows and columns of a video."""

Scheme = Literal["grid", "line"]


def token_count(segments: Sequence[Segment]) -> int:
    """Count the tokens of a sequence."""
    return sum(frames * rows * columns for _, frames, rows, columns in _shapes(segments))


def interleaved_positions(segments: Sequence[Segment], *, scheme: Scheme = "grid") -> Tensor:
    """Give each token a position in time, height and width: whole numbers ``(3, T)``.

    ``"grid"`` numbers patches by row and column, as
    :func:`course_lib.positions.multimodal_positions` does: an image of 4 x 4 patches moves the text
    on by 4. With ``"line"`` every token is one step further on all axes, as if an image were a
    text: it moves the text on by 16, and vertical neighbours are as far apart as it is wide.

    Source: Wang et al., Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any
    Resolution (2024), section 2.1.

    Example:
        >>> interleaved_positions([1, (2, 2), 1])
        tensor([[0, 1, 1, 1, 1, 3],
                [0, 1, 1, 2, 2, 3],
                [0, 1, 2, 1, 2, 3]])
    """
    if scheme not in get_args(Scheme):
        raise ValueError(f"scheme is {scheme!r}, wanted one of {get_args(Scheme)}")
    if scheme == "line":
        return torch.arange(token_count(segments)).expand(3, -1).clone()
    return multimodal_positions(
        [
            columns if is_text else (frames, rows, columns)
            for is_text, frames, rows, columns in _shapes(segments)
        ]
    )


def interleaved_mask(segments: Sequence[Segment], *, whole_images: bool = True) -> Tensor:
    """Let each token see what comes before it, and each patch its whole image: boolean ``(T, T)``.

    The patches of an image have no order in time: under a plain causal mask, which this is without
    ``whole_images``, the first patch would see nothing of it.

    Example:
        >>> interleaved_mask([1, (1, 2), 1]).int().tolist()
        [[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
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
    """Tell whether each is text, and its frames, rows and columns."""
    for segment in segments:
        shape = (segment,) if isinstance(segment, int) else tuple(segment)
        if not 1 <= len(shape) <= 3 or min(shape) < 1:
            raise ValueError(
                f"segment is {segment!r}, wanted a number of words, (rows, columns) or "
                "(frames, rows, columns), all at least 1"
            )
        frames, rows, columns = (1,) * (3 - len(shape)) + shape
        yield len(shape) == 1, frames, rows, columns


@dataclass(frozen=True)
class InterleavedConfig:
    """Configuration of a :class:`InterleavedDecoder`.

    Attributes:
        d_patch: Width of a patch as it comes in, such as ``C * P * P`` pixels.
        n_heads: Heads per block; each has an even number of channels, at least 6.
        scheme: ``"grid"`` or ``"line"``, as in :func:`interleaved_positions`.
        whole_images: Whether the patches of an image see each other.
    """

    n_words: int = 100
    d_patch: int = 48
    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    d_ff: int = 256
    dropout: float = 0.0
    scheme: Scheme = "grid"
    whole_images: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        check_heads(self.d_model, self.n_heads)
        d_head = self.d_model // self.n_heads
        if d_head < 6 or d_head % 2:
            raise ValueError(f"a head has {d_head} channels, wanted an even number of at least 6")

    @property
    def sections(self) -> tuple[int, int, int]:
        """Pairs of channels that turn by time, row and column: a third each, the rest by time."""
        pairs = self.d_model // self.n_heads // 2
        share = pairs // 3
        return pairs - 2 * share, share, share


class InterleavedDecoder(nn.Module):
    """A language model that reads words and images in any order and predicts the next word.

    Patches are mapped into the space of words; positions turn queries and keys on three axes.
    Patches are not predicted.

    Source: Wang et al., Qwen2-VL (2024), section 2.1, for the order and the positions; pre-norm
    blocks of this course in place of its own.
    """

    def __init__(
        self,
        config: InterleavedConfig,
        *,
        fused: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.n_words, config.d_model)
        self.patch_proj = nn.Linear(config.d_patch, config.d_model)
        self.rotary = MultimodalRotary(
            config.d_model // config.n_heads, config.sections, interleaved=True, fused=fused
        )
        self.blocks = nn.ModuleList(
            EncoderBlock(
                config.d_model, config.n_heads, config.d_ff, dropout=config.dropout, fused=fused
            )
            for _ in range(config.n_layers)
        )
        self.norm = nn.LayerNorm(config.d_model)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02, generator=generator)
                nn.init.zeros_(module.bias)
        nn.init.normal_(self.embedding.weight, std=0.02, generator=generator)

    def forward(self, words: Tensor, patches: Tensor, segments: Sequence[Segment]) -> Tensor:
        """Logits of the word after each word, ``(B, T, n_words)``.

        Args:
            words, patches: All of them in their order: numbers ``(B, T)``, and ``(B, N, d_patch)``.
            segments: How they follow each other, the same for all B.
        """
        word_places, patch_places = _places(segments)
        counts = (len(word_places), len(patch_places))
        if words.ndim != 2 or patches.ndim != 3 or (words.shape[1], patches.shape[1]) != counts:
            raise ValueError(
                f"words have shape {tuple(words.shape)} and patches {tuple(patches.shape)}, wanted "
                f"{counts[0]} words and {counts[1]} patches for the segments {segments}"
            )
        x = torch.cat([self.embedding(words), self.patch_proj(patches)], dim=1)
        # Words stand before patches here: what comes next is the inverse of where each goes.
        goes = [*word_places, *patch_places]
        x = x[:, sorted(range(len(goes)), key=goes.__getitem__)]
        config = self.config
        positions = interleaved_positions(segments, scheme=config.scheme).to(words.device)
        mask = interleaved_mask(segments, whole_images=config.whole_images).to(words.device)
        for block in self.blocks:
            x = block(x, mask=mask, rotate=self.rotary.at(positions))
        return self.norm(x[:, word_places]) @ self.embedding.weight.T


def _places(segments: Sequence[Segment]) -> tuple[list[int], list[int]]:
    """Where in the sequence the words stand, and where the patches."""
    places: tuple[list[int], list[int]] = ([], [])
    start = 0
    for is_text, frames, rows, columns in _shapes(segments):
        end = start + frames * rows * columns
        places[not is_text].extend(range(start, end))
        start = end
    return places
