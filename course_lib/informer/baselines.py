"""Baselines without attention, which a model has to beat."""

import torch
from torch import Tensor


def repeat_last(x: Tensor, pred_len: int) -> Tensor:
    """Forecast ``(B, pred_len, C)``: the last step of ``(B, seq_len, C)``, again and again."""
    return x[:, -1:].expand(-1, pred_len, -1)


def seasonal_naive(x: Tensor, pred_len: int, period: int) -> Tensor:
    """Forecast ``(B, pred_len, C)``: the last ``period`` of ``(B, seq_len, C)``, repeated."""
    if not 1 <= period <= x.shape[1]:
        raise ValueError(f"period is {period}, wanted 1 to {x.shape[1]}, the steps that are read")
    return x[:, -period + torch.arange(pred_len) % period]


class LinearForecast:
    """A linear map from steps read ``(N, seq_len, C)`` to the next ``(N, pred_len, C)``.

    It is the same for every variable, and fitted by least squares: nothing to tune, nothing random.

    Source: the model LTSF-Linear of Zeng et al., Are Transformers Effective for Time Series
    Forecasting? (2023), section 4; they train it by gradient descent.
    """

    def __init__(self, x: Tensor, y: Tensor) -> None:
        if x.ndim != 3 or y.ndim != 3 or (len(x), x.shape[2]) != (len(y), y.shape[2]):
            raise ValueError(
                f"windows have the shapes {tuple(x.shape)} and {tuple(y.shape)}, wanted "
                "(N, seq_len, C) and (N, pred_len, C)"
            )
        rows = _with_constant(x.double().transpose(1, 2)).flatten(0, 1)
        wanted = y.double().transpose(1, 2).flatten(0, 1)
        # Of a rank-deficient system the driver gives the smallest solution instead of any.
        self.weight = torch.linalg.lstsq(rows, wanted, driver="gelsd").solution

    def __call__(self, x: Tensor) -> Tensor:
        """Forecast ``(B, pred_len, C)`` from ``(B, seq_len, C)``."""
        forecast = _with_constant(x.double().transpose(1, 2)) @ self.weight
        return forecast.transpose(1, 2).to(x.dtype)


def _with_constant(x: Tensor) -> Tensor:
    return torch.cat([x, torch.ones_like(x[..., :1])], dim=-1)
