from collections.abc import Callable

from course_lib.bank.inputs import counterexample, numbers
from course_lib.bank.prelude import Tensor, Trial, Wrong
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
        t.expect(found != right, f"`{other.__name__}` says {found!r}, as the rule does")
    t.expect(len(first) <= most, f"there are {len(first)} pairs")


exercise = counterexample(
    "ablations.break_verdicts",
    _misjudged,
    given=(bars_apart, best_run),
    returns=("first", "second"),
    minutes=15,
    difficulty=3,
    chapter="18_ablations.html#ablations-rule",
    outcome="ablations.decide",
    apart={
        "bars": (
            "the rule decides, and `bars_apart` says something else",
            "Bars are long where seeds differ much. What does the rule subtract before it looks?",
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
