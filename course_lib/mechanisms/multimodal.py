"""Two modalities: towers, fusions, video, queries, pages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.attention import merge_heads, scaled_dot_product_attention
from course_lib.mechanisms.contract import Mechanism, Rival
from course_lib.multimodal import (
    BertText,
    BertTextConfig,
    ConcatenationBlock,
    DualEncoder,
    DualEncoderConfig,
    FactorisedBlock,
    GatedCrossAttention,
    LayoutEmbedding,
    QueryDecoderLayer,
    UnifiedConfig,
    UnifiedEncoder,
    factorised_mask,
)

__all__ = ["MECHANISMS"]

Inputs = tuple[Any, ...]


def _copy(target: Any, source: Any) -> None:
    target.load_state_dict(source.state_dict())


def _texts(
    generator: Generator, batch: int, length: int, n_words: int, *, first: int, end: int, pad: int
) -> Tensor:
    """Texts of 3 to ``length`` words that end and are filled up."""
    tokens = torch.randint(first, n_words, (batch, length), generator=generator)
    lengths = torch.randint(3, length + 1, (batch,), generator=generator)
    tokens[torch.arange(batch), lengths - 1] = end
    return tokens.masked_fill(torch.arange(length) >= lengths[:, None], pad)


# --------------------------------------------------------------------------- dual encoder

_N_CLIP_WORDS = 100


def _dual_encoder(
    *,
    fast: bool,
    image_size: int,
    patch_size: int,
    length: int,
    d_model: int,
    n_heads: int,
    n_layers: int,
    **sizes: int,
) -> nn.Module:
    tower = {"d_model": d_model, "n_layers": n_layers, "n_heads": n_heads, "d_ff": 4 * d_model}
    towers = {f"{side}_{k}": v for side in ("image", "text") for k, v in tower.items()}
    config = DualEncoderConfig(
        image_size=image_size,
        patch_size=patch_size,
        n_words=_N_CLIP_WORDS,
        max_len=length,
        end=_N_CLIP_WORDS - 1,
        d_embedding=d_model // 2,
        **towers,
    )
    return DualEncoder(config, fused=fast)


def _pictures_and_texts(
    generator: Generator, *, batch: int, image_size: int, length: int, **sizes: int
) -> Inputs:
    images = torch.randn(batch, 3, image_size, image_size, generator=generator)
    end = _N_CLIP_WORDS - 1
    return images, _texts(generator, batch, length, end, first=1, end=end, pad=0)


def _clip(model: DualEncoder, inputs: Inputs) -> Rival:
    from transformers import CLIPConfig, CLIPModel

    config = model.config
    shared = {"hidden_act": "gelu", "projection_dim": config.d_embedding}
    sides = {
        side: {
            "hidden_size": getattr(config, f"{side}_d_model"),
            "intermediate_size": getattr(config, f"{side}_d_ff"),
            "num_hidden_layers": getattr(config, f"{side}_n_layers"),
            "num_attention_heads": getattr(config, f"{side}_n_heads"),
            **shared,
        }
        for side in ("image", "text")
    }
    text = {
        "vocab_size": config.n_words,
        "max_position_embeddings": config.max_len,
        "eos_token_id": config.end,
        "bos_token_id": 0,
        "pad_token_id": 0,
    }
    image = {"image_size": config.image_size, "patch_size": config.patch_size}
    peer: Any = CLIPModel(
        CLIPConfig(
            text_config=sides["text"] | text,
            vision_config=sides["image"] | image,
            projection_dim=config.d_embedding,
        )
    )
    seen, read = model.image_tower, model.text_tower
    vision, words = peer.vision_model, peer.text_model
    with torch.no_grad():
        kernel = vision.embeddings.patch_embedding.weight
        kernel.copy_(seen.patch_proj.weight.view_as(kernel))
        vision.embeddings.class_embedding.copy_(seen.cls_token)
        vision.embeddings.position_embedding.weight.copy_(seen.positions)
        words.embeddings.token_embedding.weight.copy_(read.embedding.weight)
        words.embeddings.position_embedding.weight.copy_(read.positions)
        peer.logit_scale.copy_(model.temperature.log_factor)
    _copy(vision.pre_layrnorm, seen.in_norm)
    _copy(vision.post_layernorm, seen.out_norm)
    _copy(words.final_layer_norm, read.out_norm)
    _copy(peer.visual_projection, model.image_proj)
    _copy(peer.text_projection, model.text_proj)
    for tower, other in ((seen, vision), (read, words)):
        blocks: Any = tower.blocks
        for block, layer in zip(blocks, other.encoder.layers, strict=True):
            _copy(layer.self_attn, block.attention)
            _copy(layer.layer_norm1, block.attention_norm)
            _copy(layer.layer_norm2, block.feed_forward_norm)
            _copy(layer.mlp.fc1, block.feed_forward.in_proj)
            _copy(layer.mlp.fc2, block.feed_forward.out_proj)
    peer = peer.to(model.image_proj.weight).eval()

    def call(images: Tensor, tokens: Tensor) -> Tensor:
        return peer(pixel_values=images, input_ids=tokens).logits_per_image

    return Rival(call, inputs)


# --------------------------------------------------------------------------- BERT


def _bert_text(
    *,
    fast: bool,
    length: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
    n_layers: int,
    n_words: int,
    **sizes: int,
) -> nn.Module:
    config = BertTextConfig(
        n_words=n_words,
        max_len=length,
        d_model=d_model,
        n_layers=n_layers,
        n_heads=n_heads,
        d_ff=d_ff,
    )
    return BertText(config, fused=fast)


def _two_segments(
    generator: Generator, *, batch: int, length: int, n_words: int, **sizes: int
) -> Inputs:
    tokens = _texts(generator, batch, length, n_words, first=2, end=1, pad=0)
    return tokens, (torch.arange(length) >= length // 2).long().expand(batch, -1).clone()


def _bert(model: BertText, inputs: Inputs) -> Rival:
    from transformers import BertConfig, BertModel

    config = model.config
    peer: Any = BertModel(
        BertConfig(
            vocab_size=config.n_words,
            hidden_size=config.d_model,
            num_hidden_layers=config.n_layers,
            num_attention_heads=config.n_heads,
            intermediate_size=config.d_ff,
            max_position_embeddings=config.max_len,
            type_vocab_size=config.n_segments,
            layer_norm_eps=config.eps,
            pad_token_id=config.pad,
        )
    )
    tables = peer.embeddings
    with torch.no_grad():
        tables.word_embeddings.weight.copy_(model.embedding.weight)
        tables.position_embeddings.weight.copy_(model.positions)
        tables.token_type_embeddings.weight.copy_(model.segments.weight)
    _copy(tables.LayerNorm, model.in_norm)
    _copy(peer.pooler.dense, model.summary_proj)
    blocks: Any = model.blocks
    for ours, layer in zip(blocks, peer.encoder.layer, strict=True):
        attend = layer.attention
        for name, part in (("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj")):
            _copy(getattr(attend.self, name), getattr(ours.attention, part))
        _copy(attend.output.dense, ours.attention.out_proj)
        _copy(attend.output.LayerNorm, ours.attention_norm)
        _copy(layer.intermediate.dense, ours.feed_forward.in_proj)
        _copy(layer.output.dense, ours.feed_forward.out_proj)
        _copy(layer.output.LayerNorm, ours.feed_forward_norm)
    peer = peer.to(model.summary_proj.weight).eval()

    def call(tokens: Tensor, keep: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
        out = peer(input_ids=tokens, attention_mask=keep, token_type_ids=segments)
        return out.last_hidden_state, out.pooler_output

    tokens, segments = inputs
    return Rival(call, (tokens, tokens != config.pad, segments))


# --------------------------------------------------------------------------- fusion


def _two_sequences(
    generator: Generator, *, batch: int, length: int, memory: int, d_model: int, **sizes: int
) -> Inputs:
    return tuple(torch.randn(batch, n, d_model, generator=generator) for n in (length, memory))


def _gated(*, fast: bool, d_model: int, n_heads: int, **sizes: int) -> nn.Module:
    # At gate 0 the layer is the identity and would hide every mistake.
    return GatedCrossAttention(d_model, n_heads, 4 * d_model, gate=0.5, fused=fast)


def _gated_by_hand(module: GatedCrossAttention, inputs: Inputs) -> Rival:
    """One query and one head at a time, from the weights alone."""
    attend, feed = module.attention, module.feed_forward
    d_head = attend.q_proj.weight.shape[0] // attend.n_heads

    def call(x: Tensor, memory: Tensor) -> Tensor:
        rows = []
        for text, image in zip(x, memory, strict=True):
            for word in text:
                asked = attend.q_proj.weight @ module.attention_norm(word)
                found = []
                for head in range(attend.n_heads):
                    part = slice(head * d_head, (head + 1) * d_head)
                    keys = image @ attend.k_proj.weight[part].T
                    values = image @ attend.v_proj.weight[part].T
                    odds = torch.exp(keys @ asked[part] / d_head**0.5)
                    found.append((odds / odds.sum()) @ values)
                seen = attend.out_proj.weight @ torch.cat(found)
                word = word + torch.tanh(module.attention_gate) * seen
                hidden = feed.in_proj.weight @ module.feed_forward_norm(word)
                hidden = hidden * (1 + torch.erf(hidden / 2**0.5)) / 2
                rows.append(
                    word + torch.tanh(module.feed_forward_gate) * (feed.out_proj.weight @ hidden)
                )
        return torch.stack(rows).view_as(x)

    return Rival(call, inputs)


def _concatenation(*, fast: bool, d_model: int, n_heads: int, **sizes: int) -> nn.Module:
    return ConcatenationBlock(d_model, n_heads, 4 * d_model, fused=fast)


def _concatenation_in_parts(module: ConcatenationBlock, inputs: Inputs) -> Rival:
    """Attention to each sequence by itself, mixed in the ratio of the softmax sums."""
    block = module.block
    attend = block.attention

    def heads(tokens: Tensor, proj: Any) -> Tensor:
        return proj(tokens).unflatten(-1, (attend.n_heads, -1)).transpose(1, 2)

    def to_one(q: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        k, v = heads(tokens, attend.k_proj), heads(tokens, attend.v_proj)
        total = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).logsumexp(dim=-1)
        return scaled_dot_product_attention(q, k, v)[0], total

    def call(x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        parts = [x, module.memory_proj(memory)]
        normed = [block.attention_norm(part) for part in parts]
        out = []
        for part, ask in zip(parts, normed, strict=True):
            q = heads(ask, attend.q_proj)
            found, totals = zip(*(to_one(q, tokens) for tokens in normed), strict=True)
            shares = torch.stack(totals).softmax(dim=0)[..., None]
            mixed = (torch.stack(found) * shares).sum(dim=0)
            part = part + attend.out_proj(merge_heads(mixed))
            out.append(part + block.feed_forward(block.feed_forward_norm(part)))
        return out[0], out[1]

    return Rival(call, inputs)


# --------------------------------------------------------------------------- one sequence


def _unified(
    *,
    fast: bool,
    length: int,
    image_size: int,
    patch_size: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
    n_layers: int,
    n_words: int,
    **sizes: int,
) -> nn.Module:
    config = UnifiedConfig(
        image_size=image_size,
        patch_size=patch_size,
        n_words=n_words,
        max_len=length,
        d_model=d_model,
        n_layers=n_layers,
        n_heads=n_heads,
        d_ff=d_ff,
    )
    return UnifiedEncoder(config, fused=fast)


def _texts_and_pictures(
    generator: Generator, *, batch: int, length: int, image_size: int, n_words: int, **sizes: int
) -> Inputs:
    tokens = _texts(generator, batch, length, n_words, first=2, end=1, pad=0)
    return tokens, torch.randn(batch, 3, image_size, image_size, generator=generator)


def _vilt(model: UnifiedEncoder, inputs: Inputs) -> Rival:
    """The encoder of ViLT over our embeddings; it lets its positions be learned."""
    from transformers import ViltConfig
    from transformers.models.vilt.modeling_vilt import ViltEncoder

    config = model.config
    peer: Any = ViltEncoder(
        ViltConfig(
            hidden_size=config.d_model,
            num_hidden_layers=config.n_layers,
            num_attention_heads=config.n_heads,
            intermediate_size=config.d_ff,
            layer_norm_eps=1e-5,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    blocks: Any = model.blocks
    for ours, layer in zip(blocks, peer.layer, strict=True):
        for name, part in (("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj")):
            _copy(getattr(layer.attention.attention, name), getattr(ours.attention, part))
        _copy(layer.attention.output.dense, ours.attention.out_proj)
        _copy(layer.layernorm_before, ours.attention_norm)
        _copy(layer.layernorm_after, ours.feed_forward_norm)
        _copy(layer.intermediate.dense, ours.feed_forward.in_proj)
        _copy(layer.output.dense, ours.feed_forward.out_proj)
    peer = peer.to(model.kinds).eval()
    side, width = config.image_size // config.patch_size, config.patch_size

    def call(tokens: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
        kernel = model.patch_proj.weight.view(-1, config.n_channels, width, width)
        patches = torch.conv2d(images, kernel, model.patch_proj.bias, stride=width)
        patches = patches.flatten(2).transpose(1, 2) + model.kinds[1]
        words = nn.functional.embedding(tokens, model.embedding.weight) + model.kinds[0]
        x = torch.cat([words, patches], dim=1) + model.positions
        keep = torch.cat([tokens != config.pad, torch.ones(len(x), side * side).bool()], dim=1)
        blocked = torch.zeros(keep.shape, dtype=x.dtype).masked_fill(~keep, float("-inf"))
        x = model.norm(peer(x, blocked[:, None, None]).last_hidden_state)
        return x[:, : config.max_len], x[:, config.max_len :]

    return Rival(call, inputs)


# --------------------------------------------------------------------------- video


def _factorised(*, fast: bool, d_model: int, n_heads: int, **sizes: int) -> nn.Module:
    return FactorisedBlock(d_model, n_heads, 4 * d_model, fused=fast)


def _causal_video(*, fast: bool, d_model: int, n_heads: int, **sizes: int) -> nn.Module:
    return FactorisedBlock(d_model, n_heads, 4 * d_model, causal=True, fused=fast)


def _video(
    generator: Generator,
    *,
    batch: int,
    frames: int,
    rows: int,
    columns: int,
    d_model: int,
    **sizes: int,
) -> Inputs:
    return (torch.randn(batch, frames, rows * columns, d_model, generator=generator),)


def _video_and_summary(generator: Generator, *, batch: int, d_model: int, **sizes: int) -> Inputs:
    (video,) = _video(generator, batch=batch, d_model=d_model, **sizes)
    return video, torch.randn(batch, d_model, generator=generator)


def _timesformer(module: FactorisedBlock, inputs: Inputs) -> Rival:
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
        _copy(other.output.dense, attend.out_proj)
    _copy(peer.temporal_layernorm, module.time_norm)
    _copy(peer.temporal_dense, module.time_proj)
    _copy(peer.layernorm_before, module.space_norm)
    _copy(peer.layernorm_after, module.feed_forward_norm)
    _copy(peer.intermediate.dense, module.feed_forward.in_proj)
    _copy(peer.output.dense, module.feed_forward.out_proj)
    peer = peer.to(module.time_proj.weight).eval()
    # Its tokens come summary first, then place by place with the frames of each together.
    tokens = torch.cat([summary[:, None], video.transpose(1, 2).flatten(1, 2)], dim=1)

    def call(tokens: Tensor) -> tuple[Tensor, Tensor]:
        out = peer(tokens)[0]
        return out[:, 1:].unflatten(1, (places, frames)).transpose(1, 2), out[:, 0]

    return Rival(call, (tokens,))


def _dense_video(module: FactorisedBlock, inputs: Inputs) -> Rival:
    """Dense attention over all tokens of a video under two masks."""
    (video,) = inputs
    time, space = factorised_mask(*video.shape[1:3], causal=module.causal)

    def call(video: Tensor) -> Tensor:
        x = video.flatten(1, 2)
        found = module.time_attention(module.time_norm(x), mask=time, return_weights=True)[0]
        x = x + module.time_proj(found)
        x = x + module.space_attention(module.space_norm(x), mask=space, return_weights=True)[0]
        return (x + module.feed_forward(module.feed_forward_norm(x))).view_as(video)

    return Rival(call, inputs)


# --------------------------------------------------------------------------- queries


def _query_decoder(*, fast: bool, d_model: int, n_heads: int, d_ff: int, **sizes: int) -> nn.Module:
    return QueryDecoderLayer(d_model, n_heads, d_ff, fused=fast)


def _slots(
    generator: Generator, *, batch: int, n_queries: int, memory: int, d_model: int, **sizes: int
) -> Inputs:
    shapes = ((batch, n_queries, d_model), (batch, memory, d_model))
    x, image = (torch.randn(shape, generator=generator) for shape in shapes)
    slots, places = (torch.randn(shape, generator=generator) for shape in shapes)
    return x, image, slots, places


def _detr(module: QueryDecoderLayer, inputs: Inputs) -> Rival:
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
            _copy(getattr(other, name), getattr(attend, name))
        _copy(other.o_proj, attend.out_proj)
    _copy(peer.self_attn_layer_norm, module.slot_norm)
    _copy(peer.encoder_attn_layer_norm, module.image_norm)
    _copy(peer.mlp.fc1, module.feed_forward.in_proj)
    _copy(peer.mlp.fc2, module.feed_forward.out_proj)
    _copy(peer.final_layer_norm, module.feed_forward_norm)
    peer = peer.to(module.feed_forward.in_proj.weight).eval()

    def call(x: Tensor, memory: Tensor, slots: Tensor, places: Tensor) -> Tensor:
        return peer(
            x,
            encoder_hidden_states=memory,
            object_queries_position_embeddings=slots,
            spatial_position_embeddings=places,
        )

    return Rival(call, inputs)


# --------------------------------------------------------------------------- pages


def _layout(*, fast: bool, length: int, d_model: int, n_words: int, **sizes: int) -> nn.Module:
    return LayoutEmbedding(n_words, length, d_model)


def _page(generator: Generator, *, batch: int, length: int, n_words: int, **sizes: int) -> Inputs:
    tokens = torch.randint(n_words, (batch, length), generator=generator)
    corners = torch.randint(1001, (2, batch, length, 2), generator=generator).sort(dim=0).values
    return tokens, corners.permute(1, 2, 0, 3).flatten(2)


def _layoutlm(module: LayoutEmbedding, inputs: Inputs) -> Rival:
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
    _copy(peer.LayerNorm, module.norm)
    tokens, boxes = inputs
    return Rival(peer.to(module.positions).eval(), (tokens, boxes, torch.zeros_like(tokens)))


MECHANISMS = (
    Mechanism(
        name="dual_encoder",
        source="Radford et al. (2021), section 2 and figure 3",
        build=_dual_encoder,
        inputs=_pictures_and_texts,
        tiny={
            "batch": 3,
            "image_size": 8,
            "patch_size": 4,
            "length": 6,
            "d_model": 8,
            "n_heads": 2,
            "n_layers": 2,
        },
        peer=_clip,
    ),
    Mechanism(
        name="bert_text",
        source="Devlin et al. (2019), section 3",
        build=_bert_text,
        inputs=_two_segments,
        tiny={
            "batch": 3,
            "length": 6,
            "d_model": 8,
            "n_heads": 2,
            "d_ff": 16,
            "n_layers": 2,
            "n_words": 20,
        },
        peer=_bert,
    ),
    Mechanism(
        name="gated_cross_attention",
        source="Alayrac et al. (2022), section 2.2",
        build=_gated,
        inputs=_two_sequences,
        tiny={"batch": 2, "length": 3, "memory": 4, "d_model": 8, "n_heads": 2},
        oracle=_gated_by_hand,
    ),
    Mechanism(
        name="fusion_by_concatenation",
        source="Liu et al. (2023), section 4.1; Kim et al. (2021), section 3",
        build=_concatenation,
        inputs=_two_sequences,
        tiny={"batch": 2, "length": 3, "memory": 4, "d_model": 8, "n_heads": 2},
        oracle=_concatenation_in_parts,
    ),
    Mechanism(
        name="unified_sequence",
        source="Kim et al. (2021), section 3",
        build=_unified,
        inputs=_texts_and_pictures,
        tiny={
            "batch": 2,
            "length": 5,
            "image_size": 8,
            "patch_size": 4,
            "d_model": 8,
            "n_heads": 2,
            "d_ff": 16,
            "n_layers": 2,
            "n_words": 20,
        },
        peer=_vilt,
    ),
    Mechanism(
        name="factorised_video",
        source="Bertasius et al. (2021), section 3",
        build=_factorised,
        inputs=_video_and_summary,
        tiny={"batch": 2, "frames": 3, "rows": 2, "columns": 2, "d_model": 8, "n_heads": 2},
        peer=_timesformer,
    ),
    Mechanism(
        name="causal_video",
        source="Bertasius et al. (2021), section 3, under a causal mask over frames",
        build=_causal_video,
        inputs=_video,
        tiny={"batch": 2, "frames": 3, "rows": 2, "columns": 3, "d_model": 8, "n_heads": 2},
        oracle=_dense_video,
    ),
    Mechanism(
        name="query_cross_attention",
        source="Carion et al. (2020), figure 10",
        build=_query_decoder,
        inputs=_slots,
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
