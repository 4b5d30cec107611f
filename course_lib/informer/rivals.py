"""Forecasts by attention with other tokens than the Informer's: stretches of time, or variables."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from course_lib.transformer import Encoder

Level = Literal["last", "window"]


class PatchForecast(nn.Module):
    """Every variable by itself, a token for each stretch of its past.

    All variables share the weights and never hear from each other. The blocks have layer norms; the
    paper's have batch norms. A token is ``patch`` steps long, and the next begins ``stride`` later.

    Source: Nie et al., A Time Series is Worth 64 Words (PatchTST, 2023), section 3.1.
    """

    def __init__(
        self,
        seq_len: int,
        pred_len: int,
        *,
        d_model: int = 32,
        n_heads: int = 4,
        d_ff: int = 64,
        n_layers: int = 2,
        patch: int = 16,
        stride: int = 8,
    ) -> None:
        super().__init__()
        if not 1 <= patch <= seq_len or stride < 1:
            raise ValueError(
                f"patch is {patch} and stride {stride}, wanted a patch of 1 to {seq_len} steps "
                "and a stride of at least 1"
            )
        self.patch, self.stride = patch, stride
        n_tokens = (seq_len - patch) // stride + 1
        self.embed = nn.Linear(patch, d_model)
        self.positions = nn.Parameter(0.02 * torch.randn(n_tokens, d_model))
        self.encoder = Encoder(d_model, n_heads, d_ff, n_layers)
        self.head = nn.Linear(n_tokens * d_model, pred_len)

    def forward(
        self, x: Tensor, x_time: Tensor | None = None, y_time: Tensor | None = None
    ) -> Tensor:
        """Forecast ``(B, pred_len, C)`` from values ``(B, seq_len, C)``; times are not used."""
        patches = x.transpose(1, 2).unfold(2, self.patch, self.stride).flatten(0, 1)
        tokens = self.encoder(self.embed(patches) + self.positions)
        return self.head(tokens.flatten(1)).unflatten(0, (len(x), -1)).transpose(1, 2)


class ChannelForecast(nn.Module):
    """A token for each variable, with its whole past; there are no positions to add.

    Source: Liu et al., iTransformer (2024), section 3.

    Example:
        Variables in another order are forecast alike.

        >>> model, x = ChannelForecast(64, 24), torch.randn(2, 64, 7)
        >>> torch.allclose(model(x).flip(2), model(x.flip(2)), atol=1e-5)
        True
    """

    def __init__(
        self,
        seq_len: int,
        pred_len: int,
        *,
        d_model: int = 32,
        n_heads: int = 4,
        d_ff: int = 64,
        n_layers: int = 2,
    ) -> None:
        super().__init__()
        self.embed = nn.Linear(seq_len, d_model)
        self.encoder = Encoder(d_model, n_heads, d_ff, n_layers)
        self.head = nn.Linear(d_model, pred_len)

    def forward(
        self, x: Tensor, x_time: Tensor | None = None, y_time: Tensor | None = None
    ) -> Tensor:
        """Forecast ``(B, pred_len, C)`` from values ``(B, seq_len, C)``; times are not used."""
        tokens = self.encoder(self.embed(x.transpose(1, 2)))
        forecast: Tensor = self.head(tokens)
        return forecast.transpose(1, 2)


class Levelled(nn.Module):
    """A forecast relative to the window that is read: its level is taken off, and added again.

    The level is the ``"last"`` value, as in NLinear (Zeng et al., 2023, section 4), or that of the
    ``"window"``: mean and deviation, as in RevIN (Kim et al., 2022) without its learned scale.
    ``model`` makes ``(B, pred_len, C)`` of ``(B, seq_len, C)`` and the times of both parts.
    """

    def __init__(self, model: nn.Module, level: Level) -> None:
        super().__init__()
        if level not in get_args(Level):
            raise ValueError(f"level is {level!r}, wanted one of {get_args(Level)}")
        self.model, self.level = model, level

    def forward(
        self, x: Tensor, x_time: Tensor | None = None, y_time: Tensor | None = None
    ) -> Tensor:
        """Forecast ``(B, pred_len, C)``; the times pass on to the model."""
        if self.level == "last":
            shift, scale = x[:, -1:], torch.ones_like(x[:, -1:])
        else:
            shift = x.mean(dim=1, keepdim=True)
            scale = (x.var(dim=1, keepdim=True, correction=0) + 1e-5).sqrt()
        forecast: Tensor = self.model((x - shift) / scale, x_time, y_time)
        return forecast * scale + shift
