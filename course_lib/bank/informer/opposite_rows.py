"""Exercise ``informer.opposite_rows``."""

import math

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial, Wrong
from course_lib.informer import sparsity_measure

LIMIT = 8.0
MARGIN = 1.1


def reference(n_keys: int) -> Tensor | None:
    """One key that is shunned by a query, and one that is liked by another."""
    if n_keys < 3:
        return None
    rows = torch.zeros(2, n_keys)
    rows[0] = LIMIT
    rows[0, 0] = -LIMIT
    rows[1, 0] = 2.5
    return rows


exercise = Exercise(
    id="informer.opposite_rows",
    function="opposite_rows",
    reference=reference,
    points=4,
    minutes=20,
    difficulty=3,
    chapter="17_informer.html#informer-measure",
    outcomes=("informer.measure",),
    example=lambda t: (5,),
)


def _rows(t: Trial, n_keys: int) -> Tensor:
    got = t.a_tensor(t.call(n_keys), (2, n_keys), f"the result for {n_keys} keys")
    if not got.is_floating_point():
        dtype = str(got.dtype).removeprefix("torch.")
        raise Wrong(f"the result has dtype {dtype}, wanted a floating-point one")
    if not got.isfinite().all():
        raise Wrong(f"the scores of {n_keys} keys are not finite floating-point numbers")
    return got.double()


def _first(rows: Tensor) -> Tensor:
    return sparsity_measure(rows) - math.log(rows.shape[-1])


def _second(rows: Tensor) -> Tensor:
    log_weights = rows.log_softmax(-1)
    return (log_weights.exp() * log_weights).sum(-1) + math.log(rows.shape[-1])


def _larger(a: Tensor, b: Tensor, what: str) -> None:
    if float(a) < MARGIN * float(b):
        raise Wrong(f"{what}: {float(a):.4g} against {float(b):.4g}, wanted a tenth more")


@exercise.prop(
    "row 0 is the farther one by KL(U ‖ P)",
    points=1,
    hint="The mean over all keys of -ln P: what makes it large, a weight near 1 or one near 0?",
)
def by_the_first(t: Trial) -> None:
    # A few keys: many are asked for below.
    for n in (3, 5, t.integer(6, 7)):
        first = _first(_rows(t, n))
        _larger(first[0], first[1], f"{n} keys, KL(U ‖ P) of row 0 and row 1")


@exercise.prop(
    "row 1 is the farther one by KL(P ‖ U)",
    points=1,
    hint="The mean under P of ln P: does a key without weight matter?",
)
def by_the_second(t: Trial) -> None:
    for n in (3, 5, t.integer(6, 12)):
        second = _second(_rows(t, n))
        _larger(second[1], second[0], f"{n} keys, KL(P ‖ U) of row 1 and row 0")


@exercise.prop(
    "both, when there are a hundred keys or more",
    points=1,
    hint="Print both divergences of both rows for 5 and for 500 keys. Which of the four grows?",
)
def many_keys(t: Trial) -> None:
    for n in (96, t.integer(200, 400), 500):
        rows = _rows(t, n)
        first, second = _first(rows), _second(rows)
        _larger(first[0], first[1], f"{n} keys, KL(U ‖ P) of row 0 and row 1")
        _larger(second[1], second[0], f"{n} keys, KL(P ‖ U) of row 1 and row 0")


@exercise.prop(
    "no score is below -8 or above 8",
    points=0.5,
    hint="Adding a number to a whole row changes no weight. Does that give you more room?",
)
def bounded(t: Trial) -> None:
    for n in (4, t.integer(5, 50)):
        rows = _rows(t, n)
        t.expect(not torch.equal(rows[0], rows[1]), "the two rows are the same")
        t.expect(rows.abs().max() <= LIMIT, f"{n} keys: a score of {rows.abs().max():.4g}")


@exercise.prop(
    "None where there is no such pair",
    points=0.5,
    hint="With two keys a row has one number that matters. How many orders does that allow?",
)
def impossible(t: Trial) -> None:
    _rows(t, 3)
    for n in (2, 1):
        t.expect(t.call(n) is None, f"{n} keys: wanted None, as both divergences agree there")


@exercise.mistake("Compute all four numbers. Do your two rows change places at all?")
def sharper_is_sharper(n_keys):
    """One row is sharp, the other a little less."""
    if n_keys < 3:
        return None
    rows = torch.zeros(2, n_keys)
    rows[0, 0], rows[1, 0] = 6.0, 3.0
    return rows


@exercise.mistake("Which of your rows has a weight near 0, and which divergence notices?")
def rows_exchanged(n_keys):
    """KL(U ‖ P) is large where the query has found its key."""
    if n_keys < 3:
        return None
    rows = torch.zeros(2, n_keys)
    rows[0, 0] = 2.5
    rows[1] = 8.0
    rows[1, 0] = -8.0
    return rows


@exercise.mistake("How large is the largest number in your rows?")
def without_bounds(n_keys):
    """Scores may be as large as one likes."""
    if n_keys < 3:
        return None
    rows = torch.zeros(2, n_keys)
    rows[0, 0], rows[1, 0] = -16.0, 2.5
    return rows


@exercise.mistake("Take two keys and let their scores differ by x. What do both depend on?")
def two_keys_too(n_keys):
    """What holds for three keys holds for two."""
    rows = torch.zeros(2, n_keys)
    rows[0] = 8.0
    rows[0, 0] = -8.0
    rows[1, 0] = 2.5
    return rows


@exercise.mistake("Print the four numbers for 5 keys and for 500. Which comparison has turned?")
def right_for_five(n_keys):
    """Rows that work for five keys work for any number."""
    if n_keys < 3:
        return None
    rows = torch.zeros(2, n_keys)
    rows[0, 0], rows[1, 0] = -8.0, 3.0
    return rows


@exercise.mistake(
    "A liked key and a shunned one of the same size: which wins, and by which measure?"
)
def mirror_images(n_keys):
    """The opposite order comes from the opposite sign."""
    if n_keys < 3:
        return None
    rows = torch.zeros(2, n_keys)
    rows[0, 0], rows[1, 0] = -7.0, 7.0
    return rows


@exercise.alternative
def by_bisection(n_keys):
    """Raises one score until its row is half as far as the other; prints to stderr."""
    import sys

    if n_keys <= 2:
        return None
    shunned = torch.zeros(n_keys, dtype=torch.float64)
    shunned[-1] = -8.0

    def distance(row):
        return (row.logsumexp(0) - row.mean()).item() - math.log(n_keys)

    low, high = 0.0, 8.0
    for _ in range(50):
        liked = torch.zeros(n_keys, dtype=torch.float64)
        liked[-1] = (low + high) / 2
        if distance(liked) < 0.8 * distance(shunned):
            low = (low + high) / 2
        else:
            high = (low + high) / 2
    print("raised to", low, file=sys.stderr)
    return torch.stack([shunned, liked])


@exercise.alternative
def two_lists(n_keys):
    """Plain lists, with room on both sides."""
    if n_keys in (1, 2):
        return None
    shunned = [-7.5] + [7.5] * (n_keys - 1)
    liked = [1.5] + [-1.0] * (n_keys - 1)
    return torch.tensor([shunned, liked])
