"""Object queries that look at a picture, beside DETR."""

from types import SimpleNamespace
from typing import Any

from torch import Tensor

from course_lib.multimodal import QueryDecoderLayer
from course_tests.parity.peers.contract import Mechanism, Reference, built, drawn
from course_tests.parity.peers.copying import copy_submodules
from course_tests.parity.peers.multimodal.shared import Inputs

_LAYER = """
    self_attn.q_proj=slot_attention.q_proj self_attn.k_proj=slot_attention.k_proj
    self_attn.v_proj=slot_attention.v_proj self_attn.o_proj=slot_attention.out_proj
    encoder_attn.q_proj=image_attention.q_proj encoder_attn.k_proj=image_attention.k_proj
    encoder_attn.v_proj=image_attention.v_proj encoder_attn.o_proj=image_attention.out_proj
    self_attn_layer_norm=slot_norm encoder_attn_layer_norm=image_norm
    mlp.fc1=feed_forward.in_proj mlp.fc2=feed_forward.out_proj final_layer_norm=feed_forward_norm
"""


def _detr(module: QueryDecoderLayer, inputs: Inputs) -> Reference:
    from transformers import DetrConfig
    from transformers.models.detr.modeling_detr import DetrDecoderLayer

    d_ff, d_model = module.feed_forward.in_proj.weight.shape
    config: Any = SimpleNamespace(
        d_model=d_model,
        decoder_attention_heads=module.slot_attention.n_heads,
        decoder_ffn_dim=d_ff,
        attention_dropout=0.0,
        activation_dropout=0.0,
        dropout=0.0,
        activation_function=DetrConfig().activation_function,
        # Set by the whole model, which is not built here; the faster of its two ways.
        _attn_implementation="sdpa",
    )
    peer: Any = DetrDecoderLayer(config)
    copy_submodules(peer, module, _LAYER)
    peer = peer.to(module.feed_forward.in_proj.weight).eval()

    def call(x: Tensor, memory: Tensor, slots: Tensor, places: Tensor) -> Tensor:
        return peer(
            x,
            encoder_hidden_states=memory,
            object_queries_position_embeddings=slots,
            spatial_position_embeddings=places,
        )

    return Reference(call, inputs)


MECHANISMS = (
    Mechanism(
        name="query_cross_attention",
        source="Carion et al. (2020), figure 10",
        build=built(QueryDecoderLayer, "d_model", "n_heads", "d_ff"),
        inputs=drawn(*["batch n_queries d_model", "batch memory d_model"] * 2),
        tiny={"batch": 2, "n_queries": 3, "memory": 5, "d_model": 8, "n_heads": 2, "d_ff": 16},
        small=dict(batch=2, n_queries=10, memory=64, d_model=64, n_heads=4, d_ff=128),
        large=dict(batch=2, n_queries=100, memory=800, d_model=256, n_heads=8, d_ff=1024),
        peer=_detr,
        peer_name="transformers.models.detr.modeling_detr.DetrDecoderLayer",
    ),
)
