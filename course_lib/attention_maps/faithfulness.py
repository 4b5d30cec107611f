"""Faithfulness of attention: delete what gets attention and measure the change."""

from collections.abc import Callable

import torch
from torch import Tensor


def deletion_curve(
    score: Callable[[Tensor], Tensor],
    importance: Tensor,
    *,
    present: Tensor | None = None,
    n_steps: int | None = None,
) -> Tensor:
    """Take tokens away, the most important first, and follow the answer: ``(n_steps + 1, B)``.

    Source: Samek et al., Evaluating the Visualization of What a Deep Neural Network Has Learned
    (2017); for words, DeYoung et al., ERASER (2020), as comprehensiveness.

    Args:
        score: From a boolean ``(B, T)``, ``True`` where a token is kept, to ``(B,)``, such as the
            probability of what was predicted. It decides what taking away means: a mask in
            attention, a mask token, a grey patch.
        importance: Of each token, ``(B, T)``; among equals the first goes first.
        present: Boolean ``(B, T)``: tokens that may be taken away, all if not given. The others
            stay ``False``.
        n_steps: In how many equal steps all are taken away; one by one if not given.

    Example:
        The answer is the sum of what is left.

        >>> values = torch.tensor([[1.0, 5.0, 3.0]])
        >>> deletion_curve(lambda keep: (values * keep).sum(dim=1), importance=values)[:, 0]
        tensor([9., 4., 1., 0.])
    """
    if importance.ndim != 2:
        raise ValueError(f"importance has shape {tuple(importance.shape)}, wanted (B, T)")
    if present is None:
        present = torch.ones_like(importance, dtype=torch.bool)
    if present.shape != importance.shape or present.dtype != torch.bool:
        raise ValueError(
            f"present is {present.dtype} {tuple(present.shape)}, wanted boolean "
            f"{tuple(importance.shape)}"
        )
    n_steps = importance.shape[1] if n_steps is None else n_steps
    if n_steps < 1:
        raise ValueError(f"n_steps is {n_steps}, wanted at least 1")
    order = importance.masked_fill(~present, -torch.inf).argsort(
        dim=1, descending=True, stable=True
    )
    rank = order.argsort(dim=1)
    n_present = present.sum(dim=1, keepdim=True)
    curve = []
    with torch.no_grad():
        for step in range(n_steps + 1):
            # Rounded up, so that the last step leaves nothing whatever the length.
            gone = (n_present * step + n_steps - 1) // n_steps
            answer = score(present & (rank >= gone))
            if answer.shape != importance.shape[:1]:
                raise ValueError(
                    f"score returned {tuple(answer.shape)}, wanted ({len(importance)},)"
                )
            curve.append(answer)
    return torch.stack(curve)


def curve_area(curve: Tensor) -> Tensor:
    """Mean height ``(B,)`` of a curve ``(n_steps + 1, B)``: small if the score falls early."""
    if curve.ndim < 1 or len(curve) < 2:
        raise ValueError(f"curve has shape {tuple(curve.shape)}, wanted at least 2 points")
    return torch.trapezoid(curve, dim=0) / (len(curve) - 1)


def gradient_importance(score: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Effect of each of ``(B, T, D)`` on the answer, ``(B, T)``: ``|sum_d x_d dscore/dx_d|``."""
    if x.ndim != 3:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, T, D)")
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(score(x).sum(), x)
    return (x * gradient).sum(dim=-1).abs().detach()


def random_importance(shape: tuple[int, int], generator: torch.Generator) -> Tensor:
    """Importances ``(B, T)`` that know nothing, to compare with: each row a random order."""
    return torch.rand(shape, generator=generator).argsort(dim=1).float()
