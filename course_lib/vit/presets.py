"""Vision transformers with a name."""

import torch

from course_lib.vit.config import ViTConfig
from course_lib.vit.model import ViT


def vit_ti16(
    n_classes: int = 1000, *, image_size: int = 224, generator: torch.Generator | None = None
) -> ViT:
    """ViT-Ti/16: 12 layers of width 192 with 3 heads; 5,717,416 parameters with 1000 classes.

    Source: Touvron et al., Training Data-Efficient Image Transformers (2021), table 1, where it is
    called DeiT-Ti.

    Args:
        n_classes: Number of classes.
        image_size: Side of the images.
        generator: Source of the initial weights; torch's global one if not given.

    Example:
        >>> with torch.device("meta"):  # no memory, no weights
        ...     model = vit_ti16()
        >>> sum(p.numel() for p in model.parameters())
        5717416
    """
    return ViT(_sixteen(192, 3, n_classes, image_size), generator=generator)


def vit_s16(
    n_classes: int = 1000, *, image_size: int = 224, generator: torch.Generator | None = None
) -> ViT:
    """ViT-S/16: 12 layers of width 384 with 6 heads; 22,050,664 parameters with 1000 classes.

    Source: Touvron et al., Training Data-Efficient Image Transformers (2021), table 1, where it is
    called DeiT-S.

    Args:
        n_classes: Number of classes.
        image_size: Side of the images.
        generator: Source of the initial weights; torch's global one if not given.

    Example:
        >>> with torch.device("meta"):
        ...     model = vit_s16()
        >>> sum(p.numel() for p in model.parameters())
        22050664
    """
    return ViT(_sixteen(384, 6, n_classes, image_size), generator=generator)


def vit_b16(
    n_classes: int = 1000, *, image_size: int = 224, generator: torch.Generator | None = None
) -> ViT:
    """ViT-B/16: 12 layers of width 768 with 12 heads; 86,567,656 parameters with 1000 classes.

    Source: Dosovitskiy et al., An Image is Worth 16x16 Words (2021), table 1.

    Args:
        n_classes: Number of classes.
        image_size: Side of the images.
        generator: Source of the initial weights; torch's global one if not given.

    Example:
        >>> with torch.device("meta"):
        ...     model = vit_b16()
        >>> sum(p.numel() for p in model.parameters())
        86567656
    """
    return ViT(_sixteen(768, 12, n_classes, image_size), generator=generator)


def vit_cifar(*, generator: torch.Generator | None = None) -> ViT:
    """The CIFAR-10 report's model: 6 layers of width 400 with 8 heads; 6,347,082 parameters.

    The report says 5.7 million, which is what ViT-Ti/16 has.

    Args:
        generator: Source of the initial weights; torch's global one if not given.

    Example:
        >>> with torch.device("meta"):
        ...     model = vit_cifar()
        >>> sum(p.numel() for p in model.parameters())
        6347082
    """
    return ViT(ViTConfig(), generator=generator)


def _sixteen(d_model: int, n_heads: int, n_classes: int, image_size: int) -> ViTConfig:
    return ViTConfig(
        image_size=image_size,
        patch_size=16,
        n_classes=n_classes,
        d_model=d_model,
        n_layers=12,
        n_heads=n_heads,
        d_ff=4 * d_model,
        dropout=0.0,
        positions="learned",
        eps=1e-6,
    )
