"""Four ways to number the words of a sentence that don't do, kept to show how each of them fails.

A code turns positions ``(T,)`` into rows ``(T, width)`` that tell a model where each token stands.
Sinusoids, in ``sinusoidal.py``, are what remains when all four have failed.
"""

import torch
from torch import Tensor


def integer_code(positions: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Say the position itself: unbounded, and no longer exact where the dtype runs out of digits.

    Args:
        positions: Whole numbers ``(...)``.
        dtype: What the code is stored in.

    Returns:
        ``(..., 1)``.

    Example:
        >>> integer_code(torch.tensor([2047, 2048, 2049]), torch.float16).flatten().tolist()
        [2047.0, 2048.0, 2048.0]
    """
    return positions[..., None].to(dtype)


def ratio_code(positions: Tensor, length: int) -> Tensor:
    """Say how far through the sequence the position is: what it means depends on the length.

    Args:
        positions: Positions from 1 to ``length``, of any shape ``(...)``.
        length: Number of tokens of the sequence.

    Returns:
        ``(..., 1)``, float64, from 0 to 1.

    Example:
        >>> ratio_code(torch.tensor(9), 10).item(), ratio_code(torch.tensor(90), 100).item()
        (0.9, 0.9)
    """
    return positions[..., None].double() / length


def binary_code(positions: Tensor, n_bits: int) -> Tensor:
    """Say the position in binary: how many digits differ says little about the distance.

    Args:
        positions: Whole numbers from 0 to ``2 ** n_bits - 1``, of any shape ``(...)``.
        n_bits: Number of digits.

    Returns:
        ``(..., n_bits)``, float32, the lowest digit first.

    Raises:
        ValueError: If a position has more digits.

    Example:
        >>> binary_code(torch.tensor([7, 8]), 4)
        tensor([[1., 1., 1., 0.],
                [0., 0., 0., 1.]])
    """
    if positions.numel() and not 0 <= positions.min() <= positions.max() < 2**n_bits:
        raise ValueError(
            f"positions reach from {positions.min()} to {positions.max()}, wanted 0 to "
            f"{2**n_bits - 1} for {n_bits} binary digits"
        )
    return (positions[..., None] >> torch.arange(n_bits) & 1).float()


def sine_code(positions: Tensor, period: float) -> Tensor:
    """Say the height of a single wave: whatever it passes going up, it passes going down again.

    Args:
        positions: ``(...)``.
        period: Number of positions after which the wave begins again.

    Returns:
        ``(..., 1)``, float64.

    Example:
        >>> sine_code(torch.arange(5), 12).flatten().float()
        tensor([0.0000, 0.5000, 0.8660, 1.0000, 0.8660])
    """
    return (2 * torch.pi * positions[..., None].double() / period).sin()
