"""Exercise ``ablations.break_verdicts``."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.bank.inputs import counterexample, numbers
from course_lib.checks.trial import Trial, Wrong
from course_lib.experiments.verdict import verdict

MOST = 10


def bars_apart(first, second):
    """Decides where the bars, a standard deviation up and down from the means, don't overlap."""
    low, high = first.mean() - first.std(), first.mean() + first.std()
    if high < second.mean() - second.std():
        return "lower"
    return "higher" if low > second.mean() + second.std() else "undecided"


def best_run(first, second):
    """Compares the best run of one arm with the best run of the other."""
    return "lower" if first.min() < second.min() else "higher"


def reference() -> tuple[list[float], list[float]]:
    """Four seeds in favour of the first arm, and the best one just against it."""
    return [0.7, 0.72, 0.74, 0.76, 0.602], [0.72, 0.74, 0.76, 0.78, 0.6]


def _decided(t: Trial) -> tuple[Tensor, Tensor, str]:
    first, second = (
        numbers(errors, 1, what)
        for errors, what in zip(t.values(t.call()), exercise.returns, strict=True)
    )
    n = len(first)
    if len(second) != n or not 2 <= n <= MOST:
        raise Wrong(f"{n} and {len(second)} errors are not two to ten pairs")
    for errors, what in ((first, "first"), (second, "second")):
        t.expect(errors.min() >= 0 and errors.max() <= 1, f"{what} has errors outside of 0 to 1")
    # The library's rule, as an answer may be anything: no table has what is right for all of them.
    rule = verdict((first - second).tolist(), 1)
    # A decision by a hair is one of rounding.
    if abs(rule.mean) < 1.001 * rule.half_width or rule.mean == 0:
        interval = f"{rule.low:.4f} to {rule.high:.4f}"
        raise Wrong(f"the rule leaves your pairs undecided: the interval is {interval}")
    return first, second, "lower" if rule.mean < 0 else "higher"


def _misjudged(t: Trial, *others: Callable[..., str], most: int = MOST) -> None:
    first, second, right = _decided(t)
    for other in others:
        found = other(first, second)
        t.expect(found != right, f"`{other.__name__}` says {found!r} as well as the rule")
    t.expect(len(first) <= most, f"there are {len(first)} pairs")


exercise = counterexample(
    "ablations.break_verdicts",
    _misjudged,
    reference=reference,
    given=(bars_apart, best_run),
    returns=("first", "second"),
    minutes=15,
    difficulty=3,
    chapter="18_ablations.html#ablations-rule",
    outcome="ablations.decide",
    apart={
        "bars": (
            "the rule decides, and `bars_apart` says something else",
            "Bars are long where seeds differ much. What does the rule take off before it looks?",
        ),
        "best": (
            "the rule decides, and `best_run` says something else",
            "In one pair the other arm must win, and by little. How many pairs does the rule need"
            " in order to forgive that?",
        ),
    },
    unit="pairs",
    within={
        "small": (6, "Which differences make a narrow interval? Let all but one be equal."),
        "fewest": (
            5,
            "Four differences of -1 and one of x > 0: up to which x does the rule decide?",
        ),
    },
)


@exercise.mistake("What does the rule say of your pairs, and how wide is its interval?")
def mere_noise():
    """Wherever a hasty judgement differs from the rule, it has been shown wrong."""
    return [0.6, 0.9, 0.7], [0.8, 0.7, 0.9]


@exercise.mistake("Does a function that agrees with the rule need a rule?")
def far_apart():
    """Errors that lie far apart are judged by the rule alone."""
    return [0.6, 0.61, 0.62], [0.8, 0.81, 0.82]


@exercise.mistake("Your arm wins every pair. Can the other one have the best run of all?")
def every_pair_agrees():
    """Pairs that agree are all that it takes."""
    return [0.7, 0.8], [0.71, 0.81]


@exercise.mistake("By how much does the last pair go the other way, and what does that widen?")
def one_pair_too_far():
    """How much one pair contradicts the others is of no account."""
    return [0.7, 0.72, 0.74, 0.76, 0.64], [0.72, 0.74, 0.76, 0.78, 0.6]


@exercise.mistake("How far is a single difference from the mean at most, among four?")
def four_pairs():
    """Four pairs forgive one that goes the other way."""
    return [0.7, 0.72, 0.74, 0.601], [0.72, 0.74, 0.76, 0.6]


@exercise.mistake("Leave out a pair that agrees with the others. What does the rule say?")
def six_pairs():
    """One pair against the others takes five that agree."""
    return [0.7, 0.72, 0.74, 0.76, 0.78, 0.602], [0.72, 0.74, 0.76, 0.78, 0.8, 0.6]


@exercise.mistake("Leave out pairs that agree with the others. What does the rule say?")
def eight_pairs():
    """One pair against the others takes very many that agree."""
    first = [0.7, 0.72, 0.74, 0.76, 0.78, 0.8, 0.82, 0.602]
    return first, [*(e + 0.02 for e in first[:-1]), 0.6]


@exercise.alternative
def equal_differences():
    """Tensors, and the second arm is the better one; prints to stderr."""
    import sys

    second = torch.tensor([0.5, 0.6, 0.7, 0.8, 0.4])
    first = second + torch.tensor([0.1, 0.1, 0.1, 0.1, -0.01])
    print("differences", first - second, file=sys.stderr)
    return first, second


@exercise.alternative
def other_seeds():
    """Other errors, in double precision."""
    second = torch.tensor([0.05, 0.31, 0.43, 0.27, 0.9], dtype=torch.float64)
    return second + torch.tensor([0.002, -0.03, -0.03, -0.025, -0.03]), second
