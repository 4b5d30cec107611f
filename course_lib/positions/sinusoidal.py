"""Sinusoidal positions on a line."""

import torch
from torch import Tensor


def sinusoidal_encoding(positions: Tensor, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Encode any positions: channels 2i and 2i + 1 are ``sin`` and ``cos`` of ``p base^(-2i/D)``.

    Source: Vaswani et al., Attention Is All You Need (2017), section 3.5.

    Args:
        positions: Numbers of any shape ``(...)``; they need not be whole.
        d_model: Width D, even.
        base: Ratio of the longest period to the shortest in the limit of a wide D.

    Returns:
        ``(..., D)``, float32 unless the positions are float64.

    Raises:
        ValueError: If D is not a positive even number.

    Example:
        A shift by k turns each sine-cosine pair by an angle that does not depend on the position,
        so the inner product of two codes depends on their distance alone.

        >>> here, there = sinusoidal_encoding(torch.tensor([[5, 7], [105, 107]]), 64).unbind(1)
        >>> (here * there).sum(-1).round(decimals=2)
        tensor([28.3000, 28.3000])
    """
    if d_model < 2 or d_model % 2:
        raise ValueError(f"d_model is {d_model}, wanted a positive even number")
    # In single precision the angle of position 5000 would be off in the fourth digit.
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64, device=positions.device) / d_model
    angles = positions[..., None].double() * base**-exponents
    encoding = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return encoding if positions.dtype == torch.float64 else encoding.float()


def sinusoidal_positions(max_len: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Encode the positions 0, 1, ... of a sequence.

    Args:
        max_len: Number of positions.
        d_model: Width D, even.
        base: As in :func:`sinusoidal_encoding`.

    Returns:
        Table ``(max_len, D)``, float32, to be added to the token embeddings.

    Raises:
        ValueError: If D is not a positive even number or ``max_len`` is negative.

    Example:
        >>> sinusoidal_positions(2, d_model=4, base=100.0)
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0998, 0.9950]])
    """
    if max_len < 0:
        raise ValueError(f"max_len is {max_len}, wanted at least 0")
    return sinusoidal_encoding(torch.arange(max_len), d_model, base=base)
