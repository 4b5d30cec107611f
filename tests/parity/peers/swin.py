"""Attention inside windows, and the whole model of it."""

from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.swin import Layout, Swin, SwinConfig, WindowAttention, window_mask
from course_tests.parity.peers.contract import IMAGES, Mechanism, Reference
from course_tests.parity.peers.copying import copy_submodules, copy_weights

_BLOCK = (
    "layernorm_before=attention_norm layernorm_after=feed_forward_norm"
    " mlp.fc1=feed_forward.in_proj mlp.fc2=feed_forward.out_proj"
)


def _window_attention(
    *, fast: bool, d_model: int, n_heads: int, window: int, **sizes: int
) -> nn.Module:
    return WindowAttention(d_model, n_heads, (window, window), fused=fast)


def _windows(
    generator: Generator,
    *,
    batch: int,
    rows: int,
    columns: int,
    d_model: int,
    window: int,
    **_: int,
) -> tuple[Tensor, Tensor]:
    """Moved windows, whose mask matters."""
    side = (window, window)
    layout = Layout(grid=(rows, columns), window=side, shift=(window // 2, window // 2))
    x = torch.randn(batch * layout.n_windows, window**2, d_model, generator=generator)
    return x, window_mask(layout)


def _swin_attention(module: Any, inputs: tuple[Any, ...]) -> Reference:
    from transformers.models.swin.modeling_swin import SwinAttention

    rows = module.bias.rows
    config = _config(embed_dim=module.d_model, num_heads=[module.n_heads], window_size=rows)
    peer = SwinAttention(config, module.d_model, module.n_heads, rows).to(inputs[0].dtype).eval()
    _copy_attention(peer, module)
    # Blocked pairs get -100 there.
    mask = torch.zeros(inputs[1].shape, dtype=inputs[0].dtype).masked_fill(~inputs[1], -100.0)
    return Reference(lambda x, _: peer(x, mask)[0], inputs)


def _swin(
    *, fast: bool, image_size: int, patch_size: int, window: int, d_model: int, **sizes: int
) -> nn.Module:
    # Three stages: on a fourth the map would be smaller than the window, where the peer fails.
    n_heads = tuple(max(1, d_model // 32) * 2**stage for stage in range(3))
    config = SwinConfig(
        image_size=image_size,
        patch_size=patch_size,
        n_classes=10,
        d_model=d_model,
        depths=(2, 2, 2),
        n_heads=n_heads,
        window=window,
        drop_path=0.0,
    )
    return Swin(config, fused=fast)


def transformers_swin(model: Swin) -> Any:
    """``SwinForImageClassification`` with the same weights."""
    from transformers import SwinForImageClassification

    ours = model.config
    config = _config(
        image_size=ours.image_size,
        patch_size=ours.patch_size,
        num_channels=ours.n_channels,
        num_labels=ours.n_classes,
        embed_dim=ours.d_model,
        depths=list(ours.depths),
        num_heads=list(ours.n_heads),
        window_size=ours.window,
        mlp_ratio=ours.mlp_ratio,
        drop_path_rate=ours.drop_path,
    )
    peer: Any = SwinForImageClassification(config).eval()
    peer.to(model.head.weight.dtype)
    weight = model.patch_proj.weight
    shape = (-1, ours.n_channels, ours.patch_size, ours.patch_size)
    patches = peer.swin.embeddings.patch_embeddings.projection
    patches.load_state_dict({"weight": weight.view(shape), "bias": model.patch_proj.bias})
    layers: Any = peer.swin.encoder.layers
    stages: Any = model.stages
    for i, stage in enumerate(stages):
        if i:
            copy_submodules(layers[i - 1].downsample, stage.merge, "norm=norm reduction=proj")
        for theirs, block in zip(layers[i].blocks, stage.blocks, strict=True):
            _copy_attention(theirs.attention, block.attention)
            copy_submodules(theirs, block, _BLOCK)
    copy_submodules(
        peer, model, "swin.embeddings.norm=patch_norm swin.layernorm=norm classifier=head"
    )
    return peer


def _swin_peer(model: Any, inputs: tuple[Any, ...]) -> Reference:
    peer = transformers_swin(model)
    return Reference(lambda images: peer(images).logits, inputs)


def _config(**fields: Any) -> Any:
    from transformers import SwinConfig as TheirConfig

    config = TheirConfig(**fields)
    # The kernel of torch, which is faster and keeps float64.
    config._attn_implementation = "sdpa"
    return config


def _copy_attention(peer: Any, ours: WindowAttention) -> None:
    maps = zip(
        (peer.q_proj, peer.k_proj, peer.v_proj),
        ours.qkv_proj.weight.chunk(3),
        ours.qkv_proj.bias.chunk(3),
        strict=True,
    )
    for part, weight, bias in maps:
        part.load_state_dict({"weight": weight, "bias": bias})
    copy_weights(peer.o_proj, ours.out_proj)
    with torch.no_grad():
        peer.relative_position_bias.relative_position_bias_table.copy_(ours.bias.table)


MECHANISMS = (
    Mechanism(
        name="window_attention",
        source="Liu et al. (2021), equation 4",
        build=_window_attention,
        inputs=_windows,
        tiny={"batch": 2, "rows": 4, "columns": 4, "d_model": 8, "n_heads": 2, "window": 2},
        small=dict(batch=2, rows=8, columns=8, d_model=64, n_heads=2, window=4),
        large=dict(batch=2, rows=28, columns=28, d_model=192, n_heads=6, window=7),
        peer=_swin_attention,
        peer_name="transformers.models.swin.modeling_swin.SwinAttention",
    ),
    Mechanism(
        name="swin",
        source="Liu et al. (2021), section 3",
        build=_swin,
        inputs=IMAGES,
        tiny={"batch": 2, "image_size": 16, "patch_size": 2, "window": 2, "d_model": 8},
        small=dict(batch=2, image_size=32, patch_size=2, window=4, d_model=32),
        large=dict(batch=1, image_size=112, patch_size=4, window=7, d_model=64),
        peer=_swin_peer,
        peer_name="transformers.SwinForImageClassification",
    ),
)
