"""Sinusoidal positions on a line, their properties, and four ways to number words that fail."""

import torch
from torch import Tensor

from course_lib.positions.rotary import rotary_frequencies


def sinusoidal_encoding(positions: Tensor, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Encode positions ``(...)``: channels 2i and 2i + 1 are sin and cos of ``p base^(-2i/D)``.

    D is even, the positions need not be whole. In float32 unless they are in float64, ``(..., D)``.

    Source: Vaswani et al., Attention Is All You Need (2017), section 3.5.

    >>> sinusoidal_encoding(torch.tensor(1), 2)  # sin 1, cos 1
    tensor([0.8415, 0.5403])
    """
    if d_model < 2 or d_model % 2:
        raise ValueError(f"d_model is {d_model}, wanted a positive even number")
    # In single precision the angle of position 5000 would be off in the fourth digit.
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64, device=positions.device) / d_model
    angles = positions[..., None].double() * base**-exponents
    encoding = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return encoding if positions.dtype == torch.float64 else encoding.float()


def sinusoidal_positions(max_len: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Encode the positions 0, 1, ... of a sequence: ``(max_len, D)``, added to the embeddings."""
    if max_len < 0:
        raise ValueError(f"max_len is {max_len}, wanted at least 0")
    return sinusoidal_encoding(torch.arange(max_len), d_model, base=base)


def wavelengths(d_model: int, *, base: float = 10_000.0) -> Tensor:
    """After how many positions each pair begins again, ``(D / 2,)``: ``2 pi base^(2i / D)``."""
    # Vaswani et al. (2017), section 3.5, round the longest one up to 2 pi base.
    return 2 * torch.pi / rotary_frequencies(d_model, base=base)


def shift_matrix(shift: float, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """The matrix ``(D, D)`` that moves any code on: pair i turns by ``shift base^(-2i/D)``."""
    angles = shift * rotary_frequencies(d_model, base=base)
    cos, sin = angles.cos(), angles.sin()
    return torch.block_diag(*torch.stack([cos, sin, -sin, cos], dim=-1).unflatten(-1, (2, 2)))


def code_similarity(distance: Tensor, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Inner product of two codes from the distance ``(...)`` of their positions alone.

    It is the sum of ``cos(k base^(-2i/D))`` over the pairs i, which does not only fall from 0.
    """
    angles = distance[..., None].double() * rotary_frequencies(
        d_model, base=base, device=distance.device
    )
    return angles.cos().sum(dim=-1)


def integer_code(positions: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """The position itself, ``(..., 1)``: unbounded, inexact where the dtype runs out of digits.

    >>> integer_code(torch.tensor([2047, 2048, 2049]), torch.float16).flatten().tolist()
    [2047.0, 2048.0, 2048.0]
    """
    return positions[..., None].to(dtype)


def ratio_code(positions: Tensor, length: int) -> Tensor:
    """Measure how far through the sequence, ``(..., 1)``: what it means depends on the length."""
    return positions[..., None].double() / length


def binary_code(positions: Tensor, n_bits: int) -> Tensor:
    """The position in binary, lowest digit first, ``(..., n_bits)``."""
    if positions.numel() and not 0 <= positions.min() <= positions.max() < 2**n_bits:
        raise ValueError(
            f"positions reach from {positions.min()} to {positions.max()}, wanted 0 to "
            f"{2**n_bits - 1} for {n_bits} binary digits"
        )
    return (positions[..., None] >> torch.arange(n_bits, device=positions.device) & 1).float()


def sine_code(positions: Tensor, period: float) -> Tensor:
    """The height of one wave, ``(..., 1)``: what it passes going up, it passes going down again."""
    return (2 * torch.pi * positions[..., None].double() / period).sin()
