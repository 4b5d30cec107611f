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

    The report says that its model has 5.7 million parameters, which is what ViT-Ti/16 has. Fields
    of the :class:`ViTConfig`, such as ``n_classes``, can be set otherwise.

    Source: Touvron et al., Training Data-Efficient Image Transformers (2021), table 1, for DeiT-Ti
    (``"ti16"``) and DeiT-S (``"s16"``); Dosovitskiy et al., An Image is Worth 16x16 Words (2021),
    table 1, for ``"b16"``.
    """
    if name not in PRESETS:
        raise ValueError(f"no preset {name!r}; there are {', '.join(PRESETS)}")
    return ViT(ViTConfig(**PRESETS[name] | changes), generator=generator)
