"""Effect of shuffled patches on a vision transformer and a convolutional network.

The sequence-and-space essay says that a vision transformer hardly notices when patches are
shuffled, and learns relations from content more than from position. Here patches are shuffled at
four grid sizes, under positions that stay and together with their positions; and networks learn
from pictures that have all been shuffled alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.experiments.questions import from_table
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.vit_ablations import CPU, FULL, Seeing, SeeingRun, as_config
from course_lib.training import accuracy, seeded_generator
from course_lib.vit import ViT, rearrange_patches

GRIDS = (2, 4, 8, 16)
"""Tiles along a side of a picture that is shuffled."""


@dataclass(frozen=True)
class ShuffledRun(SeeingRun):
    """All settings of a run.

    ``shuffled``: tiles along a side of all pictures, in training and in the test, that one order,
    drawn by the seed, has put elsewhere; 0 to leave pictures as they are.
    """

    shuffled: int = 0
    n_test: int = 10_000  # the first so many test images count at the end, as they are and shuffled


_CPU = ShuffledRun(
    **vars(replace(CPU, patch_size=4, n_layers=2, n_train=3_000, n_watched=500, epochs=4)),
    n_test=1_000,
)
_FULL = ShuffledRun(**vars(FULL))
ARMS: dict[str, dict[str, Any]] = {
    "vit": {},
    "resnet": {"kind": "resnet"},
    "vit-one-order": {"shuffled": 8},
    "resnet-one-order": {"kind": "resnet", "shuffled": 8},
}
_ESSAY = "the sequence-and-space essay"


def _drop(grid: int) -> Callable[[Record], float]:
    """Measure how much accuracy a shuffle of so many tiles along a side costs."""

    def drop(record: Record) -> float:
        found = record.results["patches_shuffled"]
        return float(found["as it was"] - found[f"grid {grid}"])

    return drop


QUESTIONS = from_table("permutation", {f"drop {grid}": _drop(grid) for grid in {*GRIDS, 16}})
"""Questions: which network loses by a shuffle, new or always the same, and a control."""


class Shuffling(Seeing):
    """A run whose pictures may all be shuffled alike, and that ends with shuffled tests."""

    settings: ShuffledRun

    def change(self, pictures: Tensor) -> Tensor:
        """Put tiles where the order of this seed has them."""
        grid = self.settings.shuffled
        if not grid:
            return pictures
        order = torch.randperm(grid**2, generator=seeded_generator(self.job.seed, 1, 0))
        return rearrange_patches(pictures, order, pictures.shape[-1] // grid)

    def n_test(self) -> int:
        """As the settings say: each picture is looked at up to eight times."""
        return self.settings.n_test

    def after(self, model: nn.Module, pictures: Tensor, labels: Tensor) -> dict[str, Any]:
        """Accuracy on shuffled tests, by grid, without positions and with them."""
        results = {"patches_shuffled": {"as it was": _accuracy(model, pictures, labels)}}
        for grid in GRIDS:
            orders = _orders(self.job.seed, grid)
            results["patches_shuffled"][f"grid {grid}"] = _accuracy(
                model, pictures, labels, grid, orders
            )
        if isinstance(model, ViT) and hasattr(model, "positions"):
            # A tile must be whole patches, or there is no position that it could take along.
            results["positions_too"] = {
                f"grid {grid}": _accuracy(
                    model, pictures, labels, grid, _orders(self.job.seed, grid), along=True
                )
                for grid in GRIDS
                if model.config.side % grid == 0
            }
        return results


def _orders(seed: int, grid: int) -> list[Tensor]:
    """A hundred orders of the tiles; each is for every hundredth picture."""
    generator = seeded_generator(seed, 2, grid)
    return [torch.randperm(grid**2, generator=generator) for _ in range(100)]


def _accuracy(
    model: nn.Module,
    pictures: Tensor,
    labels: Tensor,
    grid: int = 1,
    orders: Sequence[Tensor] = (torch.zeros(1, dtype=torch.long),),
    *,
    along: bool = False,
) -> float:
    """Right answers if each of the orders shuffles its share of the pictures."""
    logits = []
    for i, order in enumerate(orders):
        shown = rearrange_patches(pictures[i :: len(orders)], order, pictures.shape[-1] // grid)
        logits.append(_told(model, shown, order, grid) if along else model(shown))
    answers = torch.cat([labels[i :: len(orders)] for i in range(len(orders))])
    return accuracy(torch.cat(logits), answers)


def _told(model: nn.Module, shown: Tensor, order: Tensor, grid: int) -> Tensor:
    """Answers of a transformer whose positions are shuffled as the pictures are."""
    assert isinstance(model, ViT)
    side = model.config.side
    numbers = torch.arange(side**2).view(1, 1, side, side)
    places = model.n_prefix + rearrange_patches(numbers, order, side // grid).flatten()
    kept = model.positions.data.clone()
    model.positions.data[model.n_prefix :] = kept[places]
    logits: Tensor = model(shown)
    model.positions.data = kept
    return logits


@experiment(
    "permutation",
    "shuffled patches, with and without their positions, transformer and convolutional network",
    arms=ARMS,
    sizes={
        "cpu": Size(as_config(_CPU), (0, 1, 2, 3, 4), 0.25, "one CPU core"),
        "full": Size(as_config(_FULL), (0, 1, 2), 60, "one GPU"),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm, then shuffle what it is tested on."""
    return Shuffling(job, ShuffledRun(**job.config)).run()
