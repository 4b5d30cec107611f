"""Vision: transformers, a residual network, a hybrid, and attention made cheaper on a grid."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from course_lib.efficient.convolutional import (
    ConvolutionalAttention,
    CrossShapedAttention,
    ReducedAttention,
)
from course_lib.mechanisms.contract import Mechanism, Rival
from course_lib.resnet import ResNetStage
from course_lib.vit import DistilledViT, ViT, ViTConfig

__all__ = ["MECHANISMS", "copy_weights"]


def copy_weights(target: nn.Module, source: nn.Module) -> None:
    """Copy parameters and buffers in the order in which the modules define them.

    Args:
        target: Changed in place; put into the mode and the number format of ``source``.
        source: Where they come from.

    Raises:
        ValueError: If numbers or shapes differ.
    """
    theirs, ours = target.state_dict(), source.state_dict()
    if [x.shape for x in theirs.values()] != [x.shape for x in ours.values()]:
        raise ValueError(f"{type(target).__name__} and {type(source).__name__} differ in shapes")
    target.load_state_dict(dict(zip(theirs, ours.values(), strict=True)))
    dtype = next(x.dtype for x in ours.values() if x.is_floating_point())
    target.to(dtype).train(source.training)


def _vit_config(
    *, image_size: int, patch_size: int, d_model: int, n_heads: int, d_ff: int, n_layers: int
) -> ViTConfig:
    return ViTConfig(
        image_size=image_size,
        patch_size=patch_size,
        d_model=d_model,
        n_layers=n_layers,
        n_heads=n_heads,
        d_ff=d_ff,
        positions="learned",
    )


def _vit(*, fast: bool, batch: int, **sizes: int) -> nn.Module:
    return ViT(_vit_config(**sizes), fused=fast)


def _distilled_vit(*, fast: bool, batch: int, **sizes: int) -> nn.Module:
    return DistilledViT(_vit_config(**sizes), fused=fast)


def _images(
    generator: Generator, *, batch: int, image_size: int, **sizes: int
) -> tuple[Tensor, ...]:
    return (torch.randn(batch, 3, image_size, image_size, generator=generator),)


def _transformers_settings(config: ViTConfig) -> dict[str, Any]:
    return {
        "image_size": config.image_size,
        "patch_size": config.patch_size,
        "num_channels": config.n_channels,
        "num_labels": config.n_classes,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "intermediate_size": config.d_ff,
        "hidden_act": "gelu",
        "layer_norm_eps": config.eps,
        "attn_implementation": "sdpa",
    }


def _copy_encoder(peer: Any, model: Any) -> None:
    """Everything but the classifiers, from ours to the encoder of the library's model."""
    with torch.no_grad():
        peer.embeddings.cls_token.copy_(model.cls_token[None])
        peer.embeddings.position_embeddings.copy_(model.positions[None])
        kernel = peer.embeddings.patch_embeddings.projection
        kernel.weight.copy_(model.patch_proj.weight.view_as(kernel.weight))
        kernel.bias.copy_(model.patch_proj.bias)
    for theirs, ours in zip(peer.layers, model.blocks, strict=True):
        # Both define the parts of attention, and of the feed-forward part, in the same order.
        for target, source in (
            (theirs.layernorm_before, ours.attention_norm),
            (theirs.attention, ours.attention),
            (theirs.layernorm_after, ours.feed_forward_norm),
            (theirs.mlp, ours.feed_forward),
        ):
            copy_weights(target, source)
    copy_weights(peer.layernorm, model.norm)


def _vit_peer(model: Any, inputs: tuple[Any, ...]) -> Rival:
    from transformers import ViTConfig as PeerConfig
    from transformers import ViTForImageClassification

    peer = ViTForImageClassification(PeerConfig(**_transformers_settings(model.config)))
    peer = peer.to(model.head.weight.dtype).eval()
    _copy_encoder(peer.vit, model)
    copy_weights(peer.classifier, model.head)
    return Rival(lambda images: peer(images).logits, inputs)


def _distilled_peer(model: Any, inputs: tuple[Any, ...]) -> Rival:
    from transformers import DeiTConfig, DeiTForImageClassificationWithTeacher

    peer = DeiTForImageClassificationWithTeacher(DeiTConfig(**_transformers_settings(model.config)))
    peer = peer.to(model.head.weight.dtype).eval()
    _copy_encoder(peer.deit, model)
    with torch.no_grad():
        peer.deit.embeddings.distillation_token.copy_(model.distillation_token[None])
    copy_weights(peer.cls_classifier, model.head)
    copy_weights(peer.distillation_classifier, model.distillation_head)
    return Rival(lambda images: peer(images).logits, inputs)


def _stage(*, in_channels: int, out_channels: int, **sizes: int) -> nn.Module:
    return _settled(ResNetStage(in_channels, out_channels, n_blocks=2, stride=2))


def _settled(module: nn.Module) -> nn.Module:
    """Norms as after training: at the start a batch norm in evaluation does nothing."""
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            statistics = part.running_mean, part.running_var, part.weight, part.bias
            for values, low in zip(statistics, (-0.5, 0.5, 0.5, -0.5), strict=True):
                assert values is not None
                nn.init.uniform_(values, low, low + 1.0)
    return module


def _features(
    generator: Generator, *, batch: int, image_size: int, in_channels: int, **sizes: int
) -> tuple[Tensor, ...]:
    return (torch.randn(batch, in_channels, image_size, image_size, generator=generator),)


def _stage_peer(stage: Any, inputs: tuple[Any, ...]) -> Rival:
    from transformers import ResNetConfig
    from transformers.models.resnet.modeling_resnet import ResNetStage as Peer

    first, second = stage[0].conv1, stage[1].conv1
    config = ResNetConfig(layer_type="basic", hidden_act="relu")
    peer = Peer(config, first.in_channels, second.out_channels, stride=2, depth=2)
    # Theirs defines the shortcut of a block first, ours last.
    theirs: Any
    for theirs, ours in zip(peer.layers, stage, strict=True):
        if ours.shortcut is not None:
            copy_weights(theirs.shortcut, ours.shortcut)
        for layer, (conv, norm) in zip(
            theirs.layer, ((ours.conv1, ours.norm1), (ours.conv2, ours.norm2)), strict=True
        ):
            copy_weights(layer, nn.Sequential(conv, norm).train(stage.training))
    return Rival(peer.to(first.weight).eval(), inputs)


def _grid(
    generator: Generator, *, batch: int, rows: int, columns: int, d_model: int, **sizes: int
) -> tuple[Tensor, ...]:
    return (torch.randn(batch, rows, columns, d_model, generator=generator),)


def _cvt(*, fast: bool, d_model: int, n_heads: int, **sizes: int) -> nn.Module:
    return _settled(ConvolutionalAttention(d_model, n_heads, fused=fast))


def _cvt_peer(attend: Any, inputs: tuple[Any, ...]) -> Rival:
    from transformers.models.cvt.modeling_cvt import CvtAttention

    peer = CvtAttention(
        attend.n_heads,
        attend.d_model,
        kernel_size=3,
        padding_q=1,
        padding_kv=1,
        stride_q=1,
        stride_kv=2,
        qkv_projection_method="dw_bn",
        qkv_bias=True,
        attention_drop_rate=0.0,
        drop_rate=0.0,
        with_cls_token=False,
    )
    # Both define convolutions, maps, output in the order q, k, v.
    copy_weights(peer, attend)
    return _on_grid(peer, inputs)


def _on_grid(peer: nn.Module, inputs: tuple[Any, ...]) -> Rival:
    """A peer that wants a sequence and the sides of the grid; both are views of the same."""

    def call(x: Tensor) -> Tensor:
        rows, columns = x.shape[1:3]
        out = peer(x.flatten(1, 2), rows, columns)
        return (out[0] if isinstance(out, tuple) else out).unflatten(1, (rows, columns))

    return Rival(call, inputs)


def _pvt(*, fast: bool, d_model: int, n_heads: int, reduction: int, **sizes: int) -> nn.Module:
    return ReducedAttention(d_model, n_heads, reduction=reduction, fused=fast)


def _pvt_peer(attend: Any, inputs: tuple[Any, ...]) -> Rival:
    from transformers import PvtConfig
    from transformers.models.pvt.modeling_pvt import PvtAttention

    config = PvtConfig(layer_norm_eps=attend.norm.eps, qkv_bias=True)
    peer = PvtAttention(config, attend.d_model, attend.n_heads, attend.reduction)
    for theirs, ours in (
        (peer.self.query, attend.q_proj),
        (peer.self.key, attend.k_proj),
        (peer.self.value, attend.v_proj),
        (peer.self.sequence_reduction, attend.reduce),
        (peer.self.layer_norm, attend.norm),
        (peer.output.dense, attend.out_proj),
    ):
        copy_weights(theirs, ours)
    return _on_grid(peer.eval(), inputs)


def _cswin(*, fast: bool, d_model: int, n_heads: int, stripe: int, **sizes: int) -> nn.Module:
    return CrossShapedAttention(d_model, n_heads, stripe=stripe, fused=fast)


def _cswin_oracle(attend: Any, inputs: tuple[Any, ...]) -> Rival:
    """Head by head and token by token, from the definition."""
    d_head, s = attend.d_model // attend.n_heads, attend.stripe

    def call(x: Tensor) -> Tensor:
        q, k, v = attend.q_proj(x), attend.k_proj(x), attend.v_proj(x)
        _, rows, columns, width = x.shape
        out = torch.zeros_like(x)
        for head in range(attend.n_heads):
            part = slice(head * d_head, (head + 1) * d_head)
            vertical = head >= attend.n_heads // 2
            for i in range(rows):
                for j in range(columns):
                    # The corner and the sides of the stripe that (i, j) lies in.
                    top, left = (0, j // s * s) if vertical else (i // s * s, 0)
                    tall, wide = (rows, s) if vertical else (s, columns)
                    keys = k[:, top : top + tall, left : left + wide, part].flatten(1, 2)
                    values = v[:, top : top + tall, left : left + wide, part].flatten(1, 2)
                    scores = torch.einsum("bd,bsd->bs", q[:, i, j, part], keys) / d_head**0.5
                    out[:, i, j, part] = torch.einsum("bs,bsd->bd", scores.softmax(-1), values)
                    for a in range(max(i - 1, top), min(i + 2, top + tall)):
                        for b in range(max(j - 1, left), min(j + 2, left + wide)):
                            kernel = attend.lepe[int(vertical)].weight[:, 0, a - i + 1, b - j + 1]
                            kernel = torch.cat([kernel, kernel])[part]
                            out[:, i, j, part] += kernel * v[:, a, b, part]
        shift = torch.cat([conv.bias for conv in attend.lepe])
        assert shift.shape == (width,)
        return F.linear(out + shift, attend.out_proj.weight, attend.out_proj.bias)

    return Rival(call, inputs)


_TINY_VIT = {
    "batch": 2,
    "image_size": 8,
    "patch_size": 4,
    "d_model": 8,
    "n_heads": 2,
    "d_ff": 16,
    "n_layers": 2,
}

MECHANISMS = (
    Mechanism(
        name="vit",
        source="Dosovitskiy et al., An Image is Worth 16x16 Words (2021), equations 1 to 4",
        build=_vit,
        inputs=_images,
        tiny=_TINY_VIT,
        peer=_vit_peer,
    ),
    Mechanism(
        name="distilled_vit",
        source="Touvron et al., Training Data-Efficient Image Transformers (2021), section 4",
        build=_distilled_vit,
        inputs=_images,
        tiny=_TINY_VIT,
        peer=_distilled_peer,
    ),
    Mechanism(
        name="resnet_stage",
        source="He et al., Deep Residual Learning for Image Recognition (2016), section 3.3",
        build=lambda *, fast, **sizes: _stage(**sizes),
        inputs=_features,
        tiny={"batch": 2, "image_size": 6, "in_channels": 4, "out_channels": 6},
        peer=_stage_peer,
        fast=False,
    ),
    Mechanism(
        name="cvt_projection",
        source="Wu et al., CvT (2021), section 3.2",
        build=_cvt,
        inputs=_grid,
        tiny={"batch": 2, "rows": 5, "columns": 4, "d_model": 8, "n_heads": 2},
        peer=_cvt_peer,
    ),
    Mechanism(
        name="pvt_reduction",
        source="Wang et al., Pyramid Vision Transformer (2021), section 3.3",
        build=_pvt,
        inputs=_grid,
        tiny={"batch": 2, "rows": 6, "columns": 4, "d_model": 8, "n_heads": 2, "reduction": 2},
        peer=_pvt_peer,
    ),
    Mechanism(
        name="cswin_stripes",
        source="Dong et al., CSWin Transformer (2022), section 3.2",
        build=_cswin,
        inputs=_grid,
        tiny={"batch": 2, "rows": 6, "columns": 4, "d_model": 8, "n_heads": 4, "stripe": 2},
        oracle=_cswin_oracle,
    ),
)
