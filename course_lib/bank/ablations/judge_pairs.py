from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="ablations.judge_pairs",
    points=4.5,
    minutes=20,
    difficulty=2,
    chapter="18_ablations.html#ablations-spread",
    outcomes=("ablations.decide",),
    example=lambda t: (0.6 + 0.1 * t.randn(3).abs(), 0.5 + 0.1 * t.randn(3).abs(), 4.303),
    returns=("mean", "half", "verdict"),
)


def _arms(t: Trial, n: int, gap: float, common: float, own: float) -> tuple[Tensor, Tensor]:
    """Errors of two arms: the seeds' common luck, each arm's own, and a gap."""
    luck = common * _centred(t.randn(n))
    first, second = (own * _centred(t.randn(n)) for _ in range(2))
    return 0.6 + gap + luck + first, 0.6 + luck + second


def _centred(x: Tensor) -> Tensor:
    return (x - x.mean()) / x.std()


def verdict(t: Trial, first: Tensor, second: Tensor, quantile: float, note: str) -> float:
    """Expect the right decision, and return half of the width, which is asked for elsewhere."""
    got, want = t.values(t.call(first, second, quantile)), t.want(first, second, quantile)
    t.close(got[0], want[0], "mean", note=note)
    t.close(got[2], want[2], "verdict", note=note)
    return float(got[1])


@exercise.prop(0.5, "Which of the two is taken away from the other?")
def mean(t: Trial) -> None:
    """the mean of first - second"""
    a, b = _arms(t, t.integer(3, 6), 0.1, 0.05, 0.02)
    want = t.want(a, b, 4.303)
    got = t.values(t.call(a, b, 4.303))
    t.close(got[0], want[0], "mean")


@exercise.prop(
    1.5, "Take the difference seed by seed first. Its spread, over the root of how many?"
)
def half(t: Trial) -> None:
    """half the width of the interval, from the differences of pairs"""
    for n in (3, t.integer(4, 8)):
        a, b = _arms(t, n, 0.1, 0.2, 0.03)
        want, got = t.want(a, b, 2.5), t.call(a, b, 2.5)
        t.close(got[1], want[1], "half", note=f"{n} pairs")


@exercise.prop(1, "A negative mean says that the first arm's error is lower.")
def decided(t: Trial) -> None:
    """an interval that excludes 0 decides, on its side"""
    for gap in (-0.3, 0.3):
        verdict(t, *_arms(t, t.integer(4, 6), gap, 0.5, 0.02), 2.776, f"gap {gap}")


@exercise.prop(0.5, "Is 0 further from the mean than half the width?")
def undecided(t: Trial) -> None:
    """an interval that contains or touches 0 leaves it undecided"""
    for gap in (-0.01, 0.01):
        verdict(t, *_arms(t, t.integer(3, 5), gap, 0.02, 0.3), 4.303, f"gap {gap}")
    same = t.randn(3)
    verdict(t, same, same, 4.303, "the same errors twice")
    # Half of it is exactly 1.
    verdict(t, torch.tensor([4.0, 0, 0, 0]), torch.zeros(4), 1.0, "an interval that ends at 0")


@exercise.prop(0.5, "How far apart are two runs with other seeds? One pair can't say.")
def one_pair(t: Trial) -> None:
    """one pair never decides: half is infinite"""
    t.same(0.5 + 0.01 * t.randn(1), 0.9 + 0.01 * t.randn(1), 12.7)


@exercise.prop(0.5, "Student's t is 4.30 for three seeds. Which does your function use for thirty?")
def quantile(t: Trial) -> None:
    """the quantile that is handed in counts, and a larger one decides less"""
    a, b = _arms(t, 4, 0.1, 0.3, 0.05)
    little = verdict(t, a, b, 0.2, "a small quantile")
    much = verdict(t, a, b, 40.0, "a large quantile")
    t.close(much, 200 * little, "half", note="quantile 40, compared with 200 times that of 0.2")
