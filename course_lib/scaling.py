"""Why scores are divided by the square root of the width: from spread to saturation to gradient.

A dot product of ``Dh`` terms spreads like ``sqrt(Dh)``. Scores that spread widely make a softmax
pick a single key. A softmax that has picked passes almost no gradient back to its scores.
"""

import math

from torch import Tensor

__all__ = ["saturation_lead", "score_moments", "softmax_gradient", "softmax_sensitivity"]


def score_moments(
    d_head: int,
    q_std: float = 1.0,
    k_std: float = 1.0,
    correlation: float = 0.0,
    *,
    scale: float | None = None,
) -> tuple[float, float]:
    """Mean and standard deviation of the score ``scale * q·k`` of a random query and key.

    The entries of both vectors are normal with mean 0; entry i of the query is correlated with
    entry i of the key and with nothing else. Then ``q_i k_i`` has the mean ``r s_q s_k`` and the
    variance ``s_q^2 s_k^2 (1 + r^2)``, and the score is a sum of ``d_head`` such products.

    Source: for r = 0, Vaswani et al., Attention Is All You Need (2017), section 3.2.1; the fourth
    moment for r != 0 is Isserlis' theorem.

    Args:
        d_head: Width of query and key.
        q_std: Standard deviation of the query's entries.
        k_std: Standard deviation of the key's entries.
        correlation: Of entry i of the query with entry i of the key, from -1 to 1; 1 with equal
            standard deviations means that the key *is* the query.
        scale: Factor on the dot product; ``1 / sqrt(d_head)`` if not given.

    Returns:
        Mean and standard deviation.

    Raises:
        ValueError: If the width is not positive, a deviation is negative or the correlation is
            not in -1..1.

    Example:
        Dividing by sqrt(d_head) gives variance 1 to independent vectors of variance 1. Without it
        the spread grows with the width.

        >>> score_moments(64)
        (0.0, 1.0)
        >>> score_moments(64, scale=1.0)
        (0.0, 8.0)

        A vector's score with itself is neither centred nor of variance 1.

        >>> mean, std = score_moments(64, correlation=1.0)
        >>> mean, round(std, 3)
        (8.0, 1.414)
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
    """Pass a gradient back through a softmax: ``w * (g - sum(g * w))``, row by row.

    This is the product of g with the Jacobian ``diag(w) - w w^T``, without building it. Every score
    feels every weight, because they share one normaliser.

    Args:
        weights: What the softmax returned, ``(..., S)``; rows of zeros pass nothing back.
        grad_weights: Gradient of the loss with respect to the weights, ``(..., S)``.

    Returns:
        Gradient of the loss with respect to the scores, ``(..., S)``; each row sums to 0.

    Raises:
        ValueError: If the shapes differ.

    Example:
        Half-way between two keys the gradient passes; once one of them has won, it doesn't.

        >>> import torch
        >>> g = torch.tensor([1.0, 0.0])
        >>> softmax_gradient(torch.tensor([0.5, 0.5]), g)
        tensor([ 0.2500, -0.2500])
        >>> softmax_gradient(torch.tensor([0.0, 1.0]), g)
        tensor([0., 0.])
    """
    if weights.shape != grad_weights.shape:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)} and their gradient "
            f"{tuple(grad_weights.shape)}, wanted the same"
        )
    return weights * (grad_weights - (grad_weights * weights).sum(dim=-1, keepdim=True))


def softmax_sensitivity(weights: Tensor) -> Tensor:
    """How much a softmax still yields to its scores: the trace of its Jacobian, ``1 - sum(w^2)``.

    Args:
        weights: Rows that sum to 1, ``(..., S)``.

    Returns:
        One number a row, ``(...)``: from ``1 - 1/S`` for equal weights down to 0 for a single key.

    Example:
        >>> import torch
        >>> softmax_sensitivity(torch.tensor([[0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0]]))
        tensor([0.7500, 0.0000])
    """
    return 1 - weights.square().sum(dim=-1)


def saturation_lead(n_keys: int, share: float = 0.01) -> float:
    """The lead at which the winning weight's slope has fallen to a share of its largest value.

    One key scores higher by ``lead`` than all others, which score alike. The winner's weight w has
    the slope ``w (1 - w)`` in its own score, at most 1/4 (at w = 1/2). Solving
    ``w (1 - w) = share / 4`` for the larger w, and ``w = 1 / (1 + (n_keys - 1) exp(-lead))`` for
    the lead, gives the result.

    Args:
        n_keys: Number of keys, at least 2.
        share: The share of the largest slope, above 0 and at most 1.

    Returns:
        The lead, in units of the scores.

    Raises:
        ValueError: If there are fewer than 2 keys or the share is not in (0, 1].

    Example:
        A gradient of 1 % is reached long before anything overflows: ``exp`` overflows in single
        precision at 88.7.

        >>> round(saturation_lead(2), 2)
        5.99
        >>> round(saturation_lead(64), 2)
        10.13
    """
    if n_keys < 2:
        raise ValueError(f"n_keys is {n_keys}, wanted at least 2")
    if not 0 < share <= 1:
        raise ValueError(f"share is {share}, wanted a number above 0 and at most 1")
    # (1 + r)^2 / share is w / (1 - w) for w = (1 + r) / 2, free of the cancellation in 1 - w.
    root = math.sqrt(1 - share)
    return 2 * math.log1p(root) - math.log(share) + math.log(n_keys - 1)
