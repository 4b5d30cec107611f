from course_lib.bank.prelude import Tensor, changed, torch
from course_lib.bank.seeing.pair_runs import Run, exercise


@exercise.answer
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


def right(runs, better, worse, size="cpu"):
    """Base of the mistakes, itself right."""
    sized = [r for r in runs if r["size"] == size]
    a, b = (
        {(r["seed"], r["variant"]): r["accuracy"] for r in sized if r["arm"] == arm}
        for arm in (better, worse)
    )
    both = sorted(a.keys() & b.keys())
    return torch.tensor([a[k] - b[k] for k in both], dtype=torch.float64)


@exercise.mistake(
    "Which of the runs with seed 0 did you take, if there are a small and a large one?"
)
@changed(right, (' if r["size"] == size', ""))
def a_seed_is_a_seed():
    """A seed says all about a run but its arm."""


@exercise.mistake("Print the variant of the two runs of each of your pairs.")
@changed(right, ('(r["seed"], r["variant"])', 'r["seed"]'))
def cifar_is_cifar():
    """CIFAR-10 is CIFAR-10, whichever copy of it."""


@exercise.mistake("A drop and a gain: which of the two is asked for?")
@changed(right, ("a[k] - b", "b[k] - a"))
def a_drop():
    """What counts is by how much the accuracy falls."""


@exercise.mistake("What do you know about a run that was never made? Its arm's mean?")
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
@changed(right, ('(r["seed"], r["variant"])', "f\"{r['seed']} {r['variant']}\""))
def seeds_as_text():
    """A key made of text sorts as its parts do."""


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
