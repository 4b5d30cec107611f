"""How far the positions of a sequence depend on one another through a stack of layers."""

from collections.abc import Callable

import torch
from torch import Tensor


def layers_until_reached(layers: Callable[[Tensor, int], Tensor], x: Tensor, most: int) -> int:
    """Stack layers ``layers(x, i)`` until the last position of ``(B, T, D)`` depends on the first.

    A gradient that fades over many layers can become 0 before it is: use double precision.
    """
    out = x = x.detach().requires_grad_()
    for depth in range(most):
        out = layers(out, depth)
        (gradient,) = torch.autograd.grad(out[:, -1].sum(), x, retain_graph=True)
        if gradient[:, 0].any():
            return depth + 1
    raise ValueError(f"the first position does not reach the last in {most} layers")
