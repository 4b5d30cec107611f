"""Forecasts that know nothing of attention, and that one has to be better than."""

import torch
from torch import Tensor


def repeat_last(x: Tensor, pred_len: int) -> Tensor:
    """Forecast that everything stays as it is.

    Args:
        x: Values ``(B, seq_len, C)``.
        pred_len: Steps to forecast.

    Returns:
        The last step, again and again, ``(B, pred_len, C)``.

    Example:
        >>> repeat_last(torch.tensor([[[1.0], [3.0]]]), 2).flatten()
        tensor([3., 3.])
    """
    return x[:, -1:].expand(-1, pred_len, -1)


def seasonal_naive(x: Tensor, pred_len: int, period: int) -> Tensor:
    """Forecast that everything is as it was a period ago.

    Args:
        x: Values ``(B, seq_len, C)``.
        pred_len: Steps to forecast.
        period: Steps of a period, at most ``seq_len``.

    Returns:
        The last period, again and again, ``(B, pred_len, C)``.

    Raises:
        ValueError: If a period is longer than what is read.

    Example:
        >>> seasonal_naive(torch.tensor([[[1.0], [2.0], [3.0]]]), 3, period=2).flatten()
        tensor([2., 3., 2.])
    """
    if not 1 <= period <= x.shape[1]:
        raise ValueError(f"period is {period}, wanted 1 to {x.shape[1]}, the steps that are read")
    return x[:, -period + torch.arange(pred_len) % period]


class LinearForecast:
    """One linear map from the steps read to the steps to come, the same for every variable.

    It is fitted by least squares, so that there is nothing to tune and nothing random.

    Source: the model LTSF-Linear of Zeng et al., Are Transformers Effective for Time Series
    Forecasting? (2023), section 4; they train it by gradient descent.

    Args:
        x: Windows to fit, ``(N, seq_len, C)``.
        y: What follows them, ``(N, pred_len, C)``.

    Raises:
        ValueError: If the shapes don't fit together.

    Example:
        A straight line goes on straight.

        >>> line = torch.arange(12.0).unfold(0, 5, 1)[..., None]
        >>> forecast = LinearForecast(line[:, :3], line[:, 3:])
        >>> forecast(torch.tensor([[[20.0], [21.0], [22.0]]])).flatten().round(decimals=2)
        tensor([23., 24.])
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
        """Forecast.

        Args:
            x: Values ``(B, seq_len, C)``.

        Returns:
            Forecast ``(B, pred_len, C)``.
        """
        forecast = _with_constant(x.double().transpose(1, 2)) @ self.weight
        return forecast.transpose(1, 2).to(x.dtype)


def _with_constant(x: Tensor) -> Tensor:
    return torch.cat([x, torch.ones_like(x[..., :1])], dim=-1)
