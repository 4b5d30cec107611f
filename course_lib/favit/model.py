"""FaViT: four stages of factorised attention on maps that shrink."""

import math
from dataclasses import dataclass
from typing import Any, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.favit.attention import FactorisedAttention, split_channels
from course_lib.favit.fusion import CrossWindow, Operator
from course_lib.swin import DropPath, drop_path_rates
from course_lib.vit import check_images


@dataclass(frozen=True)
class FaViTConfig:
    """Configuration of a :class:`FaViT`; the defaults are FaViT-B0's.

    Args:
        image_size: Side of the images it is meant for; others work too, but for operators with
            weights of their own.
        widths, depths: Width of each stage, and its number of blocks.
        n_heads: Number of heads of each stage's local and dilated groups.
        mlp_ratios: Hidden width of each stage's feed-forward sub-layers, in units of its width.
        reductions: Reduction of each stage's global group and dilation of its dilated group.
        window: Samples M along a side of a window.
        operator, pool_channels: How windows are fused, see :class:`CrossWindow`.
        drop_path: Probability of leaving out the last block's parts for an image while training;
            it grows from 0 in the first block in equal steps.

    Example:
        >>> FaViTConfig().maps, FaViTConfig(image_size=32).maps
        ((56, 28, 14, 7), (8, 4, 2, 1))
    """

    image_size: int = 224
    n_channels: int = 3
    n_classes: int = 1000
    widths: tuple[int, ...] = (32, 64, 128, 256)
    depths: tuple[int, ...] = (2, 2, 6, 2)
    n_heads: tuple[int, ...] = (1, 2, 4, 8)
    mlp_ratios: tuple[int, ...] = (8, 6, 4, 4)
    reductions: tuple[int, ...] = (8, 4, 2, 1)
    window: int = 7
    operator: Operator = "mean"
    pool_channels: bool = False
    dropout: float = 0.0
    drop_path: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        for name in ("depths", "n_heads", "mlp_ratios", "reductions", "widths"):
            values = getattr(self, name)
            if len(values) != len(self.widths) or not values or min(values) < 1:
                raise ValueError(
                    f"{name} are {values}, wanted {len(self.widths)} numbers of at least 1, one "
                    "for each of the widths"
                )
        for name in ("image_size", "n_channels", "n_classes", "window"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, wanted at least 1")
        for width, reduction, n_heads in zip(
            self.widths, self.reductions, self.n_heads, strict=True
        ):
            groups = split_channels(width, reduction)
            if any(channels % n_heads for channels in groups[1:]):
                raise ValueError(f"n_heads is {n_heads}, wanted a divisor of {groups[1:]}")
        if self.operator not in get_args(Operator):
            raise ValueError(f"operator is {self.operator!r}, wanted one of {get_args(Operator)}")
        for name in ("dropout", "drop_path"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, wanted a probability in [0, 1)")

    @property
    def maps(self) -> tuple[int, ...]:
        """Side of each stage's map."""
        return tuple(-(-self.image_size // (4 * 2**stage)) for stage in range(len(self.widths)))


class FaViT(nn.Module):
    """Classify images with factorised attention on maps that shrink from stage to stage.

    Source: Qin et al., Factorization Vision Transformer: Modeling Long Range Dependency with Local
    Window Cost (2023), and its official code.
    """

    def __init__(
        self, config: FaViTConfig, *, generator: torch.Generator | None = None, fused: bool = True
    ) -> None:
        super().__init__()
        self.config = config
        rates = iter(drop_path_rates(config.drop_path, sum(config.depths)))
        self.stages = nn.ModuleList()
        for stage, (width, depth) in enumerate(zip(config.widths, config.depths, strict=True)):
            before = config.widths[stage - 1] if stage else config.n_channels
            kernel, stride = (3, 2) if stage else (7, 4)
            blocks = (
                FaViTBlock(
                    width,
                    config.n_heads[stage],
                    config.mlp_ratios[stage] * width,
                    reduction=config.reductions[stage],
                    window=config.window,
                    operator=config.operator,
                    pool_channels=config.pool_channels,
                    grid=(config.maps[stage], config.maps[stage]),
                    dropout=config.dropout,
                    drop_path=next(rates),
                    fused=fused,
                )
                for _ in range(depth)
            )
            self.stages.append(_Stage(_Embed(before, width, kernel, stride), blocks, width))
        self.head = nn.Linear(config.widths[-1], config.n_classes)
        _init(self, generator)

    def forward(
        self, images: Tensor, *, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, tuple[tuple[Tensor, ...], ...]]:
        """Classify images ``(B, C, height, width)`` as logits ``(B, n_classes)``.

        Each stage's map must be at least as large as its reduction, which with the usual ones asks
        for more than 28 pixels a side. The weights are, for each block, one ``(B, H, N, S)`` a
        group.
        """
        check_images(images, self.config.n_channels)
        maps: list[tuple[Tensor, ...]] = []
        x = images
        for stage in self.stages:
            x = stage(x, maps if return_weights else None)
        logits = self.head(x.mean(dim=(2, 3)))
        return (logits, tuple(maps)) if return_weights else logits


class FaViTBlock(nn.Module):
    """Factorised attention, then feed-forward, each behind a norm and beside a residual path.

    The feed-forward sub-layer has a depthwise 3 x 3 convolution between its two maps, which tells
    tokens where they are: there is no other code of positions. Arguments as for
    :class:`FactorisedAttention`; ``drop_path`` leaves out a part for an image while training.

    Source: Qin et al., Factorization Vision Transformer (2023), and its official code.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        reduction: int,
        window: int = 7,
        operator: Operator = "mean",
        pool_channels: bool = False,
        grid: tuple[int, int] | None = None,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(d_model, eps=1e-6)
        self.attention = FactorisedAttention(
            d_model,
            n_heads,
            reduction=reduction,
            window=window,
            operator=operator,
            pool_channels=pool_channels,
            grid=grid,
            dropout=dropout,
            fused=fused,
        )
        self.feed_forward_norm = nn.LayerNorm(d_model, eps=1e-6)
        self.in_proj = nn.Linear(d_model, d_ff)
        self.near = nn.Conv2d(d_ff, d_ff, 3, padding=1, groups=d_ff)
        self.out_proj = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.drop_path = DropPath(drop_path)

    def forward(
        self, x: Tensor, *, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, tuple[Tensor, ...]]:
        """Transform ``(B, rows, columns, D)``; weights as of :class:`FactorisedAttention`."""
        out = self.attention(self.attention_norm(x), return_weights=return_weights)
        weights = None
        if return_weights:
            out, weights = out
        x = x + self.drop_path(out)
        hidden = self.in_proj(self.feed_forward_norm(x)).permute(0, 3, 1, 2)
        hidden = self.dropout(F.gelu(self.near(hidden))).permute(0, 2, 3, 1)
        x = x + self.drop_path(self.dropout(self.out_proj(hidden)))
        return x if weights is None else (x, weights)


class _Embed(nn.Module):
    """Overlapping patches: a convolution with a stride, and a norm."""

    def __init__(self, n_channels: int, width: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(n_channels, width, kernel, stride=stride, padding=kernel // 2)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """From a map ``(B, C, height, width)`` to a grid ``(B, rows, columns, D)``."""
        return self.norm(self.proj(x).permute(0, 2, 3, 1))


class _Stage(nn.Module):
    """Patches of the map before, blocks, and a norm; from map to map."""

    def __init__(self, embed: _Embed, blocks: Any, width: int) -> None:
        super().__init__()
        self.embed = embed
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x: Tensor, maps: list[tuple[Tensor, ...]] | None) -> Tensor:
        """Transform a map; append the weights to the list, if there is one."""
        x = self.embed(x)
        for block in self.blocks:
            if maps is None:
                x = block(x)
            else:
                x, weights = block(x, return_weights=True)
                maps.append(weights)
        return self.norm(x).permute(0, 3, 1, 2)


def _init(model: nn.Module, generator: torch.Generator | None) -> None:
    """Draw linear maps small, convolutions by fan-out; operators start as the mean."""
    for part in model.modules():
        if isinstance(part, nn.Linear):
            nn.init.trunc_normal_(part.weight, std=0.02, generator=generator)
        elif isinstance(part, nn.Conv2d):
            fan_out = math.prod(part.kernel_size) * part.out_channels // part.groups
            nn.init.normal_(part.weight, std=math.sqrt(2 / fan_out), generator=generator)
        else:
            continue
        if part.bias is not None:
            nn.init.zeros_(part.bias)
    for part in model.modules():
        if isinstance(part, CrossWindow):
            part.reset_parameters()


PRESETS: dict[str, dict[str, Any]] = {
    "b0": {},
    "b1": {"widths": (64, 128, 256, 512)},
    "b2": {"widths": (64, 128, 256, 512), "depths": (2, 3, 18, 3)},
    "b3": {"widths": (96, 192, 384, 768), "depths": (2, 3, 14, 3)},
}
"""By name, the fields of :class:`FaViTConfig` that are not FaViT-B0's."""


def favit(name: str, *, generator: torch.Generator | None = None, **changes: Any) -> FaViT:
    """A published model, FaViT-B0 to FaViT-B3; ``changes``: fields of :class:`FaViTConfig`.

    Example:
        >>> with torch.device("meta"):  # no memory, no weights
        ...     models = {name: favit(name) for name in PRESETS}
        >>> {name: sum(p.numel() for p in model.parameters()) for name, model in models.items()}
        {'b0': 3427704, 'b1': 12958568, 'b2': 24919896, 'b3': 48746440}
    """
    if name not in PRESETS:
        raise ValueError(f"no preset {name!r}; there are {', '.join(PRESETS)}")
    return FaViT(FaViTConfig(**PRESETS[name] | changes), generator=generator)
