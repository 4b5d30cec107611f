"""Exercise ``seeing.pair_runs``."""

from collections.abc import Sequence

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial

Run = dict[str, str | int | float]
VARIANTS = ("CIFAR-10", "CIFAR-10 (JPEG copy)")


def reference(runs: list[Run], better: str, worse: str, size: str = "cpu") -> Tensor:
    """As ``course_lib.experiments.pair_by_seed``, with an eye on the data."""

    def of(arm: str) -> dict[tuple[int, str], float]:
        return {
            (int(run["seed"]), str(run["variant"])): float(run["accuracy"])
            for run in runs
            if run["arm"] == arm and run["size"] == size
        }

    a, b = of(better), of(worse)
    gains = [a[key] - b[key] for key in sorted(a.keys() & b.keys())]
    return torch.tensor(gains, dtype=torch.float64)


def _example(t: Trial) -> tuple[list[Run], str, str]:
    return _runs(t, ("whole", "half"), 2), "whole", "half"


exercise = Exercise(
    id="seeing.pair_runs",
    function="pair_runs",
    reference=reference,
    points=4,
    minutes=20,
    difficulty=2,
    chapter="13_seeing.html#seeing-rule",
    outcomes=("seeing.rule",),
    severe={"a_drop": "every number has the wrong sign"},
    example=_example,
)


def _runs(
    t: Trial, arms: tuple[str, ...], n: int, seeds: Sequence[int] | None = None, **same: str
) -> list[Run]:
    """One run of each arm for each of n seeds, arm after arm, each in the order of the seeds."""
    seeds = range(n) if seeds is None else seeds
    return [
        {
            "arm": arm,
            "size": "cpu",
            "seed": seed,
            "variant": VARIANTS[1],
            "accuracy": round(0.4 + 0.002 * t.integer(0, 99), 4),
            **same,
        }
        for arm in arms
        for seed in seeds
    ]


def _shuffled(t: Trial, runs: list[Run]) -> list[Run]:
    return [runs[i] for i in t.permutation(len(runs)).tolist()]


@exercise.prop(
    "one difference for each seed, the better arm's accuracy first",
    points=0.5,
    hint="The gain of the arm that is called better: positive where it is.",
)
def gains(t: Trial) -> None:
    for n in (2, 3, t.integer(4, 7)):
        t.same(_runs(t, ("whole", "half"), n), "whole", "half", note=f"{n} seeds", exact=True)


@exercise.prop(
    "runs come in any order, with those of other arms between; gains go by seed",
    points=1,
    hint="Files come in the order of their names, or in none. What says who belongs to whom?",
)
def order(t: Trial) -> None:
    for _ in range(3):
        runs = _runs(t, ("whole", "half", "third"), t.integer(5, 8))
        t.same(_shuffled(t, runs), "half", "third", note="shuffled")
    # As text, 10 comes before 2.
    runs = _runs(t, ("whole", "half"), 4, seeds=(2, 10, 33, 100 + t.integer(0, 99)))
    t.same(_shuffled(t, runs), "whole", "half", note="seeds with one, two and three digits")


@exercise.prop(
    "a run without a partner is left out",
    points=0.5,
    hint="One arm has seeds 0 to 4, the other 2 to 6. How many pairs?",
)
def partners(t: Trial) -> None:
    runs = _runs(t, ("whole", "half"), 7)
    some = [r for r in runs if (r["arm"] == "whole") == (int(r["seed"]) < 5) or r["seed"] in (2, 3)]
    t.same(some[::-1], "whole", "half", note="some seeds are missing, the last ones come first")


@exercise.prop(
    "runs of the size that is asked for, small ones unless said otherwise",
    points=1,
    hint="A large model's run with seed 0 is no partner of a small one's.",
)
def sizes(t: Trial) -> None:
    small, large = (_runs(t, ("whole", "half"), 4, size=size) for size in ("cpu", "full"))
    t.same(small + large, "whole", "half", note="small runs, then large ones")
    t.same(large + small, "whole", "half", note="large runs, then small ones")
    t.same(small + large, "whole", "half", "full", note="large ones are asked for")


@exercise.prop(
    "only runs on the same data are compared",
    points=1,
    hint="The variant says which CIFAR-10 it was: a lossy copy makes other accuracies.",
)
def same_data(t: Trial) -> None:
    runs = _runs(t, ("whole", "half"), 5)
    for arm, seed in (("whole", 1), ("half", 3)):
        for run in runs:
            if (run["arm"], run["seed"]) == (arm, seed):
                run["variant"] = VARIANTS[0]
    t.same(runs, "whole", "half", note="two runs used other data")
    both = runs + _runs(t, ("half",), 2, variant=VARIANTS[0])
    t.same(both, "whole", "half", note="one arm was run on both")


@exercise.mistake("Shuffle the runs. Do the same pairs come out?")
def pairs_by_row(runs, better, worse, size="cpu"):
    """The first run of one arm belongs to the first of the other."""
    a, b = ([r for r in runs if r["arm"] == arm and r["size"] == size] for arm in (better, worse))
    made = [
        x["accuracy"] - y["accuracy"]
        for x, y in zip(a, b, strict=False)
        if x["variant"] == y["variant"]
    ]
    return torch.tensor(made, dtype=torch.float64)


@exercise.mistake(
    "Which of the runs with seed 0 did you take, if there are a small and a large one?"
)
def a_seed_is_a_seed(runs, better, worse, size="cpu"):
    """A seed says all about a run but its arm."""
    a, b = ({(r["seed"], r["variant"]): r["accuracy"] for r in runs if r["arm"] == arm}
            for arm in (better, worse))  # fmt: skip
    both = sorted(a.keys() & b.keys())
    return torch.tensor([a[k] - b[k] for k in both], dtype=torch.float64)


@exercise.mistake("Print the variant of the two runs of each of your pairs.")
def cifar_is_cifar(runs, better, worse, size="cpu"):
    """CIFAR-10 is CIFAR-10, whichever copy of it."""
    a, b = ({r["seed"]: r["accuracy"] for r in runs if r["arm"] == arm and r["size"] == size}
            for arm in (better, worse))  # fmt: skip
    both = sorted(a.keys() & b.keys())
    return torch.tensor([a[k] - b[k] for k in both], dtype=torch.float64)


@exercise.mistake("A drop and a gain: which of the two is asked for?")
def a_drop(runs, better, worse, size="cpu"):
    """What counts is by how much the accuracy falls."""
    a, b = (
        {(r["seed"], r["variant"]): r["accuracy"] for r in runs
         if r["arm"] == arm and r["size"] == size}
        for arm in (better, worse)
    )  # fmt: skip
    both = sorted(a.keys() & b.keys())
    return torch.tensor([b[k] - a[k] for k in both], dtype=torch.float64)


@exercise.mistake("What do you know about a run that was never made? Is it 0?")
def missing_is_mean(runs, better, worse, size="cpu"):
    """A run that is missing is replaced by the mean of its arm."""
    a, b = (
        {(r["seed"], r["variant"]): r["accuracy"] for r in runs
         if r["arm"] == arm and r["size"] == size}
        for arm in (better, worse)
    )  # fmt: skip
    usual = [sum(x.values()) / max(len(x), 1) for x in (a, b)]
    made = [a.get(k, usual[0]) - b.get(k, usual[1]) for k in sorted(a.keys() | b.keys())]
    return torch.tensor(made, dtype=torch.float64)


@exercise.mistake("For seeds 3, 0, 1: which gain should come first?")
def as_they_come(runs, better, worse, size="cpu"):
    """Pairs come in the order in which the runs are found."""
    b = {(r["seed"], r["variant"]): r["accuracy"] for r in runs
         if r["arm"] == worse and r["size"] == size}  # fmt: skip
    made = [
        r["accuracy"] - b[r["seed"], r["variant"]]
        for r in runs
        if r["arm"] == better and r["size"] == size and (r["seed"], r["variant"]) in b
    ]
    return torch.tensor(made, dtype=torch.float64)


@exercise.mistake(
    "Put the seeds 2 and 10 into the order that yours has. Are seeds numbers or words?"
)
def seeds_as_text(runs, better, worse, size="cpu"):
    """A key made of text sorts as its parts do."""
    a, b = (
        {f"{r['seed']} {r['variant']}": r["accuracy"] for r in runs
         if r["arm"] == arm and r["size"] == size}
        for arm in (better, worse)
    )  # fmt: skip
    both = sorted(a.keys() & b.keys())
    return torch.tensor([a[k] - b[k] for k in both], dtype=torch.float64)


@exercise.alternative
def two_loops(runs, better, worse, size="cpu"):
    """Compares all with all and keeps what fits; warns."""
    import warnings

    warnings.warn("loops", stacklevel=1)
    found = []
    for x in runs:
        for y in runs:
            fits = all(x[key] == y[key] for key in ("size", "seed", "variant"))
            if fits and x["size"] == size and (x["arm"], y["arm"]) == (better, worse):
                found.append((x["seed"], x["accuracy"] - y["accuracy"]))
    return torch.tensor([gain for _, gain in sorted(found)], dtype=torch.float64)


@exercise.alternative
def grouped(runs, better, worse, size="cpu"):
    """Sorts, groups by what must agree, and takes the complete groups."""
    from itertools import groupby

    def key(run):
        return run["seed"], run["variant"]

    wanted = [r for r in runs if r["size"] == size and r["arm"] in (better, worse)]
    gains = []
    for _, group in groupby(sorted(wanted, key=key), key=key):
        by_arm = {run["arm"]: run["accuracy"] for run in group}
        if len(by_arm) == 2:
            gains.append(by_arm[better] - by_arm[worse])
    return torch.as_tensor(gains, dtype=torch.float64)
