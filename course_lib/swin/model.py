"""Swin: four stages of windows on maps that shrink."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.swin.blocks import PatchMerging, SwinBlock, drop_path_rates
from course_lib.vit import check_images, patchify


@dataclass(frozen=True)
class SwinConfig:
    """Configuration of a :class:`Swin`; the defaults are Swin-T's.

    Attributes:
        image_size: Side of the images it is meant for; others work too. A stage whose map is not
            larger than a window gets a window of that size.
        d_model: Width D of the first stage; each further stage is twice as wide.
        depths: Number of blocks of each stage; every second one moves its windows.
        mlp_ratio: Hidden width of the feed-forward sub-layers, in units of the stage's width.
        drop_path: Probability of leaving out the last block's parts for an image while training;
            it grows from 0 in the first block in equal steps.

    Example:
        >>> SwinConfig().widths, SwinConfig().maps
        ((96, 192, 384, 768), (56, 28, 14, 7))
    """

    image_size: int = 224
    patch_size: int = 4
    n_channels: int = 3
    n_classes: int = 1000
    d_model: int = 96
    depths: tuple[int, ...] = (2, 2, 6, 2)
    n_heads: tuple[int, ...] = (3, 6, 12, 24)
    window: int = 7
    mlp_ratio: int = 4
    dropout: float = 0.0
    drop_path: float = 0.2

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        if not self.depths or len(self.depths) != len(self.n_heads) or min(self.depths) < 1:
            raise ValueError(
                f"depths are {self.depths} and n_heads {self.n_heads}, wanted as many heads as "
                "stages, each stage with at least 1 block"
            )
        for name in ("image_size", "patch_size", "n_channels", "n_classes", "window", "mlp_ratio"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, wanted at least 1")
        for width, n_heads in zip(self.widths, self.n_heads, strict=True):
            if n_heads < 1 or width % n_heads:
                raise ValueError(f"n_heads is {n_heads}, wanted a divisor of the width {width}")
        for name in ("dropout", "drop_path"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, wanted a probability in [0, 1)")

    @property
    def widths(self) -> tuple[int, ...]:
        """Width of each stage."""
        return tuple(self.d_model * 2**stage for stage in range(len(self.depths)))

    @property
    def maps(self) -> tuple[int, ...]:
        """Side of each stage's map."""
        cells = (self.patch_size * 2**stage for stage in range(len(self.depths)))
        return tuple(-(-self.image_size // cell) for cell in cells)


class Swin(nn.Module):
    """Classify images with windows that move from block to block and widen from stage to stage.

    Source: Liu et al., Swin Transformer: Hierarchical Vision Transformer using Shifted Windows
    (2021).
    """

    def __init__(
        self, config: SwinConfig, *, generator: torch.Generator | None = None, fused: bool = True
    ) -> None:
        super().__init__()
        self.config = config
        self.patch_proj = nn.Linear(config.n_channels * config.patch_size**2, config.d_model)
        self.patch_norm = nn.LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        rates = iter(drop_path_rates(config.drop_path, sum(config.depths)))
        self.stages = nn.ModuleList(
            _Stage(config, stage, rates, fused) for stage in range(len(config.depths))
        )
        self.norm = nn.LayerNorm(config.widths[-1])
        self.head = nn.Linear(config.widths[-1], config.n_classes)
        for part in self.modules():
            if isinstance(part, nn.Linear):
                nn.init.trunc_normal_(part.weight, std=0.02, generator=generator)
                if part.bias is not None:
                    nn.init.zeros_(part.bias)
            elif isinstance(part, SwinBlock):
                table = part.attention.bias.table
                nn.init.trunc_normal_(table, std=0.02, generator=generator)

    def forward(
        self, images: Tensor, *, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, tuple[Tensor, ...]]:
        """Classify images ``(B, C, height, width)`` of any size as logits ``(B, n_classes)``.

        Sides that are not whole patches are filled with zeros. The weights of each block, before
        dropout, are ``(B, nW, H, N, N)`` with nW windows of N tokens.
        """
        config = self.config
        check_images(images, config.n_channels)
        P = config.patch_size
        rows, columns = (-(-side // P) for side in images.shape[2:])
        if images.shape[2:] != (rows * P, columns * P):
            extra = (columns * P - images.shape[3], rows * P - images.shape[2])
            images = F.pad(images, (0, extra[0], 0, extra[1]))
        x = self.patch_norm(self.patch_proj(patchify(images, P)))
        x = self.dropout(x).unflatten(1, (rows, columns))
        maps: list[Tensor] = []
        for stage in self.stages:
            x = stage(x, maps if return_weights else None)
        logits = self.head(self.norm(x).mean(dim=(1, 2)))
        return (logits, tuple(maps)) if return_weights else logits


class _Stage(nn.Module):
    """Merging, but for the first stage, then blocks in pairs of still and moved windows."""

    def __init__(self, config: SwinConfig, stage: int, rates: Iterator[float], fused: bool) -> None:
        super().__init__()
        width, side = config.widths[stage], config.maps[stage]
        window = min(config.window, side)
        self.merge = PatchMerging(config.widths[stage - 1]) if stage else nn.Identity()
        self.blocks = nn.ModuleList(
            SwinBlock(
                width,
                config.n_heads[stage],
                config.mlp_ratio * width,
                grid=(side, side),
                window=window,
                shift=window // 2 if i % 2 else 0,
                dropout=config.dropout,
                drop_path=next(rates),
                fused=fused,
            )
            for i in range(config.depths[stage])
        )

    def forward(self, x: Tensor, maps: list[Tensor] | None) -> Tensor:
        """Transform a grid; append the weights to the maps, if there is such a list."""
        x = self.merge(x)
        for block in self.blocks:
            if maps is None:
                x = block(x)
            else:
                x, weights = block(x, return_weights=True)
                maps.append(weights)
        return x


PRESETS: dict[str, dict[str, Any]] = {
    "t": {},
    "s": {"depths": (2, 2, 18, 2), "drop_path": 0.3},
    "b": {"d_model": 128, "depths": (2, 2, 18, 2), "n_heads": (4, 8, 16, 32), "drop_path": 0.5},
    # Swin-T itself, with patches and windows this small, would still have more than 27 million.
    "cifar": {
        "image_size": 32, "patch_size": 2, "n_classes": 10, "d_model": 64, "depths": (2, 2, 2),
        "n_heads": (2, 4, 8), "window": 4, "drop_path": 0.1,
    },
}  # fmt: skip
"""By name, the fields of :class:`SwinConfig` that are not Swin-T's."""


def swin(name: str, *, generator: torch.Generator | None = None, **changes: Any) -> Swin:
    """A published model, or a small one for images of 32 x 32.

    Fields of the :class:`SwinConfig`, such as ``n_classes``, can be set otherwise.

    Source: Liu et al., Swin Transformer (2021), section 3.3, for ``"t"``, ``"s"`` and ``"b"``. The
    small one, ``"cifar"``, is the course's: three stages on maps of 16, 8 and 4.

    Example:
        >>> with torch.device("meta"):  # no memory, no weights
        ...     models = {name: swin(name) for name in PRESETS}
        >>> {name: sum(p.numel() for p in model.parameters()) for name, model in models.items()}
        {'t': 28288354, 's': 49606258, 'b': 87768224, 'cifar': 2246822}
    """
    if name not in PRESETS:
        raise ValueError(f"no preset {name!r}; there are {', '.join(PRESETS)}")
    return Swin(SwinConfig(**PRESETS[name] | changes), generator=generator)
