"""Vision Transformer: an image becomes a sequence of patches."""

import copy
from dataclasses import replace
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from course_lib.layers import xavier_init
from course_lib.positions import (
    AxialRotary,
    MixedRotary,
    keep_in_step,
    sinusoidal_positions,
    spatial_positions,
    summed_positions,
)
from course_lib.vit.block import VisionBlock
from course_lib.vit.config import ViTConfig
from course_lib.vit.patches import check_images, patchify
from course_lib.vit.resolution import resample_positions


class ViT(nn.Module):
    """Classify images with a stack of pre-norm encoder blocks.

    Positions are added after the class token has been put in front. A learned table has a row for
    it; a fixed one leaves it as it is, and rotations don't turn it. With ``recompute`` training
    keeps only what enters each block and computes the rest again in the backward pass ("gradient
    checkpointing").

    Source: Dosovitskiy et al., An Image is Worth 16x16 Words (2021), equations 1 to 4.

    Example:
        >>> model = ViT(ViTConfig(d_model=16, n_layers=2, n_heads=2, d_ff=32))
        >>> logits, weights = model(torch.zeros(5, 3, 32, 32), return_weights=True)
        >>> logits.shape, weights.shape
        (torch.Size([5, 10]), torch.Size([2, 5, 2, 65, 65]))
    """

    positions: Tensor
    # Learned tokens besides the class token; a subclass that has some says so here.
    extra_tokens = 0

    def __init__(
        self,
        config: ViTConfig,
        *,
        fused: bool = True,
        recompute: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.recompute = recompute
        d_model, n_cls = config.d_model, int(config.pooling == "cls")
        self.n_prefix = n_cls + self.extra_tokens
        self.patch_proj = nn.Linear(config.n_channels * config.patch_size**2, d_model)
        # Without a class token this is a table of no rows, so that both cases are one.
        self.cls_token = nn.Parameter(torch.empty(n_cls, d_model))
        if config.positions == "learned":
            self.positions = nn.Parameter(torch.empty(self.n_prefix + config.n_patches, d_model))
        elif config.positions in ("fixed", "added", "sinusoid"):
            self.register_buffer("positions", self._fixed_positions(), persistent=False)
        self.rotations = self._rotations(fused, generator)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            VisionBlock(
                d_model,
                config.n_heads,
                config.d_ff,
                dropout=config.dropout,
                eps=config.eps,
                residual=config.residual,
                layer_norm=config.layer_norm,
                feed_forward=config.feed_forward,
                fused=fused,
            )
            for _ in range(config.n_layers)
        )
        self.norm = nn.LayerNorm(d_model, eps=config.eps) if config.layer_norm else nn.Identity()
        self.head = nn.Linear(d_model, config.n_classes)
        xavier_init(self, generator=generator)
        nn.init.normal_(self.cls_token, std=0.02, generator=generator)
        if config.positions == "learned":
            nn.init.normal_(self.positions, std=0.02, generator=generator)

    def forward(
        self, images: Tensor, *, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Classify images ``(B, C, height, width)`` as logits ``(B, n_classes)``.

        The weights of all layers are ``(L, B, H, T, T)``, before dropout; token 0 is the class
        token, if there is one.
        """
        x, weights = self.encode(images, return_weights=return_weights)
        logits = self.head(x[:, 0] if self.config.pooling == "cls" else x.mean(dim=1))
        return logits if weights is None else (logits, weights)

    def encode(
        self, images: Tensor, *, return_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Turn images into tokens ``(B, T, D)`` after the last norm, and weights or None.

        The class token comes first, if there is one, then the patches, row after row.
        """
        config = self.config
        check_images(images, config.n_channels, config.image_size)
        x = self.patch_proj(patchify(images, config.patch_size))
        if self.n_prefix:
            x = torch.cat([self.prefix().expand(x.shape[0], -1, -1), x], dim=1)
        if not (self.rotations or config.positions == "none"):
            x = x + self.positions
        x = self.dropout(x)
        maps = []
        rotations = self.rotations or [None] * config.n_layers
        for block, rotate in zip(self.blocks, rotations, strict=True):
            if return_weights:
                x, weights = block(x, rotate=rotate, return_weights=True)
                maps.append(weights)
            elif self.recompute and self.training and torch.is_grad_enabled():
                x = checkpoint(block, x, rotate=rotate, use_reentrant=False)
            else:
                x = block(x, rotate=rotate)
        return self.norm(x), torch.stack(maps) if return_weights else None

    def prefix(self) -> Tensor:
        """The learned tokens that stand before the patches, ``(P, D)``."""
        return self.cls_token

    def resized(self, image_size: int) -> Self:
        """The same model for images of another size: more patches or fewer, of the same size.

        A learned table is resampled, fixed ones are computed anew, rotations go on as they began.
        All other weights are copies; this model stays as it is.
        """
        model = copy.deepcopy(self)
        model.config = replace(self.config, image_size=image_size)
        before, side = self.config.side, model.config.side
        if self.config.positions == "learned":
            table = resample_positions(
                self.positions.detach(), (before, before), (side, side), n_prefix=self.n_prefix
            )
            model.positions = nn.Parameter(table)
        elif hasattr(self, "positions"):
            model.positions = model._fixed_positions().to(self.positions)
        for rotation in model.rotations:
            if isinstance(rotation, (AxialRotary, MixedRotary)):
                rotation.rows, rotation.columns = side, side
            if isinstance(rotation, AxialRotary):
                rotation.keep_tables()
                rotation.to(self.cls_token)  # computes the tables for its type and device
        return model

    def _fixed_positions(self) -> Tensor:
        """Sinusoids of the patches; tokens that are no patches stand nowhere."""
        config, side = self.config, self.config.side
        if config.positions == "fixed":
            table = spatial_positions(side, side, config.d_model)
        elif config.positions == "added":
            table = summed_positions(side, side, config.d_model)
        else:
            table = sinusoidal_positions(config.n_patches, config.d_model)
        return torch.cat([table.new_zeros(self.n_prefix, config.d_model), table])

    def _rotations(self, fused: bool, generator: torch.Generator | None) -> nn.ModuleList:
        """Rotation of queries and keys in each layer; None where positions are added."""
        config, side = self.config, self.config.side
        d_head = config.d_model // config.n_heads
        if config.positions == "axial":
            shared = AxialRotary(d_head, side, side, n_prefix=self.n_prefix, fused=fused)
            return nn.ModuleList([shared] * config.n_layers)
        n_layers = config.n_layers if config.positions == "mixed" else 0
        return nn.ModuleList(
            MixedRotary(
                d_head,
                config.n_heads,
                side,
                side,
                n_prefix=self.n_prefix,
                fused=fused,
                generator=generator,
            )
            for _ in range(n_layers)
        )


keep_in_step(ViT, lambda model: {"positions": model._fixed_positions()})


_SIXTEEN: dict[str, Any] = {
    "image_size": 224,
    "patch_size": 16,
    "n_classes": 1000,
    "n_layers": 12,
    "dropout": 0.0,
    "positions": "learned",
    "eps": 1e-6,
}
PRESETS: dict[str, dict[str, Any]] = {
    "ti16": {**_SIXTEEN, "d_model": 192, "n_heads": 3, "d_ff": 768},
    "s16": {**_SIXTEEN, "d_model": 384, "n_heads": 6, "d_ff": 1536},
    "b16": {**_SIXTEEN, "d_model": 768, "n_heads": 12, "d_ff": 3072},
    "cifar": {},
}
"""By name, the fields of :class:`ViTConfig` that are not those of the CIFAR-10 report's model."""


def vit(name: str, *, generator: torch.Generator | None = None, **changes: Any) -> ViT:
    """A published model: ViT-Ti/16, ViT-S/16, ViT-B/16, or the CIFAR-10 report's.

    The report says that its model has 5.7 million parameters, which is what ViT-Ti/16 has. Fields
    of the :class:`ViTConfig`, such as ``n_classes``, can be set otherwise.

    Source: Touvron et al., Training Data-Efficient Image Transformers (2021), table 1, for DeiT-Ti
    (``"ti16"``) and DeiT-S (``"s16"``); Dosovitskiy et al., An Image is Worth 16x16 Words (2021),
    table 1, for ``"b16"``.
    """
    if name not in PRESETS:
        raise ValueError(f"no preset {name!r}; there are {', '.join(PRESETS)}")
    return ViT(ViTConfig(**PRESETS[name] | changes), generator=generator)
