from course_lib.bank.prelude import Exercise, Tensor, Trial, Wrong, math, torch
from course_lib.informer import sparsity_measure

LIMIT = 8.0
MARGIN = 1.1


exercise = Exercise(
    id="informer.opposite_rows",
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
        raise Wrong(f"the result has dtype {dtype}, expected a floating-point one")
    if not got.isfinite().all():
        raise Wrong(f"the scores of {n_keys} keys are not finite floating-point numbers")
    return got.double()


def _first(rows: Tensor) -> Tensor:
    return sparsity_measure(rows) - math.log(rows.shape[-1])


def _second(rows: Tensor) -> Tensor:
    log_weights = rows.log_softmax(-1)
    return (log_weights.exp() * log_weights).sum(-1) + math.log(rows.shape[-1])


def _larger(a: Tensor, b: Tensor, what: str) -> None:
    # What is left of a divergence of 0 is rounding.
    if float(b) < 1e-12 or float(a) < MARGIN * float(b):
        raise Wrong(
            f"{what}: {float(a):.4g} against {float(b):.4g}, expected a tenth more, and none 0"
        )


@exercise.prop(
    1, "The mean over all keys of -ln P: what makes it large, a weight near 1 or one near 0?"
)
def by_the_first(t: Trial) -> None:
    """row 0 is the farther one by KL(U ‖ P)"""
    # A few keys: many are asked for below.
    for n in (3, 5, t.integer(6, 7)):
        first = _first(_rows(t, n))
        _larger(first[0], first[1], f"{n} keys, KL(U ‖ P) of row 0 and row 1")


@exercise.prop(1, "The mean under P of ln P: does a key without weight matter?")
def by_the_second(t: Trial) -> None:
    """row 1 is the farther one by KL(P ‖ U)"""
    for n in (3, 5, t.integer(6, 12)):
        second = _second(_rows(t, n))
        _larger(second[1], second[0], f"{n} keys, KL(P ‖ U) of row 1 and row 0")


@exercise.prop(
    1, "Print both divergences of both rows for 5 and for 500 keys. Which of the four grows?"
)
def many_keys(t: Trial) -> None:
    """with 96 keys or more, row 0 is the farther one by the first and row 1 by the second"""
    for n in (96, t.integer(200, 400), 500):
        rows = _rows(t, n)
        first, second = _first(rows), _second(rows)
        _larger(first[0], first[1], f"{n} keys, KL(U ‖ P) of row 0 and row 1")
        _larger(second[1], second[0], f"{n} keys, KL(P ‖ U) of row 1 and row 0")


@exercise.prop(
    0.5, "Adding a number to a whole row changes no weight. Does that give you more room?"
)
def bounded(t: Trial) -> None:
    """no score is below -8 or above 8"""
    for n in (4, t.integer(5, 50)):
        rows = _rows(t, n)
        t.expect(not torch.equal(rows[0], rows[1]), "the two rows are the same")
        t.expect(rows.abs().max() <= LIMIT, f"{n} keys: a score of {rows.abs().max():.4g}")


@exercise.prop(
    0.5, "With two keys a row has one number that matters. How many orders does that allow?"
)
def impossible(t: Trial) -> None:
    """None where there is no such pair"""
    _rows(t, 3)
    for n in (2, 1):
        t.expect(t.call(n) is None, f"{n} keys: expected None, as both divergences agree there")
