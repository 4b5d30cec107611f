"""Embedding of an Informer: values, their time, and their place in the window."""

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from course_lib.informer.config import InformerConfig
from course_lib.informer.places import PositionVectors
from course_lib.positions.sinusoidal import sinusoidal_positions
from course_lib.positions.tables import keep_in_step

# Month, day, weekday, hour, quarter of an hour; months and days count from 1.
_SIZES = (13, 32, 7, 24, 4)


def calendar_fields(dates: NDArray[np.datetime64], minutes: bool = False) -> Tensor:
    """Month, day, weekday and hour of times ``(R,)`` as numbers to look up, ``(R, 4)``.

    Months and days count from 1, weekdays from 0 on Monday; with minutes ``(R, 5)``, the quarter
    of the hour 0..3 last.

    Example:
        >>> calendar_fields(np.array(["2016-07-01T23:45"], "datetime64[m]"), minutes=True)
        tensor([[ 7,  1,  4, 23,  3]])
    """
    day = dates.astype("datetime64[D]")
    month = dates.astype("datetime64[M]")
    minute = (dates.astype("datetime64[m]") - day).astype(int)
    fields = [
        month.astype(int) % 12 + 1,
        (day - month.astype("datetime64[D]")).astype(int) + 1,
        # 1 January 1970 was a Thursday.
        (day.astype(int) + 3) % 7,
        minute // 60,
    ]
    if minutes:
        fields.append(minute % 60 // 15)
    return torch.from_numpy(np.stack(fields, axis=-1))


class TokenEmbedding(nn.Module):
    """Turns each step and its neighbours into a token, by a convolution three steps wide.

    With ``causal`` a token is made of its step and the two before it, with zeros before the first.
    Otherwise it has one step on either side, and the ends of the sequence are neighbours.

    Source: Zhou et al., Informer (2021), "The Uniform Input Representation".

    Example:
        The last step leaks into the first token.

        >>> x = torch.zeros(1, 5, 2)
        >>> x[:, -1] = 1.0
        >>> for causal in (False, True):
        ...     embed = TokenEmbedding(2, 8, causal=causal)
        ...     (embed(x) != embed(torch.zeros(1, 5, 2))).any(-1).int()[0].tolist()
        [1, 0, 0, 1, 1]
        [0, 0, 0, 0, 1]
    """

    def __init__(self, in_channels: int, d_model: int, *, causal: bool = False) -> None:
        super().__init__()
        self.causal = causal
        self.conv = nn.Conv1d(in_channels, d_model, kernel_size=3)
        nn.init.kaiming_normal_(self.conv.weight, mode="fan_in", nonlinearity="leaky_relu")

    def forward(self, x: Tensor) -> Tensor:
        """Embed values ``(B, T, C)`` as tokens ``(B, T, D)``."""
        if x.ndim != 3 or x.shape[-1] != self.conv.in_channels:
            raise ValueError(
                f"values have shape {tuple(x.shape)}, wanted (B, T, {self.conv.in_channels})"
            )
        if self.causal:
            padded = F.pad(x, (0, 0, 2, 0))
        else:
            padded = torch.cat([x[:, -1:], x, x[:, :1]], dim=1)
        return self.conv(padded.transpose(1, 2)).transpose(1, 2)


class CalendarEmbedding(nn.Module):
    """Looks up month, day, weekday, hour in tables, sinusoidal or learned, and adds the vectors."""

    starts: Tensor
    table: Tensor

    def __init__(self, d_model: int, *, minutes: bool = False, learned: bool = False) -> None:
        super().__init__()
        self.sizes = _SIZES if minutes else _SIZES[:4]
        starts = torch.tensor([0, *self.sizes[:-1]]).cumsum(0)
        self.register_buffer("starts", starts, persistent=False)
        if learned:
            self.table = nn.Parameter(torch.randn(sum(self.sizes), d_model))
        else:
            tables = [sinusoidal_positions(size, d_model) for size in self.sizes]
            self.register_buffer("table", torch.cat(tables), persistent=False)

    def forward(self, time: Tensor) -> Tensor:
        """Embed times ``(B, T, 4)``, or 5, of :func:`calendar_fields` as ``(B, T, D)``."""
        if time.is_floating_point() or time.shape[-1] != len(self.sizes):
            raise ValueError(
                f"time has shape {tuple(time.shape)} and dtype {time.dtype}, wanted integers "
                f"(B, T, {len(self.sizes)}) as calendar_fields makes them"
            )
        return self.table[time + self.starts].sum(dim=-2)


def _tables(embed: CalendarEmbedding) -> dict[str, Tensor]:
    tables = [sinusoidal_positions(size, embed.table.shape[1]) for size in embed.sizes]
    starts = torch.tensor([0, *embed.sizes[:-1]]).cumsum(0)
    return {"starts": starts, "table": torch.cat(tables)}


keep_in_step(CalendarEmbedding, _tables)


class InformerEmbedding(nn.Module):
    """Adds what is embedded of values, time and place, as far as the configuration wants them."""

    def __init__(self, config: InformerConfig, max_len: int) -> None:
        super().__init__()
        D = config.d_model
        self.values = TokenEmbedding(config.in_channels, D, causal=config.token_padding == "causal")
        self.time: nn.Module | None = None
        if config.time == "features":
            self.time = nn.Linear(config.n_time_features, D)
        elif config.time != "none":
            self.time = CalendarEmbedding(
                D, minutes=config.minutes, learned=config.time == "learned"
            )
        self.positions = PositionVectors(config, max_len) if config.vectors_at_input else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, time: Tensor | None = None) -> Tensor:
        """Embed values ``(B, T, C)`` and their times ``(B, T, F)`` as tokens ``(B, T, D)``."""
        tokens = self.values(x)
        if self.time is not None:
            if time is None or time.shape[:2] != x.shape[:2]:
                raise ValueError(
                    f"time has shape {None if time is None else tuple(time.shape)}, wanted "
                    f"({x.shape[0]}, {x.shape[1]}, F), F numbers for each step"
                )
            tokens = tokens + self.time(time)
        if self.positions is not None:
            tokens = tokens + self.positions(x.shape[1]).to(tokens.dtype)
        return self.dropout(tokens)
