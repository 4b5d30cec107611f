"""How the cost of each kind of attention should grow with the length, ready to be measured."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.efficient.banded import fused_banded_attention
from course_lib.efficient.block_sparse import fused_block_sparse_attention, random_blocks
from course_lib.efficient.linformer import linformer_attention
from course_lib.efficient.performer import orthogonal_features, performer_linear_attention
from course_lib.efficient.tiled import tiled_attention

_HEADS, _WIDTH = 2, 64
_RADIUS = 32
_BLOCK = 32
_RANDOM = 3
_RANK = 64
_FEATURES = 64
# Small, so that what grows with the length soon outweighs a tile.
_QUERY_TILE, _KEY_TILE = 64, 128


@dataclass(frozen=True)
class Scaling:
    """One kind of attention, and the power of T that its cost should follow.

    Args:
        name: What it is called in a table.
        make: ``make(length, generator)`` draws queries, keys, values and whatever else is needed,
            and returns a call without arguments that attends once, without gradients.
        time_exponent: The power of T in the number of operations.
        memory_exponent: The power of T in the numbers held at once beyond the inputs.

    Example:
        >>> SCALING["windowed"].time_exponent, SCALING["full"].time_exponent
        (1.0, 2.0)
        >>> SCALING["windowed"].make(256, torch.Generator().manual_seed(0))().shape
        torch.Size([1, 2, 256, 64])
    """

    name: str
    make: Callable[[int, Generator], Callable[[], Tensor]]
    time_exponent: float
    memory_exponent: float


def _heads(length: int, generator: Generator) -> tuple[Tensor, Tensor, Tensor]:
    shape = (1, _HEADS, length, _WIDTH)
    q, k, v = (torch.randn(shape, generator=generator) for _ in range(3))
    return q, k, v


def _full(length: int, generator: Generator) -> Callable[[], Tensor]:
    q, k, v = _heads(length, generator)
    return torch.no_grad()(lambda: scaled_dot_product_attention(q, k, v)[0])


def _windowed(length: int, generator: Generator) -> Callable[[], Tensor]:
    q, k, v = _heads(length, generator)
    return torch.no_grad()(lambda: fused_banded_attention(q, k, v, _RADIUS))


def _block(length: int, generator: Generator) -> Callable[[], Tensor]:
    q, k, v = _heads(length, generator)
    blocks = random_blocks(length // _BLOCK, _RANDOM, n_heads=_HEADS, generator=generator)
    return torch.no_grad()(lambda: fused_block_sparse_attention(q, k, v, blocks))


def _linformer(length: int, generator: Generator) -> Callable[[], Tensor]:
    q, k, v = _heads(length, generator)
    mixes = [torch.randn(_RANK, length, generator=generator) / length**0.5 for _ in range(2)]
    return torch.no_grad()(lambda: linformer_attention(q, k, v, *mixes)[0])


def _performer(length: int, generator: Generator) -> Callable[[], Tensor]:
    q, k, v = _heads(length, generator)
    directions = orthogonal_features(_FEATURES, _WIDTH, generator=generator)
    return torch.no_grad()(lambda: performer_linear_attention(q, k, v, directions))


def _tiled(length: int, generator: Generator) -> Callable[[], Tensor]:
    q, k, v = _heads(length, generator)
    return torch.no_grad()(
        lambda: tiled_attention(q, k, v, query_tile=_QUERY_TILE, key_tile=_KEY_TILE)
    )


SCALING: dict[str, Scaling] = {
    scaling.name: scaling
    for scaling in (
        Scaling("full", _full, 2.0, 2.0),
        Scaling("tiled", _tiled, 2.0, 1.0),
        Scaling("windowed", _windowed, 1.0, 1.0),
        Scaling("block", _block, 1.0, 1.0),
        Scaling("linformer", _linformer, 1.0, 1.0),
        Scaling("performer", _performer, 1.0, 1.0),
    )
}
