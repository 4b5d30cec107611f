"""Increments for values: attention to how a sequence moves, not to where it is."""

from torch import Tensor


def literal_delta_value(x: Tensor) -> Tensor:
    """``V_1 = x_1 + sum_{j > 1} (x_1 . x_j)(x_j - x_{j-1})``, ``(..., D)`` of ``(..., T, D)``.

    The first output as the ablation report, section 2.1, writes it: no projections, no softmax.
    """
    if x.ndim < 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (..., T, D)")
    first, later = x[..., :1, :], x[..., 1:, :]
    similarities = first @ later.transpose(-2, -1)
    return (first + similarities @ x.diff(dim=-2)).squeeze(-2)


def steps(v: Tensor) -> Tensor:
    """The increment ``(..., S, Dv)`` of each value from the one before it; 0 for the first."""
    return v.diff(dim=-2, prepend=v[..., :1, :])
