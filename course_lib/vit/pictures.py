"""Pictures from files, as small squares that a model can read."""

from pathlib import Path
from typing import IO

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, ImageOps
from torch import Tensor


def load_picture(file: str | Path | IO[bytes], size: int = 32) -> Tensor:
    """Read a picture of any kind as bytes ``(1, 3, size, size)``: a small square.

    The largest square in its middle is cut out and made smaller by means over areas, as a camera
    would see it from far away. Grey pictures get three equal channels, transparent ones a white
    ground, and turned ones are turned upright.
    """
    if size < 1:
        raise ValueError(f"size is {size}, wanted at least 1")
    with Image.open(file) as opened:
        picture = ImageOps.exif_transpose(opened).convert("RGBA")
    ground = Image.new("RGBA", picture.size, "white")
    picture = Image.alpha_composite(ground, picture).convert("RGB")
    pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1)[None]
    height, width = pixels.shape[-2:]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    square = pixels[..., top : top + side, left : left + side].float()
    small = F.interpolate(square, size=(size, size), mode="bilinear", antialias=True)
    return small.round().clamp(0, 255).to(torch.uint8)
