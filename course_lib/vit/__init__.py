"""Vision Transformer: an image becomes a sequence of patches."""

from course_lib.vit.block import VisionBlock
from course_lib.vit.config import Pooling, Positions, ViTConfig
from course_lib.vit.distillation import DistilledViT, distillation_loss
from course_lib.vit.model import ViT
from course_lib.vit.patches import check_images, patchify
from course_lib.vit.presets import vit_b16, vit_cifar, vit_s16, vit_ti16
from course_lib.vit.resolution import resample_positions

__all__ = [
    "DistilledViT",
    "Pooling",
    "Positions",
    "ViT",
    "ViTConfig",
    "VisionBlock",
    "check_images",
    "distillation_loss",
    "patchify",
    "resample_positions",
    "vit_b16",
    "vit_cifar",
    "vit_s16",
    "vit_ti16",
]
