"""Sinusoidal positions on a line."""

import torch
from torch import Tensor


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
