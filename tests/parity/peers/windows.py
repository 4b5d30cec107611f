"""Attention through windows."""

from typing import Any

import torch
from torch import Generator, Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.efficient.banded import banded_attention, fused_banded_attention
from course_lib.efficient.longformer import LongformerAttention
from course_lib.masks import dilated_window_mask
from course_tests.parity.peers.contract import HEADS, Mechanism, Reference, called
from course_tests.parity.peers.copying import copy_submodules


def _dense_window(module: Any, inputs: tuple[Any, ...]) -> Reference:
    mask = dilated_window_mask(inputs[0].shape[-2], **module.fixed)
    return Reference(lambda q, k, v: scaled_dot_product_attention(q, k, v, mask)[0], inputs)


def _local_attention(module: Any, inputs: tuple[Any, ...]) -> Reference:
    from local_attention import LocalAttention

    # Blocks as long as the radius see the block before and the one after, and of these only what
    # lies within the radius.
    peer = LocalAttention(
        module.fixed["radius"],
        look_backward=1,
        look_forward=1,
        exact_windowsize=True,
        use_rotary_pos_emb=False,
    )
    return Reference(peer.eval(), inputs)


def _longformer(
    *, fast: bool, d_model: int, n_heads: int, radius: int, **sizes: int
) -> LongformerAttention:
    attend = LongformerAttention(d_model, n_heads, radius, fused=fast)
    # Global attention starts as a copy of the local one, which would hide a mistaken one.
    for part in (attend.q_global, attend.k_global, attend.v_global):
        part.reset_parameters()
    return attend


def _tokens(
    generator: Generator, *, batch: int, length: int, d_model: int, n_global: int, **sizes: int
) -> tuple[Tensor, ...]:
    positions = torch.randperm(length, generator=generator)[:n_global]
    return torch.randn(batch, length, d_model, generator=generator), positions


def _transformers_longformer(attend: Any, inputs: tuple[Any, ...]) -> Reference:
    from transformers import LongformerConfig
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

    config = LongformerConfig(
        hidden_size=attend.d_model,
        num_attention_heads=attend.n_heads,
        num_hidden_layers=1,
        attention_window=[2 * attend.radius],
    )
    peer = LongformerSelfAttention(config, layer_id=0)
    copy_submodules(
        peer,
        attend,
        "query=q_proj key=k_proj value=v_proj"
        " query_global=q_global key_global=k_global value_global=v_global",
    )
    x, positions = inputs
    peer = peer.to(x).eval()
    is_global = torch.zeros(x.shape[:2], dtype=torch.bool, device=x.device)
    is_global[:, positions] = True
    options = {
        # 0 = local, positive = global, negative = padding
        "attention_mask": is_global * 10000.0,
        "is_index_masked": torch.zeros_like(is_global),
        "is_index_global_attn": is_global,
        "is_global_attn": True,
    }

    def call(x: Tensor, positions: Tensor) -> Tensor:
        # The library keeps the last projection in a module of its own.
        return attend.out_proj(peer(x, **options)[0])

    return Reference(call, inputs)


MECHANISMS = (
    Mechanism(
        name="sliding_window",
        source="Beltagy et al. (2020), section 3.1",
        build=called(fused_banded_attention, banded_attention, "radius=radius", dilation=1),
        inputs=HEADS,
        tiny={"batch": 2, "n_heads": 2, "length": 12, "d_head": 4, "radius": 3},
        small=dict(batch=1, n_heads=4, length=256, d_head=32, radius=32),
        large=dict(batch=1, n_heads=8, length=2048, d_head=64, radius=64),
        peer=_local_attention,
        peer_name="local_attention.LocalAttention",
        oracle=_dense_window,
    ),
    Mechanism(
        name="dilated_window",
        source="Beltagy et al. (2020), section 3.1",
        build=called(
            fused_banded_attention, banded_attention, "radius=radius", "dilation=dilation"
        ),
        inputs=HEADS,
        tiny={"batch": 2, "n_heads": 2, "length": 13, "d_head": 4, "radius": 2, "dilation": 3},
        small=dict(batch=1, n_heads=4, length=256, d_head=32, radius=16, dilation=2),
        large=dict(batch=1, n_heads=8, length=2048, d_head=64, radius=32, dilation=4),
        oracle=_dense_window,
    ),
    Mechanism(
        name="longformer",
        source="Beltagy et al. (2020), section 3.1",
        build=_longformer,
        inputs=_tokens,
        tiny={"batch": 2, "length": 16, "d_model": 8, "n_heads": 2, "radius": 2, "n_global": 2},
        small=dict(batch=1, length=256, d_model=128, n_heads=4, radius=32, n_global=2),
        large=dict(batch=1, length=2048, d_model=256, n_heads=4, radius=64, n_global=4),
        peer=_transformers_longformer,
        peer_name="transformers.models.longformer.modeling_longformer.LongformerSelfAttention",
        peer_double=False,
        note="transformers computes Longformer's softmax in float32, whatever the inputs are",
    ),
)
