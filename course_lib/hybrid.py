"""Convolutions first, attention afterwards."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import FeedForward, xavier_init
from course_lib.positions.window import WindowBias
from course_lib.vit import check_images


class SqueezeExcitation(nn.Module):
    """Weight each channel by what the whole image has in all channels.

    Source: Hu et al., Squeeze-and-Excitation Networks (2018), section 3.
    """

    def __init__(self, n_channels: int, n_hidden: int) -> None:
        super().__init__()
        self.squeeze = nn.Linear(n_channels, n_hidden)
        self.excite = nn.Linear(n_hidden, n_channels)

    def forward(self, x: Tensor) -> Tensor:
        """Scale the channels of ``(B, C, height, width)``."""
        factors = self.excite(F.gelu(self.squeeze(x.mean(dim=(2, 3))))).sigmoid()
        return x * factors[:, :, None, None]


class InvertedBottleneck(nn.Module):
    """A convolution in more channels than come in and go out (MBConv), pre-norm.

    1x1 to E times as many channels, depth-wise 3x3, squeeze and excitation, 1x1 back; norms in
    between, GELU after the first two. Where the resolution is halved the depth-wise convolution
    has stride 2, and the shortcut a mean over 2x2 and a 1x1 convolution.

    Source: Sandler et al., MobileNetV2 (2018), figure 4; Dai et al., CoAtNet (2021), section 2.1.
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, stride: int = 1, expansion: int = 4
    ) -> None:
        super().__init__()
        hidden = expansion * out_channels
        self.norm = nn.BatchNorm2d(in_channels)
        self.expand = nn.Conv2d(in_channels, hidden, 1, bias=False)
        self.expand_norm = nn.BatchNorm2d(hidden)
        self.depthwise = nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False)
        self.depthwise_norm = nn.BatchNorm2d(hidden)
        self.squeeze_excitation = SqueezeExcitation(hidden, out_channels)
        self.project = nn.Conv2d(hidden, out_channels, 1)
        self.shortcut = _shortcut(in_channels, out_channels, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Make ``(B, out_channels, height / s, width / s)``, s the stride, of ``(B, C, ...)``."""
        hidden = F.gelu(self.expand_norm(self.expand(self.norm(x))))
        hidden = F.gelu(self.depthwise_norm(self.depthwise(hidden)))
        return self.shortcut(x) + self.project(self.squeeze_excitation(hidden))


class RelativeBlock(nn.Module):
    """Attention over a grid with a learned bias for each offset, then feed-forward, pre-norm.

    The bias w of an offset is what a convolution has for a kernel, the inner product what attention
    adds: ``softmax(q_i . k_j / sqrt(Dh) + w_(i - j))``. Where the number of channels changes, a
    linear map comes before attention.

    Source: Dai et al., CoAtNet: Marrying Convolution and Attention for All Data Sizes (2021),
    equation 3.

    Args:
        side: Rows and columns of the grid after the stride.
        stride: 1, or 2 to halve the resolution by a mean over 2x2.
    """

    def __init__(
        self,
        in_channels: int,
        d_model: int,
        n_heads: int,
        side: int,
        *,
        stride: int = 1,
        d_ff: int | None = None,
        dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.stride, self.side = stride, side
        self.attention_norm = nn.LayerNorm(in_channels)
        self.enter = nn.Linear(in_channels, d_model) if in_channels != d_model else nn.Identity()
        self.attention = MultiHeadAttention(d_model, n_heads, dropout=dropout, fused=fused)
        self.bias = WindowBias(n_heads, side, side)
        self.shortcut = _shortcut(in_channels, d_model, stride)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        d_ff = 4 * d_model if d_ff is None else d_ff
        self.feed_forward = FeedForward(d_model, d_ff, activation="gelu", dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, *, return_weights: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """Make ``(B, D, side, side)`` of ``(B, C, side * stride, side * stride)``.

        The weights are ``(B, H, N, N)`` with ``N = side^2``.
        """
        want = self.side * self.stride
        if x.ndim != 4 or x.shape[2:] != (want, want):
            raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, C, {want}, {want})")
        tokens = self.attention_norm(x.permute(0, 2, 3, 1))
        if self.stride > 1:
            tokens = F.avg_pool2d(tokens.permute(0, 3, 1, 2), self.stride).permute(0, 2, 3, 1)
        tokens = self.enter(tokens.flatten(1, 2))
        weights = None
        out = self.attention(tokens, bias=self.bias()[None], return_weights=return_weights)
        if return_weights:
            out, weights = out
        tokens = self.shortcut(x).permute(0, 2, 3, 1).flatten(1, 2) + self.dropout(out)
        tokens = tokens + self.dropout(self.feed_forward(self.feed_forward_norm(tokens)))
        result = tokens.transpose(1, 2).unflatten(2, (self.side, self.side))
        return result if weights is None else (result, weights)


@dataclass(frozen=True)
class HybridConfig:
    """Configuration of a :class:`Hybrid`; the defaults suit images of 32 x 32.

    The first stage has the resolution of the stem, each further one half of that before it.

    Args:
        stem_stride: Of the stem: 2 halves the resolution at once, which costs a quarter.
        widths, n_blocks: Channels and blocks of each stage; the stem is as wide as the first.
        n_conv_stages: Number of convolutional stages, which come first; the rest attend.

    Example:
        Two convolutional stages, then attention over as many tokens as 4 x 4 patches would make.

        >>> HybridConfig().sides
        (32, 16, 8)
    """

    image_size: int = 32
    n_channels: int = 3
    n_classes: int = 10
    stem_stride: int = 1
    widths: tuple[int, ...] = (32, 64, 128)
    n_blocks: tuple[int, ...] = (2, 2, 4)
    n_conv_stages: int = 2
    d_head: int = 32
    dropout: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        n_stages = len(self.widths)
        if not n_stages or n_stages != len(self.n_blocks) or min(self.n_blocks) < 1:
            raise ValueError(
                f"widths has {n_stages} stages and n_blocks is {self.n_blocks}, "
                "wanted at least one block for each stage"
            )
        if not 0 <= self.n_conv_stages <= n_stages:
            raise ValueError(f"n_conv_stages is {self.n_conv_stages}, wanted 0 to {n_stages}")
        if self.stem_stride < 1 or self.d_head < 1:
            raise ValueError(
                f"stem_stride is {self.stem_stride} and d_head {self.d_head}, wanted at least 1"
            )
        smallest = self.stem_stride * 2 ** (n_stages - 1)
        if self.image_size < 1 or self.image_size % smallest:
            raise ValueError(f"image_size is {self.image_size}, wanted a multiple of {smallest}")
        for width in self.widths[self.n_conv_stages :]:
            if width % self.d_head:
                raise ValueError(f"d_head is {self.d_head}, wanted a divisor of the width {width}")

    @property
    def sides(self) -> tuple[int, ...]:
        """Rows and columns of each stage's grid."""
        first = self.image_size // self.stem_stride
        return tuple(first // 2**i for i in range(len(self.widths)))


class Hybrid(nn.Module):
    """Classify images with stages of convolutions, then stages of attention.

    Convolutions see neighbours and are cheap where there are many places; attention sees all and
    comes where few are left. No position is added anywhere: convolutions pad the border, and the
    bias of attention knows offsets.

    Source: Dai et al., CoAtNet (2021), section 2.2.
    """

    def __init__(
        self, config: HybridConfig, *, fused: bool = True, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.config = config
        width = config.widths[0]
        self.stem = nn.Sequential(
            nn.Conv2d(config.n_channels, width, 3, config.stem_stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.GELU(),
            nn.Conv2d(width, width, 3, padding=1),
        )
        self.blocks = nn.ModuleList()
        stages = zip(config.widths, config.n_blocks, config.sides, strict=True)
        for stage, (out, n_blocks, side) in enumerate(stages):
            for i in range(n_blocks):
                stride = 2 if stage and not i else 1
                self.blocks.append(
                    InvertedBottleneck(width, out, stride=stride)
                    if stage < config.n_conv_stages
                    else RelativeBlock(
                        width,
                        out,
                        out // config.d_head,
                        side,
                        stride=stride,
                        dropout=config.dropout,
                        fused=fused,
                    )
                )
                width = out
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, config.n_classes)
        xavier_init(self, generator=generator)
        for part in self.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight, mode="fan_out", generator=generator)
                if part.bias is not None:
                    nn.init.zeros_(part.bias)
            elif isinstance(part, WindowBias):
                nn.init.trunc_normal_(part.table, std=0.02, generator=generator)

    def forward(
        self, images: Tensor, *, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, list[Tensor]]:
        """Classify images ``(B, C, height, width)`` as logits ``(B, n_classes)``.

        Each block that attends has weights ``(B, H, N, N)``, with ``N = side^2`` of its stage.
        """
        config = self.config
        check_images(images, config.n_channels, config.image_size)
        x = self.stem(images)
        maps = []
        for block in self.blocks:
            if return_weights and isinstance(block, RelativeBlock):
                x, weights = block(x, return_weights=True)
                maps.append(weights)
            else:
                x = block(x)
        logits = self.head(self.norm(x.mean(dim=(2, 3))))
        return (logits, maps) if return_weights else logits


def hybrid_cifar(
    n_classes: int = 10,
    *,
    image_size: int = 32,
    fused: bool = True,
    generator: torch.Generator | None = None,
) -> Hybrid:
    """A small hybrid for 32 x 32 pixels: 994,138 parameters with 10 classes."""
    config = HybridConfig(image_size=image_size, n_classes=n_classes)
    return Hybrid(config, fused=fused, generator=generator)


def _shortcut(in_channels: int, out_channels: int, stride: int) -> nn.Module:
    """The way around a block: as it is where it can be, else pooled and mapped."""
    if stride == 1 and in_channels == out_channels:
        return nn.Identity()
    pool = nn.AvgPool2d(stride) if stride > 1 else nn.Identity()
    return nn.Sequential(pool, nn.Conv2d(in_channels, out_channels, 1))
