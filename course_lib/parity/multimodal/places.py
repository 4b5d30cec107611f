"""Videos, object queries and pages, beside TimeSformer, DETR and LayoutLM."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.multimodal import (
    FactorisedBlock,
    LayoutEmbedding,
    QueryDecoderLayer,
    factorised_mask,
)
from course_lib.parity.contract import Mechanism, Reference, built, drawn
from course_lib.parity.multimodal.shared import Inputs, copy_weights

# --------------------------------------------------------------------------- video


_VIDEO = "batch frames rows*columns d_model"


def _timesformer(module: FactorisedBlock, inputs: Inputs) -> Reference:
    from transformers import TimesformerConfig
    from transformers.models.timesformer.modeling_timesformer import TimesformerLayer

    video, summary = inputs
    _, frames, places, d_model = video.shape
    side = int(places**0.5)
    peer: Any = TimesformerLayer(
        TimesformerConfig(
            image_size=side,
            patch_size=1,
            num_frames=frames,
            hidden_size=d_model,
            num_attention_heads=module.time_attention.n_heads,
            intermediate_size=4 * d_model,
            layer_norm_eps=module.time_norm.eps,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            num_hidden_layers=1,
        ),
        layer_index=0,
    )
    for attend, other in (
        (module.time_attention, peer.temporal_attention),
        (module.space_attention, peer.attention),
    ):
        maps = (attend.q_proj, attend.k_proj, attend.v_proj)
        with torch.no_grad():
            other.attention.qkv.weight.copy_(torch.cat([part.weight for part in maps]))
            other.attention.qkv.bias.copy_(torch.cat([part.bias for part in maps]))
        copy_weights(other.output.dense, attend.out_proj)
    copy_weights(peer.temporal_layernorm, module.time_norm)
    copy_weights(peer.temporal_dense, module.time_proj)
    copy_weights(peer.layernorm_before, module.space_norm)
    copy_weights(peer.layernorm_after, module.feed_forward_norm)
    copy_weights(peer.intermediate.dense, module.feed_forward.in_proj)
    copy_weights(peer.output.dense, module.feed_forward.out_proj)
    peer = peer.to(module.time_proj.weight).eval()
    # Its tokens come summary first, then place by place with the frames of each together.
    tokens = torch.cat([summary[:, None], video.transpose(1, 2).flatten(1, 2)], dim=1)

    def call(tokens: Tensor) -> tuple[Tensor, Tensor]:
        out = peer(tokens)[0]
        return out[:, 1:].unflatten(1, (places, frames)).transpose(1, 2), out[:, 0]

    return Reference(call, (tokens,))


def _dense_video(module: FactorisedBlock, inputs: Inputs) -> Reference:
    """Dense attention over all tokens of a video under two masks."""
    (video,) = inputs
    time, space = factorised_mask(*video.shape[1:3], causal=module.causal)

    def call(video: Tensor) -> Tensor:
        x = video.flatten(1, 2)
        found = module.time_attention(module.time_norm(x), mask=time, return_weights=True)[0]
        x = x + module.time_proj(found)
        x = x + module.space_attention(module.space_norm(x), mask=space, return_weights=True)[0]
        return (x + module.feed_forward(module.feed_forward_norm(x))).view_as(video)

    return Reference(call, inputs)


# --------------------------------------------------------------------------- queries


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
    for attend, other in (
        (module.slot_attention, peer.self_attn),
        (module.image_attention, peer.encoder_attn),
    ):
        for name in ("q_proj", "k_proj", "v_proj"):
            copy_weights(getattr(other, name), getattr(attend, name))
        copy_weights(other.o_proj, attend.out_proj)
    copy_weights(peer.self_attn_layer_norm, module.slot_norm)
    copy_weights(peer.encoder_attn_layer_norm, module.image_norm)
    copy_weights(peer.mlp.fc1, module.feed_forward.in_proj)
    copy_weights(peer.mlp.fc2, module.feed_forward.out_proj)
    copy_weights(peer.final_layer_norm, module.feed_forward_norm)
    peer = peer.to(module.feed_forward.in_proj.weight).eval()

    def call(x: Tensor, memory: Tensor, slots: Tensor, places: Tensor) -> Tensor:
        return peer(
            x,
            encoder_hidden_states=memory,
            object_queries_position_embeddings=slots,
            spatial_position_embeddings=places,
        )

    return Reference(call, inputs)


# --------------------------------------------------------------------------- pages


def _layout(*, fast: bool, length: int, d_model: int, n_words: int, **sizes: int) -> nn.Module:
    return LayoutEmbedding(n_words, length, d_model)


def _page(generator: Generator, *, batch: int, length: int, n_words: int, **sizes: int) -> Inputs:
    tokens = torch.randint(n_words, (batch, length), generator=generator)
    corners = torch.randint(1001, (2, batch, length, 2), generator=generator).sort(dim=0).values
    return tokens, corners.permute(1, 2, 0, 3).flatten(2)


def _layoutlm(module: LayoutEmbedding, inputs: Inputs) -> Reference:
    from transformers import LayoutLMConfig
    from transformers.models.layoutlm.modeling_layoutlm import LayoutLMEmbeddings

    n_words, d_model = module.words.weight.shape
    peer: Any = LayoutLMEmbeddings(
        LayoutLMConfig(
            vocab_size=n_words,
            hidden_size=d_model,
            max_position_embeddings=len(module.positions),
            max_2d_position_embeddings=len(module.x.weight),
            layer_norm_eps=module.norm.eps,
            type_vocab_size=1,
        )
    )
    with torch.no_grad():
        peer.position_embeddings.weight.copy_(module.positions)
        # Kinds of text are no part of the layout.
        peer.token_type_embeddings.weight.zero_()
        peer.word_embeddings.weight.copy_(module.words.weight)
        for name in ("x", "y", "h", "w"):
            ours = {"h": "height", "w": "width"}.get(name, name)
            table = getattr(peer, f"{name}_position_embeddings").weight
            table.copy_(getattr(module, ours).weight)
    copy_weights(peer.LayerNorm, module.norm)
    tokens, boxes = inputs
    return Reference(peer.to(module.positions).eval(), (tokens, boxes, torch.zeros_like(tokens)))


MECHANISMS = (
    Mechanism(
        name="factorised_video",
        source="Bertasius et al. (2021), section 3",
        build=built(FactorisedBlock, "d_model", "n_heads", "4*d_model"),
        inputs=drawn(_VIDEO, "batch d_model"),
        tiny={"batch": 2, "frames": 3, "rows": 2, "columns": 2, "d_model": 8, "n_heads": 2},
        peer=_timesformer,
    ),
    Mechanism(
        name="causal_video",
        source="Bertasius et al. (2021), section 3, under a causal mask over frames",
        build=built(FactorisedBlock, "d_model", "n_heads", "4*d_model", causal=True),
        inputs=drawn(_VIDEO),
        tiny={"batch": 2, "frames": 3, "rows": 2, "columns": 3, "d_model": 8, "n_heads": 2},
        oracle=_dense_video,
    ),
    Mechanism(
        name="query_cross_attention",
        source="Carion et al. (2020), figure 10",
        build=built(QueryDecoderLayer, "d_model", "n_heads", "d_ff"),
        inputs=drawn(*["batch n_queries d_model", "batch memory d_model"] * 2),
        tiny={"batch": 2, "n_queries": 3, "memory": 5, "d_model": 8, "n_heads": 2, "d_ff": 16},
        peer=_detr,
    ),
    Mechanism(
        name="layout_embedding",
        source="Xu et al. (2020), section 2.2",
        build=_layout,
        inputs=_page,
        tiny={"batch": 2, "length": 5, "d_model": 8, "n_words": 20},
        peer=_layoutlm,
        fast=False,
    ),
)
