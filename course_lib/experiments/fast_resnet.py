"""A residual network for pictures of 32 x 32 that needs few epochs.

Known from races for CIFAR-10 (Page, How to train your ResNet, 2018; Jordan, 94% on CIFAR-10 in 3.29
Seconds on a Single GPU, 2024, sections 3 and 4): a first layer that is computed, convolutions that
begin as the identity, pooling in the place of strides, norms that shift but don't scale.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_N_WHITE = 12  # a patch of 2 x 2 pixels in three colours


def whitening_filters(pictures: Tensor) -> Tensor:
    """The 12 filters that whiten 2 x 2 patches of ``(B, 3, H, W)``, and their negatives."""
    patches = F.unfold(pictures, 2).movedim(1, 0).flatten(1).double()  # (12, B * patches)
    variances, directions = torch.linalg.eigh(patches @ patches.T / patches.shape[1])
    # Directions in which pictures hardly differ would be noise made large.
    filters = (directions / (variances + 5e-4).sqrt()).T.flip(0).view(_N_WHITE, 3, 2, 2)
    return torch.cat([filters, -filters]).to(pictures.dtype)


class FastResNet(nn.Module):
    """Whitening of pictures like ``(B, 3, H, W)``, stages with a residual, a linear classifier."""

    def __init__(
        self,
        pictures: Tensor,
        widths: Sequence[int],
        n_classes: int = 10,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.whiten = nn.Conv2d(3, 2 * _N_WHITE, 2, bias=False)
        self.whiten.weight.requires_grad_(False).copy_(whitening_filters(pictures))
        self.stages = nn.Sequential(
            *(
                _Stage(before, width, generator)
                for before, width in zip((2 * _N_WHITE, *widths), widths, strict=False)
            )
        )
        self.head = nn.Linear(widths[-1], n_classes, bias=False)
        nn.init.kaiming_uniform_(self.head.weight, a=5**0.5, generator=generator)

    def forward(self, pictures: Tensor) -> Tensor:
        """Classify a batch: normalised ``(B, 3, H, W)`` to logits ``(B, n_classes)``."""
        features = self.stages(F.gelu(self.whiten(pictures)))
        # The largest answers, made small: at the start all classes are about equally likely.
        return self.head(features.amax(dim=(2, 3))) / 9


class _Stage(nn.Module):
    """Half the resolution, then add what one convolution makes of it."""

    def __init__(self, before: int, width: int, generator: torch.Generator | None) -> None:
        super().__init__()
        self.conv1, self.conv2 = (
            _identity(before, width, generator),
            _identity(width, width, generator),
        )
        self.norm1, self.norm2 = _Shift(width), _Shift(width)

    def forward(self, x: Tensor) -> Tensor:
        x = F.gelu(self.norm1(F.max_pool2d(self.conv1(x), 2)))
        return x + F.gelu(self.norm2(self.conv2(x)))


class _Shift(nn.BatchNorm2d):
    """A norm whose outputs all have the deviation 1; it learns only where they begin to count."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.weight.requires_grad_(False)


def _identity(before: int, width: int, generator: torch.Generator | None) -> nn.Conv2d:
    """A 3 x 3 convolution whose first channels begin as copies of what comes in."""
    made = nn.Conv2d(before, width, 3, padding=1, bias=False)
    nn.init.kaiming_uniform_(made.weight, a=5**0.5, generator=generator)
    nn.init.dirac_(made.weight[: min(before, width)])
    return made
