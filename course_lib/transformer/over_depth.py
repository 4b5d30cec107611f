"""Attention over the outputs of earlier layers, in the place of their residual sum."""

import torch.nn.functional as F
from torch import Tensor


def attend_over_depth(outputs: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
    """Mix what ``L`` layers have put out, ``(L, B, T, D)``, each token by itself.

    Args:
        outputs: The values; divided by their root mean squares they are the keys.
        query: What one layer looks for, learned, ``(D,)``; with 0 the mixture is the mean.

    Returns:
        The mixture ``(B, T, D)`` and the weights ``(L, B, T)``.

    Raises:
        ValueError: If there is no layer, or the query has another width.

    Source: Kimi Team, Attention Residuals (2026).
    """
    if outputs.ndim != 4 or len(outputs) == 0:
        raise ValueError(f"outputs are {tuple(outputs.shape)}, wanted (L, B, T, D) with L > 0")
    if query.shape != outputs.shape[-1:]:
        raise ValueError(f"query is {tuple(query.shape)}, wanted ({outputs.shape[-1]},)")
    weights = (F.rms_norm(outputs, query.shape) @ query).softmax(dim=0)
    return (weights[..., None] * outputs).sum(dim=0), weights
