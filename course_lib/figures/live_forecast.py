"""The course's trained Informer and a line, which forecast a series that a reader makes up."""

import html
import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib.data.ett import time_features
from course_lib.figures.base import Figure, mulberry32, slider, switch, table
from course_lib.figures.live_vit import mixed_order
from course_lib.figures.models import BEGIN, kilobytes
from course_lib.informer import Informer, load_forecasters, repeat_last, seasonal_naive

Head = tuple[str, int, int]
"""Kind of attention, layer and number of a head, from 0."""

HOURS, READ, AHEAD, JUMP = 336, 96, 24, 200
"""Hours of a series, those that are read and forecast, and the one at which it jumps."""
PLACES = (("encoder", 0), ("encoder", 1), ("decoder", 0), ("cross", 0))
"""Kind and layer of all attention, four heads each."""
NAMES = {"informer": "Informer", "line": "line", "yesterday": "yesterday", "last": "last value"}


@cache
def _wander() -> tuple[float, ...]:
    """Random slow rise and fall."""
    made, now = [], 0.0
    for number in mulberry32(0, HOURS):
        now = 0.9 * now + 1.5 * (float(number) - 0.5)
        made.append(round(now, 3))
    return tuple(made)


@dataclass(frozen=True)
class Options(Figure):
    """First state; ``hour``: the first one that is forecast, counted from :data:`BEGIN`."""

    title = "An Informer and a line at work."
    use = (
        "Make up a series and move the window along it. Shuffle the history, take positions, the "
        "calendar or heads away, and see which forecasts change."
    )

    hour: int = slider(228, "forecast from hour", READ, HOURS - AHEAD)
    level: int = slider(14, "level", 0, 30)  # of the series, in degrees
    swing: float = slider(3.0, "daily swing", 0, 8)  # by how much a day goes up and down
    trend: float = slider(0.0, "trend, a day", -3, 3)  # degrees a day
    noise: float = slider(1.0, "chance", 0, 3)  # how much of it is chance
    jump: int = slider(0, "jump", -10, 10)  # by how much it jumps at hour JUMP, for good
    last: int = slider(0, "raise last hour", -10, 10)  # what is added to the last hour that is read
    shuffled: bool = switch(False, "shuffle the history")
    placed: bool = switch(True, "positions")  # whether the Informer is told the places of hours
    timed: bool = switch(True, "calendar")  # whether it is told hour, weekday and date
    wander: Sequence[float] = field(default_factory=_wander)  # the chance, an hour each
    kilobytes: int = field(default_factory=partial(kilobytes, "forecast"))

    @property
    def series(self) -> list[float]:
        """All hours in degrees."""
        return [
            self.level
            + self.trend * (t - HOURS / 2) / 24
            + self.swing * math.cos(2 * math.pi * (t - 15) / 24)
            + self.noise * chance
            + self.jump * (t >= JUMP)
            for t, chance in enumerate(self.wander)
        ]

    def find(self) -> dict[str, Any]:
        series, start = self.series, self.hour - READ
        values = series[start : self.hour]
        values[-1] += self.last
        return live_forecast(
            values,
            series[self.hour : self.hour + AHEAD],
            start,
            mixed_order(READ) if self.shuffled else range(READ),
            self.placed,
            self.timed,
            off=[],
        )

    def say(self, found: dict[str, Any]) -> str:
        """Tell the errors, the smallest first."""
        errors = found["errors"]
        told = (f"{NAMES[name]} {errors[name]:.3f}" for name in sorted(errors, key=errors.get))
        return f"Forecast from hour {self.hour}. Squared errors: {', '.join(told)}."

    @property
    def still(self) -> str:
        """Errors of all forecasts in a few states, where no script draws them."""
        states = {
            "as it is": self,
            "history shuffled": replace(self, shuffled=True),
            "no positions": replace(self, placed=False),
            "no calendar": replace(self, timed=False),
            "last hour 5 degrees higher": replace(self, last=5),
        }
        heads = (f"<th scope='col'>{name}</th>" for name in NAMES.values())
        rows = [["<td></td>", *heads]]
        for name, state in states.items():
            errors = state.find()["errors"]
            cells = (f"<td>{errors[key]:.3f}</td>" for key in NAMES)
            rows.append([f"<th scope='row'>{html.escape(name)}</th>", *cells])
        caption = f"Mean squared error of four forecasts of a made-up series, from hour {self.hour}"
        drawn = table(rows).replace("<table>", f"<table><caption>{caption}</caption>")
        named = f'tabindex="0" role="region" aria-label="{caption}"'
        return f'<div class="figure-scroll live-still" {named}>{drawn}</div>'


@cache
def _exact() -> tuple[Informer, Tensor, float, float]:
    """Both in double precision, as a page computes."""
    kept = load_forecasters()
    return kept.model.double(), kept.line, kept.mean, kept.std


def _without(off: Sequence[Head], placed: bool, timed: bool) -> Informer:
    """The Informer without some of its heads, its positions or its calendar."""
    model = deepcopy(_exact()[0])
    width = model.config.d_model // model.config.n_heads
    for kind, layer, head in off:
        layers = model.encoder_layers if kind == "encoder" else model.decoder_layers
        name = "cross_attention" if kind == "cross" else "attention"
        out = layers[layer].get_submodule(f"{name}.out_proj")
        out.get_parameter("weight").data[:, width * head : width * (head + 1)] = 0
    for embedding in (model.encoder_embedding, model.decoder_embedding):
        if not placed:
            embedding.positions = None
        if not timed:
            embedding.time = None
    return model


@torch.no_grad()
def live_forecast(
    values: Sequence[float],
    truth: Sequence[float],
    start: int,
    order: Sequence[int] = range(READ),
    placed: bool = True,
    timed: bool = True,
    off: Sequence[Head] = (),
) -> dict[str, Any]:
    """Forecast a day from four.

    Returns ``forecasts`` of each of :data:`NAMES`, in degrees (24), their mean squared ``errors``,
    in standard deviations of the training rows as everywhere, and ``maps``: to which 48 tokens of
    the history each forecast hour looks in each head of the cross-attention (4, 24, 48).
    """
    _, line, mean, std = _exact()
    read = (torch.tensor(values, dtype=torch.float64)[list(order)] - mean) / std
    wanted = (torch.tensor(truth, dtype=torch.float64) - mean) / std
    begin = np.datetime64("{}-{:02}-{:02}T00:00".format(*BEGIN), "m")
    hours = begin + (start + np.arange(READ + AHEAD)) * np.timedelta64(60, "m")
    times = time_features(hours).double()[None]
    model = _without(off, placed, timed)
    looks: list[Tensor] = []
    cross = model.decoder_layers[0].get_submodule("cross_attention")

    def keep(_module: object, given: tuple[Tensor, Tensor]) -> None:
        hook.remove()
        looks.append(cross(*given, return_weights=True)[1])

    hook = cross.register_forward_pre_hook(keep)
    x = read[None, :, None]
    made = {
        "informer": model(x, times[:, :READ], times[:, READ:]).flatten(),
        "line": torch.cat([read, torch.ones(1)]) @ line,
        "yesterday": seasonal_naive(x, AHEAD, 24).flatten(),
        "last": repeat_last(x, AHEAD).flatten(),
    }
    return {
        "forecasts": {name: (y * std + mean).tolist() for name, y in made.items()},
        "errors": {name: (y - wanted).square().mean().item() for name, y in made.items()},
        "maps": looks[0][0, :, -AHEAD:].tolist(),
    }
