"""Positions that are added to the scores."""

from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.positions import (
    Alibi,
    RelativeBias,
)
from course_tests.parity.peers.contract import TOKENS, Mechanism, Reference, built
from course_tests.parity.peers.copying import copy_submodules

_Inputs = tuple[Any, ...]


class _WithBias(nn.Module):
    """Attention with T5's bias, in one call."""

    def __init__(self, d_model: int, n_heads: int, *, fast: bool) -> None:
        super().__init__()
        self.attend = MultiHeadAttention(d_model, n_heads, bias=False, fused=fast)
        self.bias = RelativeBias(n_heads, fused=fast)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.attend(x, bias=self.bias(x.shape[1])[None])
        return out


def _t5(*, fast: bool, d_model: int, n_heads: int, **sizes: int) -> nn.Module:
    module = _WithBias(d_model, n_heads, fast=fast)
    nn.init.normal_(module.bias.table)
    return module


def _t5_peer(module: Any, inputs: _Inputs) -> Reference:
    from transformers.models.t5.configuration_t5 import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    ours = module.attend
    config = T5Config(d_model=ours.d_model, d_kv=ours.d_head, num_heads=ours.n_heads)
    config._attn_implementation = "sdpa"
    peer: Any = T5Attention(config, has_relative_attention_bias=True).to(ours.q_proj.weight)
    with torch.no_grad():
        # T5 leaves the scores as they are; the factor goes into the queries.
        peer.q.weight.copy_(ours.q_proj.weight * ours.d_head**-0.5)
        peer.relative_attention_bias.weight.copy_(module.bias.table)
    copy_submodules(peer.eval(), ours, "k=k_proj v=v_proj o=out_proj")
    return Reference(lambda x: peer(x)[0], inputs)


def _lengths(generator: Generator, *, length: int, **sizes: int) -> tuple[int, int]:
    return length, length


def _alibi_peer(module: Any, inputs: _Inputs) -> Reference:
    from x_transformers.x_transformers import AlibiPositionalBias

    return Reference(AlibiPositionalBias(module.n_heads).to(module.table), inputs)


MECHANISMS = (
    Mechanism(
        name="t5_bias",
        source="Raffel et al. (2020), section 2.1",
        build=_t5,
        inputs=TOKENS,
        tiny={"batch": 2, "length": 40, "d_model": 8, "n_heads": 2},
        small=dict(batch=2, length=64, d_model=128, n_heads=4),
        large=dict(batch=2, length=512, d_model=512, n_heads=8),
        peer=_t5_peer,
        peer_name="transformers.models.t5.modeling_t5.T5Attention",
    ),
    Mechanism(
        name="alibi",
        source="Press et al. (2022), section 3",
        build=built(Alibi, "n_heads", "max_len=length"),
        inputs=_lengths,
        tiny={"length": 9, "n_heads": 6},
        small=dict(length=64, n_heads=4),
        large=dict(length=1024, n_heads=8),
        peer=_alibi_peer,
        peer_name="x_transformers.x_transformers.AlibiPositionalBias",
        trains=False,
        note="a constant of the lengths has no gradient",
    ),
)
