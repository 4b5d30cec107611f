"""Why scores are divided by the square root of the width: from spread to saturation to gradient."""

import math

from torch import Tensor


def score_moments(
    d_head: int,
    q_std: float = 1.0,
    k_std: float = 1.0,
    correlation: float = 0.0,
    *,
    scale: float | None = None,
) -> tuple[float, float]:
    """Mean and standard deviation of the score ``scale * q·k`` of a random query and key.

    Entries are normal with mean 0; entry i of the query is correlated by r with entry i of the key
    alone. ``q_i k_i`` has the mean ``r s_q s_k`` and the variance ``s_q^2 s_k^2 (1 + r^2)``.

    Source: for r = 0, Vaswani et al., Attention Is All You Need (2017), section 3.2.1; the fourth
    moment for r != 0 is Isserlis' theorem.
    """
    if d_head < 1:
        raise ValueError(f"d_head is {d_head}, wanted at least 1")
    if q_std < 0 or k_std < 0:
        raise ValueError(f"standard deviations are {q_std} and {k_std}, wanted at least 0")
    if not -1 <= correlation <= 1:
        raise ValueError(f"correlation is {correlation}, wanted a number from -1 to 1")
    scale = d_head**-0.5 if scale is None else scale
    mean = d_head * correlation * q_std * k_std
    std = math.sqrt(d_head * (1 + correlation**2)) * q_std * k_std
    return scale * mean, abs(scale) * std


def softmax_gradient(weights: Tensor, grad_weights: Tensor) -> Tensor:
    """Pass a gradient ``(..., S)`` back through a softmax: ``w * (g - sum(g * w))``.

    The product of g with the Jacobian ``diag(w) - w w^T``, without building it.
    """
    if weights.shape != grad_weights.shape:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)} and their gradient "
            f"{tuple(grad_weights.shape)}, wanted the same"
        )
    return weights * (grad_weights - (grad_weights * weights).sum(dim=-1, keepdim=True))


def saturation_lead(n_keys: int, share: float = 0.01) -> float:
    """The lead at which the winning weight's slope has fallen to a share of its largest value.

    One key scores higher by ``lead`` than all others, which score alike. Its weight w has the slope
    ``w (1 - w)``, at most 1/4. Solve that for ``share / 4``, then ``w = 1 / (1 + (n-1) e^-lead)``.
    """
    if n_keys < 2:
        raise ValueError(f"n_keys is {n_keys}, wanted at least 2")
    if not 0 < share <= 1:
        raise ValueError(f"share is {share}, wanted a number above 0 and at most 1")
    # (1 + r)^2 / share is w / (1 - w) for w = (1 + r) / 2, free of the cancellation in 1 - w.
    root = math.sqrt(1 - share)
    return 2 * math.log1p(root) - math.log(share) + math.log(n_keys - 1)
