"""Positions that turn queries and keys."""

from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.positions import (
    AxialRotary,
    MixedRotary,
    MultimodalRotary,
    Rotary,
    multimodal_positions,
    rotary_frequencies,
)
from course_tests.parity.peers.contract import Mechanism, Reference, built, drawn

_Inputs = tuple[Any, ...]


_HEADS = drawn(*["batch n_heads length d_head"] * 2)
_HEADS_ON_GRID = drawn(*["batch n_heads rows*columns d_head"] * 2)


def _interleaved_peer(module: Any, inputs: _Inputs) -> Reference:
    from rotary_embedding_torch import RotaryEmbedding

    q = inputs[0]
    # Its own frequencies are rounded to single precision, which would limit the comparison.
    frequencies = rotary_frequencies(module.d_rotary, base=module.base).to(q)
    peer = RotaryEmbedding(module.d_rotary, custom_freqs=frequencies).to(q)
    turn = peer.rotate_queries_or_keys
    return Reference(lambda q, k: (turn(q), turn(k)), inputs)


def _half_split_peer(module: Any, inputs: _Inputs) -> Reference:
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    angles = torch.outer(
        torch.arange(inputs[0].shape[-2]).double(),
        rotary_frequencies(module.d_rotary, base=module.base),
    )
    angles = torch.cat([angles, angles], dim=-1)[None].to(inputs[0].device)
    cos, sin = angles.cos().to(inputs[0]), angles.sin().to(inputs[0])
    return Reference(lambda q, k: apply_rotary_pos_emb(q, k, cos, sin), inputs)


def _axial_peer(module: Any, inputs: _Inputs) -> Reference:
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    q = inputs[0]
    frequencies = rotary_frequencies(module.d_head // 2, base=module.base).to(q)
    peer = RotaryEmbedding(module.d_head // 2, custom_freqs=frequencies).to(q)
    # Kept between calls, as ours are.
    angles = peer.get_axial_freqs(module.rows, module.columns).detach().flatten(0, 1)
    return Reference(
        lambda q, k: (apply_rotary_emb(angles, q), apply_rotary_emb(angles, k)), inputs
    )


def _mixed(
    *, fast: bool, n_heads: int, d_head: int, rows: int, columns: int, **sizes: int
) -> nn.Module:
    return MixedRotary(d_head, n_heads, rows, columns, n_prefix=sizes.get("prefix", 0), fused=fast)


def _mixed_oracle(module: Any, inputs: _Inputs) -> Reference:
    def turn(x: Tensor) -> Tensor:
        """One complex number per pair, place by place."""
        down, right = module.frequencies.unbind(-1)
        pairs = torch.complex(x[..., ::2], x[..., 1::2])
        places = [
            pairs[:, :, y * module.columns + x] * torch.exp(1j * (y * down + x * right))
            for y in range(module.rows)
            for x in range(module.columns)
        ]
        turned = torch.stack(places, dim=2)
        return torch.stack([turned.real, turned.imag], dim=-1).flatten(-2)

    return Reference(lambda q, k: (turn(q), turn(k)), inputs)


def _sections(d_head: int, *, interleaved: bool) -> tuple[int, int, int]:
    """As in Qwen2-VL and Qwen3-VL for heads of 128; as near as can be for others."""
    pairs = d_head // 2
    others = 5 * pairs // 16 if interleaved else 3 * pairs // 8
    return pairs - 2 * others, others, others


def _multimodal(*, fast: bool, d_head: int, **sizes: int) -> nn.Module:
    sections = _sections(d_head, interleaved=False)
    return MultimodalRotary(d_head, sections, base=1_000_000.0, fused=fast)


def _multimodal_interleaved(*, fast: bool, d_head: int, **sizes: int) -> nn.Module:
    sections = _sections(d_head, interleaved=True)
    return MultimodalRotary(d_head, sections, base=5_000_000.0, interleaved=True, fused=fast)


def _heads_and_places(generator: Generator, **sizes: int) -> tuple[Tensor, ...]:
    length = sizes["length"]
    rows = int((length // 2) ** 0.5)
    positions = multimodal_positions([2, (1, rows, rows), length - 2 - rows**2])
    return *_HEADS(generator, **sizes), positions[:, None].expand(-1, sizes["batch"], -1)


def _multimodal_peer(module: Any, inputs: _Inputs) -> Reference:
    from transformers.models.qwen2_vl import modeling_qwen2_vl as modeling
    from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig

    config: Any = Qwen2VLTextConfig(
        hidden_size=module.d_head, num_attention_heads=1, rope_parameters=_parameters(module)
    )
    return _turned_by(modeling.Qwen2VLRotaryEmbedding(config), modeling, inputs)


def _interleaved_multimodal_peer(module: Any, inputs: _Inputs) -> Reference:
    from transformers.models.qwen3_vl import modeling_qwen3_vl as modeling
    from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLTextConfig

    config = Qwen3VLTextConfig(head_dim=module.d_head, rope_parameters=_parameters(module))
    return _turned_by(modeling.Qwen3VLTextRotaryEmbedding(config), modeling, inputs)


def _parameters(module: Any) -> dict[str, Any]:
    return {
        "rope_type": "default",
        "rope_theta": module.base,
        "mrope_section": list(module.sections),
    }


def _turned_by(embedding: nn.Module, modeling: Any, inputs: _Inputs) -> Reference:
    embedding.to(inputs[0].device)

    def call(q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        cos, sin = embedding(q, positions)
        turned: tuple[Tensor, Tensor] = modeling.apply_rotary_pos_emb(q, k, cos, sin)
        return turned

    return Reference(call, inputs)


_SINGLE = "the peer computes its angles in single precision"

MECHANISMS = (
    Mechanism(
        name="rotary_interleaved",
        source="Su et al. (2021), section 3.2.2",
        build=built(Rotary, "d_head", "max_len=length"),
        inputs=_HEADS,
        tiny={"batch": 2, "n_heads": 3, "length": 7, "d_head": 8},
        small=dict(batch=2, n_heads=4, length=64, d_head=32),
        large=dict(batch=2, n_heads=8, length=1024, d_head=64),
        peer=_interleaved_peer,
        peer_name="rotary_embedding_torch.RotaryEmbedding.rotate_queries_or_keys",
    ),
    Mechanism(
        name="rotary_half_split",
        source="Su et al. (2021), section 3.2.2",
        build=built(Rotary, "d_head", "max_len=length", layout="half_split"),
        inputs=_HEADS,
        tiny={"batch": 2, "n_heads": 3, "length": 7, "d_head": 8},
        small=dict(batch=2, n_heads=4, length=64, d_head=32),
        large=dict(batch=2, n_heads=8, length=1024, d_head=64),
        peer=_half_split_peer,
        peer_name="transformers.models.llama.modeling_llama.apply_rotary_pos_emb",
    ),
    Mechanism(
        name="rotary_axial",
        source="Heo et al. (2024), axial frequency",
        build=built(AxialRotary, "d_head", "rows", "columns"),
        inputs=_HEADS_ON_GRID,
        tiny={"batch": 2, "n_heads": 3, "rows": 3, "columns": 5, "d_head": 8},
        small=dict(batch=2, n_heads=4, rows=8, columns=8, d_head=32),
        large=dict(batch=2, n_heads=8, rows=32, columns=32, d_head=64),
        peer=_axial_peer,
        peer_name="rotary_embedding_torch.RotaryEmbedding.get_axial_freqs",
    ),
    Mechanism(
        name="rotary_mixed",
        source="Heo et al. (2024), mixed learnable frequency",
        build=_mixed,
        inputs=_HEADS_ON_GRID,
        tiny={"batch": 2, "n_heads": 3, "rows": 3, "columns": 5, "d_head": 8},
        small=dict(batch=2, n_heads=4, rows=8, columns=8, d_head=32),
        large=dict(batch=2, n_heads=8, rows=32, columns=32, d_head=64),
        oracle=_mixed_oracle,
    ),
    Mechanism(
        name="multimodal_rotary",
        source="Wang et al. (2024), M-RoPE",
        build=_multimodal,
        inputs=_heads_and_places,
        tiny={"batch": 2, "n_heads": 3, "length": 20, "d_head": 32},
        small=dict(batch=1, n_heads=4, length=64, d_head=32),
        large=dict(batch=1, n_heads=8, length=1024, d_head=128),
        peer=_multimodal_peer,
        peer_name="transformers.models.qwen2_vl.modeling_qwen2_vl.Qwen2VLRotaryEmbedding",
        peer_double=False,
        note=_SINGLE,
    ),
    Mechanism(
        name="multimodal_rotary_interleaved",
        source="Qwen3-VL (2025), interleaved M-RoPE",
        build=_multimodal_interleaved,
        inputs=_heads_and_places,
        tiny={"batch": 2, "n_heads": 3, "length": 20, "d_head": 32},
        small=dict(batch=1, n_heads=4, length=64, d_head=32),
        large=dict(batch=1, n_heads=8, length=1024, d_head=128),
        peer=_interleaved_multimodal_peer,
        peer_name="transformers.models.qwen3_vl.modeling_qwen3_vl.Qwen3VLTextRotaryEmbedding",
        peer_double=False,
        note=_SINGLE,
    ),
)
