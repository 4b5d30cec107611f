"""Mechanisms as layers over the same tokens, at any length, and the powers of their costs.

All have the same width and heads, and a query that is not to see everything sees about 64 keys,
mixtures or features. So what differs from layer to layer is how they save, and a ratio to
full attention over the same tokens means the same for each.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.efficient.block_sparse import fused_block_sparse_attention, random_blocks
from course_lib.efficient.linformer import linformer_attention
from course_lib.efficient.performer import PerformerAttention
from course_lib.favit import FactorisedAttention
from course_lib.informer import InformerAttention, SparseRules
from course_lib.positions.heads import HeadProjections
from course_lib.swin import WindowAttention, window_partition, window_reverse
from course_tests.parity.peers import Lambda, Mechanism, mechanisms
from course_tests.parity.peers.contract import HEADS, TOKENS, built, drawn

D_MODEL, N_HEADS = 128, 2
_KEYS, _SIDE = 64, 8
_GRID = drawn("batch rows columns d_model")

FULL = "full"
"""What the others are compared with: full attention with torch's fused kernel."""


class _ByHead(HeadProjections):
    """A function of queries, keys and values between the four projections."""

    def __init__(self, attend: nn.Module) -> None:
        super().__init__(D_MODEL, N_HEADS)
        self.attend = attend

    def forward(self, x: Tensor) -> Tensor:
        return self.merge(self.attend(*self.project(x)))


class _Windows(nn.Module):
    """Swin's attention on a grid, without the shift that every other layer has."""

    def __init__(self, *, fast: bool, **sizes: int) -> None:
        super().__init__()
        self.attend = WindowAttention(D_MODEL, N_HEADS, (_SIDE, _SIDE), fused=fast)

    def forward(self, x: Tensor) -> Tensor:
        windows = self.attend(window_partition(x, (_SIDE, _SIDE)))
        return window_reverse(windows, (_SIDE, _SIDE), *x.shape[1:3])


def _at(more: dict[str, Any]) -> Callable[[int], dict[str, int]]:
    def at(length: int) -> dict[str, int]:
        side = math.isqrt(length)
        if length < 64 or side**2 != length or side & (side - 1):
            raise ValueError(f"length is {length}, wanted a power of 4 of at least 64")
        sizes = dict(batch=1, length=length, rows=side, columns=side, d_model=D_MODEL)
        sizes |= dict(n_heads=N_HEADS, d_head=D_MODEL // N_HEADS)
        return sizes | {name: n(length) if callable(n) else n for name, n in more.items()}

    return at


def _variant(
    name: str, power: float, base: str, changes: dict[str, Any] | None = None, **sizes: Any
) -> Mechanism:
    """A mechanism as a layer over tokens; sizes are numbers or functions of the length."""
    made = replace(mechanisms()[base], name=name, power=power, against=FULL, at=_at(sizes))
    made = replace(made, **(changes or {}))
    if made.inputs is HEADS:
        build = made.build
        made = replace(made, inputs=TOKENS, build=lambda **sizes: _ByHead(build(**sizes)))
    return made


# The peer's constant in the sums, which the mechanism has, lets what comes be felt.
_CAUSAL = built(PerformerAttention, "d_model", "n_heads", "n_features", causal=True)
_PROB = built(InformerAttention, "d_model", "n_heads", rules=SparseRules())
_FAVIT = built(FactorisedAttention, "d_model", "n_heads", reduction=4)
VARIANTS: dict[str, Mechanism] = {
    variant.name: variant
    for variant in (
        _variant(FULL, 2, "multi_head"),
        _variant("full-explicit", 2, "multi_head", {"fast": False}),
        _variant("window", 1, "sliding_window", radius=32),
        _variant("dilated-window", 1, "dilated_window", radius=16, dilation=2),
        _variant("longformer", 1, "longformer", radius=32, n_global=1),
        _variant(
            "block-sparse", 1, "block_sparse", block=16,
            n_random=lambda length: min(3, max(length // 16 - 5, 0)),
        ),
        _variant("linformer", 1, "linformer", rank=_KEYS),
        _variant("performer", 1, "performer", n_features=_KEYS),
        _variant(
            "causal-performer", 1, "causal_performer",
            {"build": _CAUSAL, "inputs": TOKENS, "causal": True}, n_features=_KEYS,
        ),
        # Its fast path computes all scores for the judgement, some rows at a time.
        _variant("prob-sparse", 2, "prob_sparse", {"build": _PROB}),
        _variant("swin", 1, "window_attention", {"build": _Windows, "inputs": _GRID}),
        _variant("favit", 2, "favit", {"build": _FAVIT, "inputs": _GRID}),
    )
}  # fmt: skip
"""All variants by name: of a line of tokens, or of a square grid."""


def _blocks(*, fast: bool, length: int, n_heads: int, **sizes: int) -> Lambda:
    generator = Generator().manual_seed(length)
    blocks = random_blocks(length // 32, 3, n_heads=n_heads, generator=generator)
    return Lambda(fused_block_sparse_attention, blocks=blocks)


def _linformer(*, fast: bool, length: int, **sizes: int) -> Lambda:
    generator = Generator().manual_seed(length)
    mixes = [torch.randn(_KEYS, length, generator=generator) / length**0.5 for _ in range(2)]
    return Lambda(lambda *qkv: linformer_attention(*qkv, *mixes)[0])


def _scaling(
    name: str, power: float, memory_power: float, base: str, *, fast: bool = True, **changes: Any
) -> Mechanism:
    sizes = dict(batch=1, n_heads=N_HEADS, d_head=64, radius=32, n_features=64)
    made = replace(mechanisms()[base], name=name, power=power, memory_power=memory_power, fast=fast)
    return replace(made, at=lambda length: sizes | {"length": length}, **changes)


SCALING: dict[str, Mechanism] = {
    scaling.name: scaling
    for scaling in (
        _scaling("full", 2, 2, "scaled_dot_product", fast=False),
        _scaling("windowed", 1, 1, "sliding_window"),
        _scaling("block", 1, 1, "block_sparse", build=_blocks, inputs=HEADS),
        _scaling("linformer", 1, 1, "linformer", build=_linformer, inputs=HEADS),
        _scaling("performer", 1, 1, "performer"),
    )
}
"""Bare functions of queries, keys and values, whose powers are measured."""
