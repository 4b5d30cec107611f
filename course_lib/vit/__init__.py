"""Vision Transformer: an image becomes a sequence of patches."""

from course_lib.vit.block import VisionBlock
from course_lib.vit.config import Pooling, Positions, ViTConfig, ViTCosts, vit_costs
from course_lib.vit.distillation import DistilledViT, distillation_loss
from course_lib.vit.model import PRESETS, ViT, vit
from course_lib.vit.patches import check_images, patchify, rearrange_patches
from course_lib.vit.pictures import load_picture
from course_lib.vit.resolution import resample_positions
from course_lib.vit.three_questions import (
    QUESTIONS,
    Scenes,
    answers_right,
    red_scenes,
    train_on_scenes,
)
from course_lib.vit.trained import Kept, load_kept
