from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="attention.score_moments",
    points=4,
    minutes=20,
    difficulty=3,
    chapter="03_scale.html#attention-spread",
    outcomes=("attention.scaling",),
    example=lambda t: (64, 1.0, 2.0, 0.5),
    returns=("the mean", "the standard deviation"),
)


def _std(t: Trial) -> float:
    """A standard deviation well away from 1, where many formulas agree."""
    return t.integer(15, 40) / 10


def _agree(t: Trial, *args: float, note: str, which: tuple[int, ...] = (0, 1)) -> None:
    """Compare mean and deviation, and say which one of them is wrong."""
    got, want = t.values(t.call(*args)), t.want(*args)
    for part in which:
        t.close(got[part], want[part], ("the mean", "the standard deviation")[part], note=note)


@exercise.prop(
    1, "How do the variances of independent terms add up, and what does a factor do to them?"
)
def unit_variance(t: Trial) -> None:
    """independent entries of deviation 1 give mean 0 and deviation 1 at any width"""
    for d_head in (1, 4, t.integer(5, 100), 4096):
        _agree(t, d_head, note=f"d_head={d_head}")


@exercise.prop(0.5, "What is the variance of the product of two independent numbers of mean 0?")
def independent(t: Trial) -> None:
    """independent entries of any deviation"""
    for q_std, k_std in ((_std(t), 1.0), (0.25, _std(t)), (_std(t), _std(t))):
        _agree(t, t.integer(8, 80), q_std, k_std, note=f"q_std={q_std}, k_std={k_std}")


@exercise.prop(
    1,
    "A vector's product with itself is a sum of squares. What is the mean of a square? And of a"
    " product, if the key is only partly the query?",
)
def shared(t: Trial) -> None:
    """the mean at any correlation, from -1 to 1"""
    for correlation in (1.0, -1.0, 0.5, -t.integer(60, 80) / 100):
        arguments = t.integer(8, 80), _std(t), _std(t), correlation
        _agree(t, *arguments, note=f"correlation={correlation:g}", which=(0,))


@exercise.prop(
    1,
    "How much does a square spread? For a normal number x, the mean of x⁴ is 3 σ⁴. In between,"
    " split the key's entry into a multiple of the query's and an independent rest.",
)
def correlated(t: Trial) -> None:
    """the standard deviation at any correlation, from -1 to 1"""
    for correlation in (1.0, -1.0, 0.5, t.integer(20, 40) / 100, -t.integer(60, 80) / 100):
        arguments = t.integer(8, 80), _std(t), _std(t), correlation
        _agree(t, *arguments, note=f"correlation={correlation:g}", which=(1,))


@exercise.prop(
    0.5, "Work out mean and standard deviation of the bare dot product first, then multiply it."
)
def other_scale(t: Trial) -> None:
    """the dot product may be multiplied by another factor than 1/√d_head"""
    # Against the answer's own bare dot product.
    d_head, std = t.integer(8, 80), _std(t)
    bare = t.values(t.call(d_head, std, 1.0, 0.5, scale=1.0))
    for scale in (None, 1 / d_head, t.integer(15, 40) / 100, 0.0):
        options = {} if scale is None else {"scale": scale}
        got = t.values(t.call(d_head, std, 1.0, 0.5, **options))
        factor = d_head**-0.5 if scale is None else scale
        for part, what in enumerate(("the mean", "the standard deviation")):
            note = f"scale {factor:.3g}"
            t.close(got[part], factor * float(bare[part]), what, note=note)
    t.expect(float(bare[1]) > 0, "the dot product does not spread at all")
