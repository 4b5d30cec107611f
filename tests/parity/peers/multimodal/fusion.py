"""Two sequences brought together, beside oracles of our own and ViLT."""

from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.attention import merge_heads
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

# --------------------------------------------------------------------------- fusion


def _gated_by_hand(module: GatedCrossAttention, inputs: Inputs) -> Reference:
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

    return Reference(call, inputs)


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


def _by_complex_numbers(model: InterleavedDecoder, inputs: Inputs) -> Reference:
    """Pairs of channels as complex numbers, turned by the difference of two tokens' positions."""
    config = model.config
    _, _, segments = inputs
    before, image, _ = segments

    def call(words: Tensor, patches: Tensor, segments: Any) -> Tensor:
        tokens = [model.embedding(words), model.patch_proj(patches)]
        x = torch.cat([tokens[0][:, :before], tokens[1], tokens[0][:, before:]], dim=1)
        n_patches, length = patches.shape[1], x.shape[1]
        # Time, row and column of each token, written down one by one.
        rows = [(i, i, i) for i in range(before)]
        rows += [(before, before + r, before + c) for r in range(image[0]) for c in range(image[1])]
        behind = before + max(image)
        rows += [(behind + i,) * 3 for i in range(words.shape[1] - before)]
        n_pairs = config.d_model // config.n_heads // 2
        axes = torch.tensor(
            [pair % 3 if pair < 3 * (n_pairs // 3) else 0 for pair in range(n_pairs)]
        )
        places = torch.tensor(rows, dtype=x.dtype)[:, axes]
        between = places[:, None] - places
        turn = torch.exp(1j * between * 10_000.0 ** (-torch.arange(n_pairs) / n_pairs).to(x.dtype))
        inside = (torch.arange(length) >= before) & (torch.arange(length) < before + n_patches)
        keep = torch.ones(length, length).tril().bool() | (inside[:, None] & inside)
        for block in model.blocks:
            part: Any = block
            attend = part.attention
            normed = part.attention_norm(x)
            q, k, v = (
                proj(normed).unflatten(-1, (config.n_heads, -1)).transpose(1, 2)
                for proj in (attend.q_proj, attend.k_proj, attend.v_proj)
            )
            q, k = (torch.complex(*half.chunk(2, dim=-1)) for half in (q, k))
            scores = torch.einsum("bhip,bhjp,ijp->bhij", q, k.conj(), turn).real
            odds = torch.exp(scores / (2 * n_pairs) ** 0.5) * keep
            x = x + attend.out_proj(merge_heads((odds / odds.sum(-1, keepdim=True)) @ v))
            x = x + part.feed_forward(part.feed_forward_norm(x))
        said = torch.cat([x[:, :before], x[:, before + n_patches :]], dim=1)
        return model.norm(said) @ model.embedding.weight.T

    return Reference(call, inputs)


MECHANISMS = (
    Mechanism(
        name="gated_cross_attention",
        source="Alayrac et al. (2022), section 2.2",
        # At gate 0 the layer is the identity and would hide every mistake.
        build=built(GatedCrossAttention, "d_model", "n_heads", "4*d_model", gate=0.5),
        inputs=WITH_MEMORY,
        tiny={"batch": 2, "length": 3, "memory": 4, "d_model": 8, "n_heads": 2},
        small=dict(batch=2, length=16, memory=32, d_model=64, n_heads=4),
        large=dict(batch=2, length=128, memory=256, d_model=256, n_heads=8),
        oracle=_gated_by_hand,
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
        oracle=_by_complex_numbers,
    ),
)  # fmt: skip
