"""What an experiment is: arms, sizes, a function that runs one arm, and what it is to show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from course_lib.errors import Refused
from course_lib.experiments.questions import Question
from course_lib.experiments.record import DataUse


@dataclass(frozen=True)
class Size:
    """How large an experiment is run.

    Args:
        config: All settings that the arms share.
        seeds: Seeds of the committed set.
        minutes: Expected time of one arm and seed.
        machine: On what that time is expected.
        step: When its turn is in ``course run --all``: small steps come first.
        arms: The arms of the committed set; all if not given.
        own: Whether this is the setting of the document that the experiment repeats.
    """

    config: Mapping[str, Any]
    seeds: tuple[int, ...]
    minutes: float
    machine: str
    step: int = 0
    arms: tuple[str, ...] = ()
    own: bool = False


@dataclass(frozen=True)
class Job:
    """One run that is to be done.

    Args:
        arm: Name of the arm.
        config: All settings, the arm's own included.
        seed: Seed of everything random.
        device: Where to compute.
        checkpoint: Where training keeps its state between epochs, to go on after a kill.
        progress: Whether to show progress.
    """

    arm: str
    config: Mapping[str, Any]
    seed: int
    device: torch.device
    checkpoint: Path
    progress: bool


@dataclass(frozen=True)
class Outcome:
    """What a run gives back.

    Args:
        data: The data sets used.
        metrics: One row an epoch, with ``wall_seconds`` and ``device_seconds``.
        results: Final numbers.
        weights: Tensors and text to be kept beside the record as a checkpoint, as
            :func:`course_lib.trained.pack_weights` makes them; usually none.
        items: What was found for each test item, ``(N,)`` by name: booleans or errors.
    """

    data: list[DataUse]
    metrics: list[dict[str, float]]
    results: dict[str, Any]
    weights: tuple[Mapping[str, Tensor], Mapping[str, str]] | None = None
    items: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A named experiment.

    Args:
        name: Name, as in ``course run NAME``.
        title: What it measures, in a line.
        arms: Settings of each arm, by its name.
        sizes: ``"cpu"`` in minutes, ``"day"`` in hours on one core, ``"full"`` as the document has
            it; an experiment need not have all.
        train: Runs one job.
        questions: What its records decide.
    """

    name: str
    title: str
    arms: Mapping[str, Mapping[str, Any]]
    sizes: Mapping[str, Size]
    train: Callable[[Job], Outcome]
    questions: Sequence[Question] = ()

    def config(self, arm: str, size: str) -> dict[str, Any]:
        """All settings of an arm.

        Raises:
            ValueError: If there is no such arm or size.
        """
        if arm not in self.arms:
            raise Refused(f"{self.name} has the arms {', '.join(self.arms)}, got {arm!r}")
        if size not in self.sizes:
            raise Refused(f"{self.name} has the sizes {', '.join(self.sizes)}, got {size!r}")
        return {**self.sizes[size].config, **self.arms[arm]}

    def committed(self, size: str) -> list[tuple[str, int]]:
        """Arms and seeds of the committed set, seed by seed; of size ``cpu`` the fresh ones, too.

        Raises:
            ValueError: If there is no such size.
        """
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
