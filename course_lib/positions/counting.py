"""Four ways to number the words of a sentence that fail, kept to show how each of them does."""

import torch
from torch import Tensor


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
    """The position in binary, lowest digit first, ``(..., n_bits)``.

    How many digits differ says little about the distance.
    """
    if positions.numel() and not 0 <= positions.min() <= positions.max() < 2**n_bits:
        raise ValueError(
            f"positions reach from {positions.min()} to {positions.max()}, wanted 0 to "
            f"{2**n_bits - 1} for {n_bits} binary digits"
        )
    return (positions[..., None] >> torch.arange(n_bits) & 1).float()


def sine_code(positions: Tensor, period: float) -> Tensor:
    """The height of one wave, ``(..., 1)``: what it passes going up, it passes going down again."""
    return (2 * torch.pi * positions[..., None].double() / period).sin()
