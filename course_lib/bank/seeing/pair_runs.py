from collections.abc import Sequence

from course_lib.bank.prelude import Exercise, Trial

Run = dict[str, str | int | float]
VARIANTS = ("CIFAR-10", "CIFAR-10 (JPEG copy)")


def _example(t: Trial) -> tuple[list[Run], str, str]:
    return _runs(t, ("whole", "half"), 2), "whole", "half"


exercise = Exercise(
    id="seeing.pair_runs",
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


@exercise.prop(0.5, "The gain of the arm that is called better: positive where it is.")
def gains(t: Trial) -> None:
    """one float64 difference for each seed, the better arm's accuracy first"""
    for n in (2, 3, t.integer(4, 7)):
        t.same(_runs(t, ("whole", "half"), n), "whole", "half", note=f"{n} seeds", exact=True)


@exercise.prop(
    1, "Files come in the order of their names, or in none. What says who belongs to whom?"
)
def order(t: Trial) -> None:
    """runs come in any order, with those of other arms between; gains go by seed"""
    for _ in range(3):
        runs = _runs(t, ("whole", "half", "third"), t.integer(5, 8))
        t.same(_shuffled(t, runs), "half", "third", note="shuffled")
    # As text, 10 comes before 2.
    runs = _runs(t, ("whole", "half"), 4, seeds=(2, 10, 33, 100 + t.integer(0, 99)))
    t.same(_shuffled(t, runs), "whole", "half", note="seeds with one, two and three digits")


@exercise.prop(0.5, "One arm has seeds 0 to 4, the other 2 to 6. How many pairs?")
def partners(t: Trial) -> None:
    """a run without a partner is left out"""
    runs = _runs(t, ("whole", "half"), 7)
    some = [r for r in runs if (r["arm"] == "whole") == (int(r["seed"]) < 5) or r["seed"] in (2, 3)]
    t.same(some[::-1], "whole", "half", note="some seeds are missing, the last ones come first")


@exercise.prop(1, "A large model's run with seed 0 is no partner of a small one's.")
def sizes(t: Trial) -> None:
    """runs of the size that is asked for, small ones unless said otherwise"""
    small, large = (_runs(t, ("whole", "half"), 4, size=size) for size in ("cpu", "full"))
    t.same(small + large, "whole", "half", note="small runs, then large ones")
    t.same(large + small, "whole", "half", note="large runs, then small ones")
    t.same(small + large, "whole", "half", "full", note="large ones are asked for")


@exercise.prop(1, "The variant says which CIFAR-10 it was: a lossy copy makes other accuracies.")
def same_data(t: Trial) -> None:
    """only runs on the same data are compared"""
    runs = _runs(t, ("whole", "half"), 5)
    for arm, seed in (("whole", 1), ("half", 3)):
        for run in runs:
            if (run["arm"], run["seed"]) == (arm, seed):
                run["variant"] = VARIANTS[0]
    t.same(runs, "whole", "half", note="two runs used other data")
    both = runs + _runs(t, ("half",), 2, variant=VARIANTS[0])
    t.same(both, "whole", "half", note="one arm was run on both")
