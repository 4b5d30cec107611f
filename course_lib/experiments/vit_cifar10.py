"""Training of vision transformers on CIFAR-10: images that vary, and two optimisers."""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def augment(images: Tensor, generator: torch.Generator, crop: bool) -> Tensor:
    """Flip half of the images ``(B, 3, H, W)``; shift each by up to 4 pixels if ``crop``."""
    n, _, height, width = images.shape
    flip = torch.rand(n, generator=generator) < 0.5
    images = torch.where(flip.view(-1, 1, 1, 1).to(images.device), images.flip(-1), images)
    if not crop:
        return images
    down, right = torch.randint(9, (2, n, 1), generator=generator).to(images.device)
    rows = torch.arange(height, device=images.device) + down
    columns = torch.arange(width, device=images.device) + right
    padded = F.pad(images, (4, 4, 4, 4)).permute(0, 2, 3, 1)  # (B, H + 8, W + 8, 3)
    batch = torch.arange(n, device=images.device).view(-1, 1, 1)
    return padded[batch, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2)


def make_optimizer(
    model: nn.Module, name: Literal["sgd", "adamw"], learning_rate: float, weight_decay: float
) -> torch.optim.Optimizer:
    """The report's optimiser, or the one that transformers are usually trained with."""
    if name == "sgd":
        return torch.optim.SGD(
            model.parameters(), lr=learning_rate, momentum=0.9, weight_decay=weight_decay
        )
    return torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=weight_decay)
