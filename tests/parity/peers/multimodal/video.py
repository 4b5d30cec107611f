"""Attention over frames and places of a video, beside TimeSformer."""

from typing import Any

import torch
from torch import Tensor

from course_lib.multimodal import FactorisedBlock, factorised_mask
from course_tests.parity.peers.contract import Mechanism, Reference, built, drawn
from course_tests.parity.peers.copying import copy_submodules, packed_qkv
from course_tests.parity.peers.multimodal.shared import Inputs

_VIDEO = "batch frames rows*columns d_model"
_BLOCK = """
    temporal_attention.output.dense=time_attention.out_proj temporal_layernorm=time_norm
    temporal_dense=time_proj attention.output.dense=space_attention.out_proj
    layernorm_before=space_norm layernorm_after=feed_forward_norm
    intermediate.dense=feed_forward.in_proj output.dense=feed_forward.out_proj
"""


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
            num_hidden_layers=1,
        ),
        layer_index=0,
    )
    for attend, other in (
        (module.time_attention, peer.temporal_attention),
        (module.space_attention, peer.attention),
    ):
        weight, bias = packed_qkv(attend)
        other.attention.qkv.load_state_dict({"weight": weight, "bias": bias})
    copy_submodules(peer, module, _BLOCK)
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


MECHANISMS = (
    Mechanism(
        name="factorised_video",
        source="Bertasius et al. (2021), section 3",
        build=built(FactorisedBlock, "d_model", "n_heads", "4*d_model"),
        inputs=drawn(_VIDEO, "batch d_model"),
        tiny={"batch": 2, "frames": 3, "rows": 2, "columns": 2, "d_model": 8, "n_heads": 2},
        small=dict(batch=1, frames=4, rows=4, columns=4, d_model=64, n_heads=4),
        large=dict(batch=1, frames=8, rows=14, columns=14, d_model=256, n_heads=8),
        peer=_timesformer,
        peer_name="transformers.models.timesformer.modeling_timesformer.TimesformerLayer",
    ),
    Mechanism(
        name="causal_video",
        source="Bertasius et al. (2021), section 3, under a causal mask over frames",
        build=built(FactorisedBlock, "d_model", "n_heads", "4*d_model", causal=True),
        inputs=drawn(_VIDEO),
        tiny={"batch": 2, "frames": 3, "rows": 2, "columns": 3, "d_model": 8, "n_heads": 2},
        small=dict(batch=1, frames=4, rows=4, columns=4, d_model=64, n_heads=4),
        large=dict(batch=1, frames=8, rows=14, columns=14, d_model=256, n_heads=8),
        oracle=_dense_video,
    ),
)
