"""Two encoders beside CLIP."""

from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.multimodal import DualEncoder, DualEncoderConfig
from course_tests.parity.peers.contract import Mechanism, Reference
from course_tests.parity.peers.copying import copy_submodules
from course_tests.parity.peers.multimodal.shared import Inputs, draw_texts

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
)  # fmt: skip
