"""Models that see: transformers, a residual network, a hybrid."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.hybrid import InvertedBottleneck, RelativeBlock, hybrid_cifar
from course_lib.resnet import ResNetStage
from course_lib.vit import DistilledViT, ViT, ViTConfig
from course_tests.parity.peers.contract import IMAGES, Mechanism, Reference, configured, drawn
from course_tests.parity.peers.copying import copy_submodules, copy_weights, settled


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
        # Both define the parts of attention, and of the feed-forward sub-layer, in the same order.
        copy_submodules(theirs, ours, "attention=attention mlp=feed_forward")
        copy_submodules(
            theirs, ours, "layernorm_before=attention_norm layernorm_after=feed_forward_norm"
        )
    copy_weights(peer.layernorm, model.norm)


def transformers_vit(model: Any) -> Any:
    """``transformers.ViTForImageClassification`` with the weights of a model of ours."""
    from transformers import ViTConfig as PeerConfig
    from transformers import ViTForImageClassification

    peer = ViTForImageClassification(PeerConfig(**_transformers_settings(model.config)))
    peer = peer.to(model.head.weight.dtype).eval()
    _copy_encoder(peer.vit, model)
    copy_weights(peer.classifier, model.head)
    return peer


def _vit_peer(model: Any, inputs: tuple[Any, ...]) -> Reference:
    peer = transformers_vit(model)
    return Reference(lambda images: peer(images).logits, inputs)


def _distilled_peer(model: Any, inputs: tuple[Any, ...]) -> Reference:
    from transformers import DeiTConfig, DeiTForImageClassificationWithTeacher

    peer = DeiTForImageClassificationWithTeacher(DeiTConfig(**_transformers_settings(model.config)))
    peer = peer.to(model.head.weight.dtype).eval()
    _copy_encoder(peer.deit, model)
    with torch.no_grad():
        peer.deit.embeddings.distillation_token.copy_(model.distillation_token[None])
    copy_weights(peer.cls_classifier, model.head)
    copy_weights(peer.distillation_classifier, model.distillation_head)
    return Reference(lambda images: peer(images).logits, inputs)


def _stage(*, in_channels: int, out_channels: int, **sizes: int) -> nn.Module:
    return settled(ResNetStage(in_channels, out_channels, n_blocks=2, stride=2))


def _stage_peer(stage: Any, inputs: tuple[Any, ...]) -> Reference:
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
    return Reference(peer.to(first.weight).eval(), inputs)


def _hybrid(*, fast: bool, image_size: int, **sizes: int) -> nn.Module:
    return settled(hybrid_cifar(image_size=image_size, fused=fast))


def _hybrid_oracle(model: Any, inputs: tuple[Any, ...]) -> Reference:
    """The definition, on the weights alone: sums over pixels, and a loop over offsets."""

    def conv(x: Tensor, part: nn.Conv2d) -> Tensor:
        side, stride, groups = part.kernel_size[0], part.stride[0], part.groups
        padded = F.pad(x, [side // 2] * 4)
        rows, columns = ((n - 1) // stride + 1 for n in x.shape[2:])
        out = x.new_zeros(len(x), part.out_channels, rows, columns)
        for i in range(side):
            for j in range(side):
                moved = padded[:, :, i:, j:][:, :, : x.shape[2] : stride, : x.shape[3] : stride]
                kernel = part.weight[:, :, i, j]
                out += (
                    torch.einsum("bchw,oc->bohw", moved, kernel)
                    if groups == 1
                    else moved * kernel[:, :1, None]
                )
        return out if part.bias is None else out + part.bias[:, None, None]

    def batch_norm(x: Tensor, part: Any) -> Tensor:
        factor = part.weight / (part.running_var + part.eps).sqrt()
        return (x - part.running_mean[:, None, None]) * factor[:, None, None] + part.bias[
            :, None, None
        ]

    def around(x: Tensor, part: Any) -> Tensor:
        if isinstance(part, nn.Identity):
            return x
        pool, last = part
        return conv(halved(x) if isinstance(pool, nn.AvgPool2d) else x, last)

    def halved(x: Tensor) -> Tensor:
        return sum(x[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1)) / 4  # type: ignore[return-value]

    def bottleneck(x: Tensor, block: InvertedBottleneck) -> Tensor:
        hidden = F.gelu(
            batch_norm(conv(batch_norm(x, block.norm), block.expand), block.expand_norm)
        )
        hidden = F.gelu(batch_norm(conv(hidden, block.depthwise), block.depthwise_norm))
        gate = block.squeeze_excitation
        factors = gate.excite(F.gelu(gate.squeeze(hidden.mean((2, 3))))).sigmoid()
        hidden = torch.einsum("bchw,bc->bchw", hidden, factors)
        return around(x, block.shortcut) + conv(hidden, block.project)

    def attend(x: Tensor, block: RelativeBlock) -> Tensor:
        side, heads = block.side, block.attention.n_heads
        tokens = block.attention_norm(x.movedim(1, -1)).movedim(-1, 1)
        tokens = block.enter((halved(tokens) if block.stride == 2 else tokens).movedim(1, -1))
        q, k, v = (
            part(tokens).unflatten(-1, (heads, -1))
            for part in (block.attention.q_proj, block.attention.k_proj, block.attention.v_proj)
        )
        scores = torch.einsum("bijhd,bklhd->bhijkl", q, k) / q.shape[-1] ** 0.5
        table = block.bias.table.T.unflatten(1, (2 * side - 1, 2 * side - 1))
        for i in range(side):
            for j in range(side):
                # The number of offset (i - k, j - l) for all k and l.
                corner = table[:, i : i + side, j : j + side].flip(1, 2)
                scores[:, :, i, j] += corner
        weights = scores.flatten(-2).softmax(-1).unflatten(-1, (side, side))
        out = torch.einsum("bhijkl,bklhd->bijhd", weights, v).flatten(-2)
        out = block.attention.out_proj(out) + around(x, block.shortcut).movedim(1, -1)
        return (out + block.feed_forward(block.feed_forward_norm(out))).movedim(-1, 1)

    def call(images: Tensor) -> Tensor:
        first, norm, _, second = model.stem
        x = conv(F.gelu(batch_norm(conv(images, first), norm)), second)
        for block in model.blocks:
            x = attend(x, block) if isinstance(block, RelativeBlock) else bottleneck(x, block)
        return model.head(model.norm(x.mean((2, 3))))

    return Reference(call, inputs)


_TINY_VIT = {
    "batch": 2, "image_size": 8, "patch_size": 4, "d_model": 8, "n_heads": 2, "d_ff": 16,
    "n_layers": 2,
}  # fmt: skip

MECHANISMS = (
    Mechanism(
        name="vit",
        source="Dosovitskiy et al., An Image is Worth 16x16 Words (2021), equations 1 to 4",
        build=configured(ViT, ViTConfig, positions="learned"),
        inputs=IMAGES,
        tiny=_TINY_VIT,
        small=dict(
            batch=4, image_size=32, patch_size=4, d_model=64, n_heads=4, d_ff=256, n_layers=2
        ),
        large=dict(
            batch=2, image_size=224, patch_size=16, d_model=384, n_heads=6, d_ff=1536, n_layers=4
        ),
        peer=_vit_peer,
        peer_name="transformers.ViTForImageClassification",
    ),
    Mechanism(
        name="distilled_vit",
        source="Touvron et al., Training Data-Efficient Image Transformers (2021), section 4",
        build=configured(DistilledViT, ViTConfig, positions="learned"),
        inputs=IMAGES,
        tiny=_TINY_VIT,
        small=dict(
            batch=4, image_size=32, patch_size=4, d_model=64, n_heads=4, d_ff=256, n_layers=2
        ),
        large=dict(
            batch=2, image_size=224, patch_size=16, d_model=384, n_heads=6, d_ff=1536, n_layers=4
        ),
        peer=_distilled_peer,
        peer_name="transformers.DeiTForImageClassificationWithTeacher",
    ),
    Mechanism(
        name="resnet_stage",
        source="He et al., Deep Residual Learning for Image Recognition (2016), section 3.3",
        build=lambda *, fast, **sizes: _stage(**sizes),
        inputs=drawn("batch in_channels image_size image_size"),
        tiny={"batch": 2, "image_size": 6, "in_channels": 4, "out_channels": 6},
        small=dict(batch=4, image_size=16, in_channels=32, out_channels=64),
        large=dict(batch=4, image_size=32, in_channels=64, out_channels=128),
        peer=_stage_peer,
        peer_name="transformers.models.resnet.modeling_resnet.ResNetStage",
        fast=False,
    ),
    Mechanism(
        name="hybrid",
        source="Dai et al., CoAtNet (2021), section 2",
        build=_hybrid,
        inputs=IMAGES,
        tiny={"batch": 2, "image_size": 16},
        small=dict(batch=2, image_size=32),
        large=dict(batch=4, image_size=64),
        oracle=_hybrid_oracle,
    ),
)
