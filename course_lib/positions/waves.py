"""Properties of sinusoidal positions of an even width D: wavelengths, shifts, distances."""

import torch
from torch import Tensor

from course_lib.positions.rotary import rotary_frequencies


def wavelengths(d_model: int, *, base: float = 10_000.0) -> Tensor:
    """After how many positions each pair begins again, ``(D / 2,)``: ``2 pi base^(2i / D)``."""
    # Vaswani et al. (2017), section 3.5, round the longest one up to 2 pi base.
    return 2 * torch.pi / rotary_frequencies(d_model, base=base)


def shift_matrix(shift: float, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """The matrix ``(D, D)`` that moves any code on: pair i turns by ``shift base^(-2i/D)``.

    Source: Vaswani et al., Attention Is All You Need (2017), section 3.5, names the property.
    """
    angles = shift * rotary_frequencies(d_model, base=base)
    cos, sin = angles.cos(), angles.sin()
    return torch.block_diag(*torch.stack([cos, sin, -sin, cos], dim=-1).unflatten(-1, (2, 2)))


def code_similarity(distance: Tensor, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Inner product of two codes from the distance ``(...)`` of their positions alone.

    It is the sum of ``cos(k base^(-2i/D))`` over the pairs i, as ``sin a sin b + cos a cos b =
    cos(a - b)``. It is largest at 0, where it is D / 2, and does not fall all the way from there.
    """
    angles = distance[..., None].double() * rotary_frequencies(
        d_model, base=base, device=distance.device
    )
    return angles.cos().sum(dim=-1)
