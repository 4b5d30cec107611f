"""Maps of a vision transformer, put to the test: patches are painted grey in the order of a map."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor

from course_lib.attention_maps import attention_rollout, deletion_curve, random_importance
from course_lib.data.cifar import CLASSES, normalise
from course_lib.figures.base import Figure, choice, slider
from course_lib.vit import load_kept

__all__ = ["Deletion", "Options", "deletion_test", "try_maps"]

STEPS, AT_ONCE = 16, 4
"""In how many steps all patches are taken away, and how many of them at each step."""

_COLOURS = ("#a8c4dc", "#33546e", "#444444", "#ffffff", "#aa3333")  # sky, sea, hull, cabin, funnel


@dataclass(frozen=True)
class Deletion:
    """A map and what became of the answer."""

    name: str
    weights: Sequence[int]  # of the 64 patches, in ten thousandths
    curve: Sequence[float]  # probability of the right class after each step


def ship() -> Tensor:
    """Draw a ship: the number of a colour for each pixel, ``(32, 32)``."""
    places = (torch.arange(32) + 0.5) / 32
    y, x = torch.meshgrid(places.flip(0), (places - 0.5).abs(), indexing="ij")
    drawn = (y < 0.35).int()
    drawn[(y > 0.25) & (y < 0.42) & (x < 0.3 + (y - 0.25) / 1.7)] = 2
    drawn[(y > 0.42) & (y < 0.57) & (x < 0.15)] = 3
    drawn[(y > 0.57) & (y < 0.72) & (x < 0.05)] = 4
    return drawn


@cache
def try_maps() -> tuple[Deletion, ...]:
    """Test all maps of the class token for the drawn ship; the last trial is at random."""
    colours = torch.tensor([list(bytes.fromhex(colour[1:])) for colour in _COLOURS])
    image = normalise(colours[ship()].permute(2, 0, 1)[None].byte())
    model = load_kept().model
    assert model is not None  # this arm keeps it

    def score(keep: Tensor) -> Tensor:
        seen = keep.view(-1, 1, 8, 8).repeat_interleave(4, 2).repeat_interleave(4, 3)
        with torch.no_grad():
            return model(image * seen).softmax(-1)[:, CLASSES.index("ship")]

    with torch.no_grad():
        _, maps = model(image, return_weights=True)
    rows = {"rollout": attention_rollout(maps), "last layer, mean": maps[-1].mean(1)}
    for layer, heads in enumerate(maps):
        rows |= {f"layer {layer + 1}, head {h + 1}": heads[:, h] for h in range(heads.shape[1])}
    chance = torch.Generator().manual_seed(0)
    tried = {name: (1e4 * row[:, 0, 1:]).round() for name, row in rows.items()}
    falls = {name: deletion_curve(score, w, n_steps=STEPS)[:, 0] for name, w in tried.items()}
    luck = [random_importance((1, 64), chance) for _ in range(20)]
    falls["chance"] = torch.stack([deletion_curve(score, w, n_steps=STEPS) for w in luck]).mean(
        (0, 2)
    )
    tried["chance"] = torch.zeros(1, 64)
    return tuple(
        Deletion(name, tried[name][0].int().tolist(), [round(p, 4) for p in fall.tolist()])
        for name, fall in falls.items()
    )


@dataclass(frozen=True)
class Options(Figure):
    """First state; of ``trials`` the last is at random; ``pixels`` are numbers of colours."""

    title = "Does the answer rest on what the map shows?"
    use = (
        "Paint patches grey, those first that a map gives most weight. The earlier the curve "
        "falls, the better the map."
    )

    chosen: int = choice(0, "map", lambda now: {i: t.name for i, t in enumerate(now.trials[:-1])})
    step: int = slider(4, "steps", 0, STEPS)
    trials: Sequence[Deletion] = field(default_factory=try_maps)
    pixels: str = "".join(map(str, ship().flatten().tolist()))
    colours: Sequence[str] = _COLOURS  # they, as #rrggbb

    def say(self, found: dict[str, Any]) -> str:
        return (
            f"Map: {self.trials[self.chosen].name}. The {len(found['gone'])} grey patches hold "
            f"{100 * found['held']:.0f} % of its weight. Ship has the probability "
            f"{found['probability']:.2f}, and {found['chance']:.2f} if as many patches are taken "
            "at random."
        )


def deletion_test(chosen: int, step: int) -> dict[str, Any]:
    """Paint patches grey, those first that a map gives most weight.

    ``chosen``: number of the map in :func:`try_maps`. Returns ``gone``, the numbers of the patches
    in their order; ``held``, which part of the map's weight they hold; the ``probability`` of
    *ship* and that with random patches, ``chance``.
    """
    *trials, luck = try_maps()
    trial = trials[chosen]
    weights = torch.tensor(trial.weights, dtype=torch.float64)
    gone = weights.argsort(descending=True, stable=True)[: AT_ONCE * step]
    return {
        "gone": gone.tolist(),
        "held": (weights[gone].sum() / weights.sum()).item(),
        "probability": trial.curve[step],
        "chance": luck.curve[step],
    }
