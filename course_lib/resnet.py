"""Residual convolutional network: what vision transformers are compared with."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class BasicBlock(nn.Module):
    """Two 3x3 convolutions whose result is added to what came in.

    ``relu(shortcut(x) + norm(conv(relu(norm(conv(x))))))``. The shortcut is the identity unless
    the number of channels or the resolution changes; then it is a 1x1 convolution with a norm. A
    stride of 2, of the first convolution, halves the resolution.

    Source: He et al., Deep Residual Learning for Image Recognition (2016), figure 2 and section
    3.3, option B.
    """

    def __init__(self, in_channels: int, out_channels: int, *, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(out_channels)
        self.shortcut: nn.Sequential | None = None
        if stride != 1 or in_channels != out_channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_channels, out_channels, 1, stride, bias=False),
                nn.BatchNorm2d(out_channels),
            )

    def forward(self, x: Tensor) -> Tensor:
        """Make ``(B, out_channels, height / stride, width / stride)``, rounded up."""
        hidden = F.relu(self.norm1(self.conv1(x)))
        residual = x if self.shortcut is None else self.shortcut(x)
        # The sum is used nowhere else, so it may be overwritten.
        return F.relu_(self.norm2(self.conv2(hidden)) + residual)


class ResNetStage(nn.Sequential):
    """Blocks of one resolution; the first of them, with its stride, may halve it."""

    def __init__(
        self, in_channels: int, out_channels: int, *, n_blocks: int = 2, stride: int = 1
    ) -> None:
        if n_blocks < 1:
            raise ValueError(f"n_blocks is {n_blocks}, wanted at least 1")
        super().__init__(
            BasicBlock(in_channels, out_channels, stride=stride),
            *(BasicBlock(out_channels, out_channels) for _ in range(n_blocks - 1)),
        )


@dataclass(frozen=True)
class ResNetConfig:
    """Configuration of a :class:`ResNet`; the defaults are ResNet-18 for small images.

    Each stage has a width, its channels, and a number of blocks; the stem is as wide as the first.

    Example:
        Two convolutions a block, the stem, and the classifier make 18 layers.

        >>> 2 * sum(ResNetConfig().n_blocks) + 2
        18
    """

    n_channels: int = 3
    n_classes: int = 10
    widths: tuple[int, ...] = (64, 128, 256, 512)
    n_blocks: tuple[int, ...] = (2, 2, 2, 2)

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        if not self.widths or len(self.widths) != len(self.n_blocks):
            raise ValueError(
                f"widths has {len(self.widths)} stages and n_blocks {len(self.n_blocks)}, "
                "wanted the same number, at least 1"
            )


class ResNet(nn.Module):
    """Classify images with stages of residual blocks and a mean over what is left of the image.

    The stem for small images is one 3x3 convolution. That of ImageNet, a 7x7 convolution with
    stride 2 and a pooling with stride 2, would leave 8 x 8 of 32 x 32 pixels to the first stage.

    Source: He et al. (2016); the stem is that of section 4.2 for CIFAR-10.
    """

    def __init__(self, config: ResNetConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        first, last = config.widths[0], config.widths[-1]
        self.stem = nn.Sequential(
            nn.Conv2d(config.n_channels, first, 3, padding=1, bias=False), nn.BatchNorm2d(first)
        )
        self.stages = nn.ModuleList(
            ResNetStage(before, width, n_blocks=n_blocks, stride=1 if i == 0 else 2)
            for i, (before, width, n_blocks) in enumerate(
                zip((first, *config.widths), config.widths, config.n_blocks, strict=False)
            )
        )
        self.head = nn.Linear(last, config.n_classes)
        for part in self.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight, mode="fan_out", generator=generator)
        nn.init.xavier_normal_(self.head.weight, generator=generator)
        nn.init.zeros_(self.head.bias)

    def features(self, images: Tensor) -> list[Tensor]:
        """Output of each stage for images ``(B, C, height, width)``.

        For each it is ``(B, width, height / s, width / s)``, where s doubles from stage to stage.
        """
        n_channels = self.config.n_channels
        if images.ndim != 4 or images.shape[1] != n_channels:
            raise ValueError(
                f"images have shape {tuple(images.shape)}, wanted (B, {n_channels}, height, width)"
            )
        if not images.is_floating_point():
            raise ValueError(f"images have dtype {images.dtype}, wanted a floating-point one")
        x = F.relu(self.stem(images))
        found = []
        for stage in self.stages:
            x = stage(x)
            found.append(x)
        return found

    def forward(self, images: Tensor) -> Tensor:
        """Classify images ``(B, C, height, width)`` as logits ``(B, n_classes)``."""
        return self.head(self.features(images)[-1].mean(dim=(2, 3)))


def resnet18(n_classes: int = 10, *, generator: torch.Generator | None = None) -> ResNet:
    """ResNet-18 with the stem for small images: 11,173,962 parameters with 10 classes."""
    return ResNet(ResNetConfig(n_classes=n_classes), generator=generator)
