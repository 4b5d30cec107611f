"""Attention itself: the function and its multi-head form."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention, fused_attention, scaled_dot_product_attention
from course_tests.parity.peers.contract import (
    HEADS,
    TOKENS,
    WITH_MEMORY,
    Mechanism,
    Reference,
    built,
    called,
)
from course_tests.parity.peers.copying import copy_weights, packed_qkv


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Give ``nn.MultiheadAttention``, which keeps three maps in one matrix, our weights."""
    weight, bias = packed_qkv(ours)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(weight)
        theirs.in_proj_bias.copy_(bias)
    copy_weights(theirs.out_proj, ours.out_proj)


def torch_multi_head(attend: MultiHeadAttention) -> nn.MultiheadAttention:
    """``nn.MultiheadAttention`` with the same weights."""
    peer = nn.MultiheadAttention(attend.d_model, attend.n_heads, batch_first=True)
    copy_attention(attend, peer)
    return peer.to(attend.q_proj.weight).eval()


def _torch_peer(attend: Any, inputs: tuple[Any, ...]) -> Reference:
    peer = torch_multi_head(attend)

    def call(q: Tensor, memory: Tensor | None = None) -> Tensor:
        memory = q if memory is None else memory
        return peer(q, memory, memory, need_weights=False)[0]

    return Reference(call, inputs)


MECHANISMS = (
    Mechanism(
        name="scaled_dot_product",
        source="Vaswani et al. (2017), equation 1",
        build=called(fused_attention, scaled_dot_product_attention),
        inputs=HEADS,
        tiny={"batch": 2, "n_heads": 3, "length": 5, "d_head": 4},
        small=dict(batch=4, n_heads=4, length=64, d_head=32),
        large=dict(batch=2, n_heads=8, length=1024, d_head=64),
        peer=lambda module, inputs: Reference(F.scaled_dot_product_attention, inputs),
        peer_name="torch.nn.functional.scaled_dot_product_attention",
    ),
    Mechanism(
        name="multi_head",
        source="Vaswani et al. (2017), section 3.2.2",
        build=built(MultiHeadAttention, "d_model", "n_heads"),
        inputs=TOKENS,
        tiny={"batch": 2, "length": 5, "d_model": 8, "n_heads": 2},
        small=dict(batch=4, length=64, d_model=128, n_heads=4),
        large=dict(batch=2, length=512, d_model=512, n_heads=8),
        peer=_torch_peer,
        peer_name="torch.nn.MultiheadAttention",
    ),
    Mechanism(
        name="cross_attention",
        source="Vaswani et al. (2017), section 3.2.3",
        build=built(MultiHeadAttention, "d_model", "n_heads"),
        inputs=WITH_MEMORY,
        tiny={"batch": 2, "length": 3, "memory": 5, "d_model": 8, "n_heads": 2},
        small=dict(batch=4, length=32, memory=64, d_model=128, n_heads=4),
        large=dict(batch=2, length=256, memory=512, d_model=512, n_heads=8),
        peer=_torch_peer,
        peer_name="torch.nn.MultiheadAttention",
    ),
)
