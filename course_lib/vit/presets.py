"""Vision transformers with a name."""

from typing import Any

import torch

from course_lib.vit.config import ViTConfig
from course_lib.vit.model import ViT

_SIXTEEN: dict[str, Any] = {
    "image_size": 224, "patch_size": 16, "n_classes": 1000, "n_layers": 12, "dropout": 0.0,
    "positions": "learned", "eps": 1e-6,
}  # fmt: skip
PRESETS: dict[str, dict[str, Any]] = {
    "ti16": {**_SIXTEEN, "d_model": 192, "n_heads": 3, "d_ff": 768},
    "s16": {**_SIXTEEN, "d_model": 384, "n_heads": 6, "d_ff": 1536},
    "b16": {**_SIXTEEN, "d_model": 768, "n_heads": 12, "d_ff": 3072},
    "cifar": {},
}
"""By name, the fields of :class:`ViTConfig` that are not those of the CIFAR-10 report's model."""


def vit(name: str, *, generator: torch.Generator | None = None, **changes: Any) -> ViT:
    """A published model: ViT-Ti/16, ViT-S/16, ViT-B/16, or the CIFAR-10 report's.

    The report says that its model has 5.7 million parameters, which is what ViT-Ti/16 has.

    Source: Touvron et al., Training Data-Efficient Image Transformers (2021), table 1, for
    ``"ti16"`` and ``"s16"``, which are called DeiT-Ti and DeiT-S there; Dosovitskiy et al., An
    Image is Worth 16x16 Words (2021), table 1, for ``"b16"``.

    Args:
        name: A key of :data:`PRESETS`.
        generator: Source of the initial weights; torch's global one if not given.
        **changes: Fields of :class:`ViTConfig` to set otherwise, such as ``n_classes``.

    Raises:
        ValueError: If there is no preset of that name.

    Example:
        >>> with torch.device("meta"):  # no memory, no weights
        ...     models = {name: vit(name) for name in PRESETS}
        >>> {name: sum(p.numel() for p in model.parameters()) for name, model in models.items()}
        {'ti16': 5717416, 's16': 22050664, 'b16': 86567656, 'cifar': 6347082}
    """
    if name not in PRESETS:
        raise ValueError(f"no preset {name!r}; there are {', '.join(PRESETS)}")
    return ViT(ViTConfig(**PRESETS[name] | changes), generator=generator)
