"""Two modalities: towers beside CLIP, and sequences brought together beside ViLT."""

from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.multimodal import (
    DualEncoder,
    DualEncoderConfig,
    GatedCrossAttention,
    InterleavedConfig,
    InterleavedDecoder,
    UnifiedConfig,
    UnifiedEncoder,
)
from course_tests.parity.peers.contract import WITH_MEMORY, Mechanism, Reference, built, configured
from course_tests.parity.peers.copying import copy_submodules

Inputs = tuple[Any, ...]


def draw_texts(
    generator: Generator, batch: int, length: int, n_words: int, *, first: int, end: int, pad: int
) -> Tensor:
    """Texts of 3 to ``length`` words that end and are filled up."""
    tokens = torch.randint(first, n_words, (batch, length), generator=generator)
    lengths = torch.randint(3, length + 1, (batch,), generator=generator)
    tokens[torch.arange(batch), lengths - 1] = end
    return tokens.masked_fill(torch.arange(length) >= lengths[:, None], pad)


_CLIP_BLOCK = """
    self_attn.q_proj=attention.q_proj self_attn.k_proj=attention.k_proj
    self_attn.v_proj=attention.v_proj self_attn.out_proj=attention.out_proj
    layer_norm1=attention_norm layer_norm2=feed_forward_norm
    mlp.fc1=feed_forward.in_proj mlp.fc2=feed_forward.out_proj
"""
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
    return images, draw_texts(generator, batch, length, end, first=1, end=end, pad=0)


def _clip(model: DualEncoder, inputs: Inputs) -> Reference:
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
    seen: Any = model.image_tower
    read: Any = model.text_tower
    vision, words = peer.vision_model, peer.text_model
    with torch.no_grad():
        kernel = vision.embeddings.patch_embedding.weight
        kernel.copy_(seen.patch_proj.weight.view_as(kernel))
        vision.embeddings.class_embedding.copy_(seen.cls_token)
        vision.embeddings.position_embedding.weight.copy_(seen.positions)
        words.embeddings.token_embedding.weight.copy_(read.embedding.weight)
        words.embeddings.position_embedding.weight.copy_(read.positions)
        peer.logit_scale.copy_(model.temperature.log_factor)
    copy_submodules(vision, seen, "pre_layrnorm=in_norm post_layernorm=out_norm")
    copy_submodules(words, read, "final_layer_norm=out_norm")
    copy_submodules(peer, model, "visual_projection=image_proj text_projection=text_proj")
    for tower, other in ((seen, vision), (read, words)):
        for block, layer in zip(tower.blocks, other.encoder.layers, strict=True):
            copy_submodules(layer, block, _CLIP_BLOCK)
    peer = peer.to(model.image_proj.weight).eval()

    def call(images: Tensor, tokens: Tensor) -> Tensor:
        return peer(pixel_values=images, input_ids=tokens).logits_per_image

    return Reference(call, inputs)


_BLOCK = """
    attention.attention.query=attention.q_proj attention.attention.key=attention.k_proj
    attention.attention.value=attention.v_proj attention.output.dense=attention.out_proj
    layernorm_before=attention_norm layernorm_after=feed_forward_norm
    intermediate.dense=feed_forward.in_proj output.dense=feed_forward.out_proj
"""


def _texts_and_pictures(
    generator: Generator, *, batch: int, length: int, image_size: int, n_words: int, **sizes: int
) -> Inputs:
    tokens = draw_texts(generator, batch, length, n_words, first=2, end=1, pad=0)
    return tokens, torch.randn(batch, 3, image_size, image_size, generator=generator)


def _vilt(model: UnifiedEncoder, inputs: Inputs) -> Reference:
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
        )
    )
    blocks: Any = model.blocks
    for ours, layer in zip(blocks, peer.layer, strict=True):
        copy_submodules(layer, ours, _BLOCK)
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

    return Reference(call, inputs)


def _words_around_an_image(
    generator: Generator,
    *,
    batch: int,
    length: int,
    rows: int,
    columns: int,
    n_words: int,
    d_patch: int,
    **sizes: int,
) -> Inputs:
    words = torch.randint(n_words, (batch, length), generator=generator)
    patches = torch.randn(batch, rows * columns, d_patch, generator=generator)
    return words, patches, [length // 2, (rows, columns), length - length // 2]


MECHANISMS = (
    Mechanism(
        name="dual_encoder",
        source="Radford et al. (2021), section 2 and figure 3",
        build=_dual_encoder,
        inputs=_pictures_and_texts,
        tiny={
            "batch": 3, "image_size": 8, "patch_size": 4, "length": 6, "d_model": 8, "n_heads": 2,
            "n_layers": 2,
        },
        small=dict(
            batch=4, image_size=32, patch_size=8, length=16,
            d_model=64, n_heads=4, n_layers=2,
        ),
        large=dict(
            batch=4, image_size=64, patch_size=8, length=32,
            d_model=256, n_heads=4, n_layers=4,
        ),
        peer=_clip,
        peer_name="transformers.CLIPModel",
    ),
    Mechanism(
        name="gated_cross_attention",
        home=__name__,
        source="Alayrac et al. (2022), section 2.2",
        # At gate 0 the layer is the identity and would hide every mistake.
        build=built(GatedCrossAttention, "d_model", "n_heads", "4*d_model", gate=0.5),
        inputs=WITH_MEMORY,
        tiny={"batch": 2, "length": 3, "memory": 4, "d_model": 8, "n_heads": 2},
        small=dict(batch=2, length=16, memory=32, d_model=64, n_heads=4),
        large=dict(batch=2, length=128, memory=256, d_model=256, n_heads=8),
    ),
    Mechanism(
        name="unified_sequence",
        source="Kim et al. (2021), section 3",
        build=configured(UnifiedEncoder, UnifiedConfig),
        inputs=_texts_and_pictures,
        tiny={
            "batch": 2, "length": 5, "image_size": 8, "patch_size": 4, "d_model": 8, "n_heads": 2,
            "d_ff": 16, "n_layers": 2, "n_words": 20,
        },
        small=dict(
            batch=4, length=16, image_size=32, patch_size=8, d_model=64, n_heads=4,
            d_ff=256, n_layers=2, n_words=100,
        ),
        large=dict(
            batch=4, length=32, image_size=64, patch_size=8, d_model=256, n_heads=4,
            d_ff=1024, n_layers=4, n_words=1000,
        ),
        peer=_vilt,
        peer_name="transformers.models.vilt.modeling_vilt.ViltEncoder",
    ),
    Mechanism(
        name="interleaved_sequence",
        source="Wang et al., Qwen2-VL (2024), section 2.1",
        build=configured(InterleavedDecoder, InterleavedConfig),
        inputs=_words_around_an_image,
        tiny={
            "batch": 2, "length": 5, "rows": 2, "columns": 3, "d_model": 16, "n_heads": 2,
            "d_ff": 16, "n_layers": 2, "n_words": 20, "d_patch": 6,
        },
        small=dict(
            batch=2, length=16, rows=4, columns=4, d_model=64, n_heads=4,
            d_ff=256, n_layers=2, n_words=100, d_patch=48,
        ),
        large=dict(
            batch=2, length=64, rows=14, columns=14, d_model=256, n_heads=4,
            d_ff=1024, n_layers=4, n_words=1000, d_patch=192,
        ),
    ),
)  # fmt: skip
