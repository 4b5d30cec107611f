from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="attention.qk_scale",
    points=3,
    minutes=10,
    difficulty=3,
    chapter="03_scale.html#attention-qk-norm",
    outcomes=("attention.scaling",),
    example=lambda t: (8, 0.5),
)


def _weight(t: Trial) -> float:
    return t.integer(60, 98) / 100


@exercise.prop(1, "In the best case for one key, which scores do all others have?")
def many_keys(t: Trial) -> None:
    """the scale for one of many keys"""
    for n_keys in (3, t.integer(5, 40), t.integer(100, 5000)):
        weight = _weight(t)
        t.same(n_keys, weight, note=f"{n_keys} keys, weight {weight:g}")
    for weight in (0.02, 0.4, 0.5):
        t.same(1000, weight, note=f"1000 keys, weight {weight:g}")


@exercise.prop(0.5, "With two keys the weight is a logistic function. Of which number?")
def two_keys(t: Trial) -> None:
    """the scale for one of two keys"""
    for weight in (0.99, _weight(t)):
        t.same(2, weight, note=f"2 keys, weight {weight:g}")


@exercise.prop(
    0.5,
    "Which weight does each key get with g = 0? And can a scale be smaller than that?",
)
def no_scale(t: Trial) -> None:
    """0 where even an equal mixture gives the weight"""
    n_keys = t.integer(3, 9)
    for keys, weight in (
        (n_keys, 1 / n_keys),
        (n_keys, 0.5 / n_keys),
        (2, 0.2),
        (1, 0.9),
    ):
        t.same(keys, weight, note=f"{keys} keys, weight {weight:.3g}")


@exercise.prop(
    1,
    "Put g once and -g for all others into a softmax. Which weight does the first one get?",
)
def reached(t: Trial) -> None:
    """in the best case your scale gives just the target weight"""
    n_keys, weight = t.integer(3, 200), _weight(t)
    (scale,) = t.values([t.call(n_keys, weight)], "the scale")
    best = torch.full((n_keys,), -float(scale), dtype=torch.float64)
    best[0] = float(scale)
    t.close(best.softmax(0)[0].item(), weight, f"the largest weight of {n_keys} keys")
