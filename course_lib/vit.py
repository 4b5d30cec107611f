"""Vision Transformer: an image becomes a sequence of patches."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from course_lib.layers import EncoderBlock, xavier_init
from course_lib.positions import spatial_positions

__all__ = ["ViT", "ViTConfig", "patchify"]

Positions = Literal["fixed", "learned", "none"]
Pooling = Literal["cls", "mean"]


def patchify(images: Tensor, patch_size: int) -> Tensor:
    """Cut images into square patches and flatten each.

    A linear map of these vectors is the same as a convolution whose kernel and stride are one
    patch wide.

    Args:
        images: ``(B, C, height, width)``.
        patch_size: Side P of a patch, which divides height and width.

    Returns:
        ``(B, N, C * P * P)`` with ``N = height / P * width / P``, row after row.

    Raises:
        ValueError: If the images are not four-dimensional or P does not divide their sides.

    Example:
        >>> images = torch.arange(16).reshape(1, 1, 4, 4)
        >>> patchify(images, patch_size=2)[0]
        tensor([[ 0,  1,  4,  5],
                [ 2,  3,  6,  7],
                [ 8,  9, 12, 13],
                [10, 11, 14, 15]])
    """
    if images.ndim != 4:
        raise ValueError(f"images have shape {tuple(images.shape)}, wanted (B, C, height, width)")
    height, width = images.shape[-2:]
    if patch_size < 1 or height % patch_size or width % patch_size:
        raise ValueError(f"patch_size is {patch_size}, wanted a divisor of {height} and {width}")
    rows, columns = height // patch_size, width // patch_size
    grid = images.unflatten(3, (columns, patch_size)).unflatten(2, (rows, patch_size))
    return grid.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


@dataclass(frozen=True)
class ViTConfig:
    """What a :class:`ViT` is made of; the defaults are the CIFAR-10 report's.

    Attributes:
        image_size: Side of the square images.
        patch_size: Side of a patch.
        n_channels: Colour channels.
        n_classes: Number of classes.
        d_model: Width D of the tokens.
        n_layers: Number of blocks L.
        n_heads: Attention heads H per block.
        d_ff: Hidden width of the feed-forward parts.
        dropout: Probability of dropping tokens' channels, weights and hidden channels.
        positions: ``"fixed"`` sinusoids of row and column, a ``"learned"`` table, or ``"none"``.
        pooling: What the classifier reads: the ``"cls"`` token or the ``"mean"`` of the patches.

    Raises:
        ValueError: If a name is unknown or the sizes don't divide.

    Example:
        >>> ViTConfig().n_patches
        64
    """

    image_size: int = 32
    patch_size: int = 4
    n_channels: int = 3
    n_classes: int = 10
    d_model: int = 400
    n_layers: int = 6
    n_heads: int = 8
    d_ff: int = 512
    dropout: float = 0.1
    positions: Positions = "fixed"
    pooling: Pooling = "cls"

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        if self.positions not in get_args(Positions):
            raise ValueError(
                f"positions is {self.positions!r}, wanted one of {get_args(Positions)}"
            )
        if self.pooling not in get_args(Pooling):
            raise ValueError(f"pooling is {self.pooling!r}, wanted one of {get_args(Pooling)}")
        for name, whole in (("patch_size", "image_size"), ("n_heads", "d_model")):
            part, total = getattr(self, name), getattr(self, whole)
            if part < 1 or total % part:
                raise ValueError(f"{name} is {part}, wanted a divisor of {whole} {total}")

        if self.n_layers < 1:
            raise ValueError(f"n_layers is {self.n_layers}, wanted at least 1")

    @property
    def n_patches(self) -> int:
        """Number of patches N of an image."""
        return (self.image_size // self.patch_size) ** 2


class ViT(nn.Module):
    """Classify images with a stack of pre-norm encoder blocks.

    Positions are added after the class token has been put in front. A learned table has a row for
    it; the fixed one leaves it as it is.

    Source: Dosovitskiy et al., An Image is Worth 16x16 Words (2021).

    Args:
        config: What to build.
        generator: Source of the initial weights; torch's global one if not given.

    Example:
        >>> sum(p.numel() for p in ViT(ViTConfig()).parameters())
        6347082
        >>> model = ViT(ViTConfig(d_model=16, n_layers=2, n_heads=2, d_ff=32))
        >>> logits, weights = model(torch.zeros(5, 3, 32, 32), return_weights=True)
        >>> logits.shape, weights.shape
        (torch.Size([5, 10]), torch.Size([2, 5, 2, 65, 65]))
    """

    def __init__(self, config: ViTConfig, *, generator: torch.Generator | None = None) -> None:
        """Build the model and draw its weights."""
        super().__init__()
        self.config = config
        d_model, n_cls = config.d_model, int(config.pooling == "cls")
        n_tokens = n_cls + config.n_patches
        self.patch_proj = nn.Linear(config.n_channels * config.patch_size**2, d_model)
        # Without a class token this is a table of no rows, so that both cases are one.
        self.cls_token = nn.Parameter(torch.empty(n_cls, d_model))
        if config.positions == "fixed":
            side = config.image_size // config.patch_size
            table = torch.zeros(n_tokens, d_model)
            table[n_cls:] = spatial_positions(side, side, d_model)
            self.register_buffer("positions", table, persistent=False)
        elif config.positions == "learned":
            self.positions = nn.Parameter(torch.empty(n_tokens, d_model))
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            EncoderBlock(d_model, config.n_heads, config.d_ff, dropout=config.dropout)
            for _ in range(config.n_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, config.n_classes)
        xavier_init(self, generator=generator)
        nn.init.normal_(self.cls_token, std=0.02, generator=generator)
        if config.positions == "learned":
            nn.init.normal_(self.positions, std=0.02, generator=generator)

    def forward(
        self, images: Tensor, *, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Classify a batch.

        Args:
            images: ``(B, C, height, width)``.
            return_weights: Whether to return the attention weights too.

        Returns:
            Logits ``(B, n_classes)``, and if asked for the weights of all layers
            ``(L, B, H, T, T)`` before dropout. Token 0 is the class token, if there is one.

        Raises:
            ValueError: If the images are not of the configured size.
        """
        config = self.config
        want = (config.n_channels, config.image_size, config.image_size)
        if images.ndim != 4 or images.shape[1:] != want:
            raise ValueError(f"images have shape {tuple(images.shape)}, wanted (B, *{want})")
        x = self.patch_proj(patchify(images, config.patch_size))
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1)
        if config.positions != "none":
            x = x + self.positions
        x = self.dropout(x)
        maps = []
        for block in self.blocks:
            if return_weights:
                x, weights = block(x, return_weights=True)
                maps.append(weights)
            else:
                x = block(x)
        x = self.norm(x)
        logits = self.head(x[:, 0] if config.pooling == "cls" else x.mean(dim=1))
        return (logits, torch.stack(maps)) if return_weights else logits
