"""Every cheaper attention of the course as a layer over the same tokens, at any length.

All have the same width and heads, and a query that is not to see everything sees about 64 keys,
mixtures, features or slots. So what differs from layer to layer is how they save, and a ratio to
full attention over the same tokens means the same for each.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.efficient import (
    BlockSparseAttention,
    ConvolutionalAttention,
    CrossShapedAttention,
    LinformerAttention,
    LongformerAttention,
    PerformerAttention,
    ReducedAttention,
    fused_banded_attention,
    fused_block_diagonal_attention,
    fused_strided_attention,
    tiled_attention,
)
from course_lib.favit import FactorisedAttention
from course_lib.informer import InformerAttention, SparseRules
from course_lib.layers import EncoderBlock
from course_lib.multimodal import FactorisedBlock, QueryDecoderLayer
from course_lib.positions.heads import HeadProjections
from course_lib.swin import WindowAttention, window_partition, window_reverse

D_MODEL, N_HEADS = 128, 2
_RADIUS = 32
_KEYS = 64
_SIDE = 8
_BLOCK = 16

FULL = "full"
"""The variant that the others are compared with: full attention with torch's fused kernel."""

Made = tuple[nn.Module, tuple[Tensor, ...]]


@dataclass(frozen=True)
class Variant:
    """One way to attend, and how its cost should grow.

    Args:
        name: What it is called in a table, lower-case words with hyphens.
        build: ``build(length, generator)`` makes a module for so many tokens, in training mode.
        shape: ``shape(length)`` is the shape of the module's input but for its width.
        power: The power of T in the number of scores or features that are computed.
        against: The variant that it is compared with.
        causal: Whether a token sees only itself and those before, which full attention does not.

    Example:
        >>> module, inputs = VARIANTS["pvt"].make(256, torch.Generator().manual_seed(0))
        >>> inputs[0].shape, module(*inputs).shape
        (torch.Size([1, 16, 16, 128]), torch.Size([1, 16, 16, 128]))
    """

    name: str
    build: Callable[[int, Generator], nn.Module]
    shape: Callable[[int], tuple[int, ...]]
    power: float
    against: str = FULL
    causal: bool = False

    def make(self, length: int, generator: Generator) -> Made:
        """Make the layer and draw its tokens.

        Args:
            length: Number of tokens T, a power of 4 of at least 64, so that there is a square grid.
            generator: Of tokens, and of what the layer draws by lot.

        Returns:
            The module in evaluation mode and the arguments of one call.

        Raises:
            ValueError: If there is no grid of so many tokens.
        """
        if length < 64 or _side(length) ** 2 != length or _side(length) & (_side(length) - 1):
            raise ValueError(f"length is {length}, wanted a power of 4 of at least 64")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            module = self.build(length, generator).eval()
        tokens = torch.randn(*self.shape(length), D_MODEL, generator=generator)
        return module, (tokens,)


def _side(length: int) -> int:
    return math.isqrt(length)


def _line(length: int) -> tuple[int, ...]:
    return 1, length


def _grid(length: int) -> tuple[int, ...]:
    return 1, _side(length), _side(length)


class _ByHead(HeadProjections):
    """A function of queries, keys and values between the four projections."""

    def __init__(self, attend: Callable[..., Tensor], **fixed: Any) -> None:
        super().__init__(D_MODEL, N_HEADS)
        self.attend, self.fixed = attend, fixed

    def forward(self, x: Tensor) -> Tensor:
        return self.merge(self.attend(*self.project(x), **self.fixed))


class _OneGlobal(nn.Module):
    """Longformer with its first token for all to see."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = LongformerAttention(D_MODEL, N_HEADS, _RADIUS)

    def forward(self, x: Tensor) -> Tensor:
        return self.attend(x, torch.tensor([0]))


class _Windows(nn.Module):
    """Swin's attention on a grid, without the shift that every other layer has."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = WindowAttention(D_MODEL, N_HEADS, (_SIDE, _SIDE))

    def forward(self, x: Tensor) -> Tensor:
        windows = self.attend(window_partition(x, (_SIDE, _SIDE)))
        return window_reverse(windows, (_SIDE, _SIDE), *x.shape[1:3])


class _Slots(nn.Module):
    """The attention of a layer of DETR's decoder: slots among themselves, then to the tokens."""

    def __init__(self) -> None:
        super().__init__()
        layer = QueryDecoderLayer(D_MODEL, N_HEADS, D_MODEL)
        self.among, self.across = layer.slot_attention, layer.image_attention
        self.slots = nn.Parameter(torch.randn(1, _KEYS, D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return self.across(self.among(self.slots), x)


def _by_head(attend: Callable[..., Tensor], **fixed: Any) -> Callable[[int, Generator], nn.Module]:
    return lambda length, generator: _ByHead(attend, **fixed)


def _blocks(length: int, generator: Generator) -> nn.Module:
    return BlockSparseAttention(
        D_MODEL, N_HEADS, length=length, block_size=_BLOCK,
        n_random=min(3, max(length // _BLOCK - 5, 0)), generator=generator,
    )  # fmt: skip


def _explicit(length: int, generator: Generator) -> nn.Module:
    return MultiHeadAttention(D_MODEL, N_HEADS, fused=False)


def _performer(causal: bool) -> Callable[[int, Generator], nn.Module]:
    return lambda length, generator: PerformerAttention(
        D_MODEL, N_HEADS, _KEYS, causal=causal, generator=generator
    )


def _strided(n_summary: int | None) -> Callable[[int, Generator], nn.Module]:
    return lambda length, generator: _ByHead(
        fused_strided_attention, stride=_side(length), n_summary=n_summary
    )


VARIANTS: dict[str, Variant] = {
    variant.name: variant
    for variant in (
        Variant(FULL, lambda T, g: MultiHeadAttention(D_MODEL, N_HEADS), _line, 2),
        Variant("full-explicit", _explicit, _line, 2),
        Variant("tiled", _by_head(tiled_attention), _line, 2),
        Variant("window", _by_head(fused_banded_attention, radius=_RADIUS), _line, 1),
        Variant(
            "dilated-window",
            _by_head(fused_banded_attention, radius=_RADIUS // 2, dilation=2),
            _line,
            1,
        ),
        Variant("longformer", lambda T, g: _OneGlobal(), _line, 1),
        Variant("blocks", _by_head(fused_block_diagonal_attention, block_size=_KEYS), _line, 1),
        Variant("block-sparse", _blocks, _line, 1),
        Variant("strided", _strided(None), _line, 1.5, causal=True),
        Variant("fixed", _strided(1), _line, 1.5, causal=True),
        Variant("linformer", lambda T, g: LinformerAttention(D_MODEL, N_HEADS, T, _KEYS), _line, 1),
        Variant("performer", _performer(causal=False), _line, 1),
        Variant("causal-performer", _performer(causal=True), _line, 1, causal=True),
        Variant(
            "prob-sparse",
            # Its fast path computes all scores for the judgement, some rows at a time.
            lambda T, g: InformerAttention(D_MODEL, N_HEADS, rules=SparseRules()),
            _line,
            2,
        ),
        Variant("slots", lambda T, g: _Slots(), _line, 1),
        Variant("cvt", lambda T, g: ConvolutionalAttention(D_MODEL, N_HEADS, stride=2), _grid, 2),
        Variant("pvt", lambda T, g: ReducedAttention(D_MODEL, N_HEADS, reduction=4), _grid, 2),
        Variant("cswin", lambda T, g: CrossShapedAttention(D_MODEL, N_HEADS, stripe=2), _grid, 1.5),
        Variant("swin", lambda T, g: _Windows(), _grid, 1),
        Variant("favit", lambda T, g: FactorisedAttention(D_MODEL, N_HEADS, reduction=4), _grid, 2),
        Variant("joint-video", lambda T, g: EncoderBlock(D_MODEL, N_HEADS, 2 * D_MODEL), _line, 2),
        Variant(
            "factorised-video",
            lambda T, g: FactorisedBlock(D_MODEL, N_HEADS, 2 * D_MODEL),
            # As many frames as places.
            _grid,
            1.5,
            against="joint-video",
        ),
    )
}
"""All variants by name: of a line of tokens, of a square grid, of frames and places."""
