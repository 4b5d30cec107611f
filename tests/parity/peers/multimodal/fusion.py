"""Two sequences brought together, beside oracles of our own and ViLT."""

from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.multimodal import (
    GatedCrossAttention,
    InterleavedConfig,
    InterleavedDecoder,
    UnifiedConfig,
    UnifiedEncoder,
)
from course_tests.parity.peers.contract import WITH_MEMORY, Mechanism, Reference, built, configured
from course_tests.parity.peers.copying import copy_submodules
from course_tests.parity.peers.multimodal.shared import Inputs, draw_texts

_BLOCK = """
    attention.attention.query=attention.q_proj attention.attention.key=attention.k_proj
    attention.attention.value=attention.v_proj attention.output.dense=attention.out_proj
    layernorm_before=attention_norm layernorm_after=feed_forward_norm
    intermediate.dense=feed_forward.in_proj output.dense=feed_forward.out_proj
"""


# --------------------------------------------------------------------------- one sequence


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
