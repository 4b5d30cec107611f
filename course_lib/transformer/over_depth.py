"""Attention over the outputs of earlier layers, in the place of their residual sum."""

import torch.nn.functional as F
from torch import Tensor


def attend_over_depth(outputs: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
    """Mix what ``L`` layers have put out, ``(L, B, T, D)``, each token by itself.

    The outputs are the values; divided by their root mean squares they are the keys. One layer's
    learned query ``(D,)`` asks them; with 0 the mixture is the mean. Returns the mixture
    ``(B, T, D)`` and the weights ``(L, B, T)``.

    Source: Kimi Team, Attention Residuals (2026).
    """
    if outputs.ndim != 4 or len(outputs) == 0:
        raise ValueError(f"outputs are {tuple(outputs.shape)}, wanted (L, B, T, D) with L > 0")
    if query.shape != outputs.shape[-1:]:
        raise ValueError(f"query is {tuple(query.shape)}, wanted ({outputs.shape[-1]},)")
    weights = (F.rms_norm(outputs, query.shape) @ query).softmax(dim=0)
    return (weights[..., None] * outputs).sum(dim=0), weights
