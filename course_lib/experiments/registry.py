"""Experiments: settings, sizes, a function that runs one setting, and questions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from course_lib.experiments.questions import Question
from course_lib.experiments.record import DataUse
from grader.base.errors import Refused


@dataclass(frozen=True)
class Size:
    """Size of an experiment."""

    config: Mapping[str, Any]  # all settings that the arms share
    seeds: tuple[int, ...]  # seeds of the committed set
    minutes: float  # expected time of one arm and seed
    machine: str  # on what that time is expected
    step: int = 0  # when its turn is in course run --all: small steps come first
    arms: tuple[str, ...] = ()  # the arms of the committed set; all if not given
    own: bool = False  # whether this is the setting of the document that the experiment repeats
    reading: str = ""  # where the document leaves open when a run is tested: when this one is


@dataclass(frozen=True)
class Job:
    """One run that is to be done."""

    arm: str
    config: Mapping[str, Any]  # all settings, the arm's own included
    seed: int
    device: torch.device
    checkpoint: Path  # where training keeps its state between epochs, to go on after a kill
    progress: bool


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run."""

    data: list[DataUse]  # the data sets used
    metrics: list[dict[str, float]]  # one row an epoch, with wall_seconds and device_seconds
    results: dict[str, Any]
    # Tensors kept beside the record, by :func:`course_lib.trained.pack_weights`; usually none.
    weights: tuple[Mapping[str, Tensor], Mapping[str, str]] | None = None
    # Values for each test item, ``(N,)`` by name: booleans or errors.
    items: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A named experiment."""

    name: str
    title: str
    arms: Mapping[str, Mapping[str, Any]]  # settings of each arm, by its name
    # "cpu" in minutes, "day" in hours on one core, "full" as the document has it, or some of them.
    sizes: Mapping[str, Size]
    train: Callable[[Job], Outcome]  # runs one job
    questions: Sequence[Question] = ()  # what its records decide

    def config(self, arm: str, size: str) -> dict[str, Any]:
        """All settings of an arm."""
        if arm not in self.arms:
            raise Refused(f"{self.name} has the arms {', '.join(self.arms)}, got {arm!r}")
        if size not in self.sizes:
            raise Refused(f"{self.name} has the sizes {', '.join(self.sizes)}, got {size!r}")
        return {**self.sizes[size].config, **self.arms[arm]}

    def committed(self, size: str) -> list[tuple[str, int]]:
        """Arms and seeds of the committed set by seed; of size ``cpu`` with the fresh ones."""
        if size not in self.sizes:
            raise Refused(f"{self.name} has the sizes {', '.join(self.sizes)}, got {size!r}")
        what = self.sizes[size]
        runs = {(seed, arm) for seed in what.seeds for arm in what.arms or self.arms}
        if size == "cpu":
            runs |= {(s, a) for q in self.questions for s in q.fresh for a in q.arms}
        order = list(self.arms)
        return [(a, s) for s, a in sorted(runs, key=lambda run: (run[0], order.index(run[1])))]


def experiment(
    name: str,
    title: str,
    arms: Mapping[str, Mapping[str, Any]],
    sizes: Mapping[str, Size],
    questions: Sequence[Question] = (),
) -> Callable[[Callable[[Job], Outcome]], Experiment]:
    """Make an experiment of the function that runs one job; arguments as in ``Experiment``."""

    def decorate(train: Callable[[Job], Outcome]) -> Experiment:
        return Experiment(name, title, arms, sizes, train, questions)

    return decorate
