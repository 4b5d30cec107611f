"""Exercise ``attention.score_moments``."""

import math
from typing import Any

import torch

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.scaling import score_moments

exercise = Exercise(
    id="attention.score_moments",
    function="score_moments",
    reference=score_moments,
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
    got, want = _two(t, *args), t.want(*args)
    for part in which:
        t.close(got[part], want[part], ("the mean", "the standard deviation")[part], note=note)


def _two(t: Trial, *args: float, **kwargs: Any) -> list[Any]:
    return t.values(t.call(*args, **kwargs))


@exercise.prop(
    "independent entries of deviation 1 give mean 0 and deviation 1 at any width",
    points=1,
    hint="How do the variances of independent terms add up, and what does a factor do to them?",
)
def unit_variance(t: Trial) -> None:
    for d_head in (1, 4, t.integer(5, 100), 4096):
        _agree(t, d_head, note=f"d_head={d_head}")


@exercise.prop(
    "they need not have deviation 1",
    points=0.5,
    hint="What is the variance of the product of two independent numbers of mean 0?",
)
def independent(t: Trial) -> None:
    for q_std, k_std in ((_std(t), 1.0), (0.25, _std(t)), (_std(t), _std(t))):
        _agree(t, t.integer(8, 80), q_std, k_std, note=f"q_std={q_std}, k_std={k_std}")


@exercise.prop(
    "the mean at any correlation, from -1 to 1",
    points=1,
    hint="A vector's product with itself is a sum of squares. What is the mean of a square? And of"
    " a product, if the key is only partly the query?",
)
def shared(t: Trial) -> None:
    for correlation in (1.0, -1.0, 0.5, -t.integer(60, 80) / 100):
        arguments = t.integer(8, 80), _std(t), _std(t), correlation
        _agree(t, *arguments, note=f"correlation={correlation:g}", which=(0,))


@exercise.prop(
    "the standard deviation at any correlation, from -1 to 1",
    points=1,
    hint="How much does a square spread? For a normal number x, the mean of x⁴ is 3 σ⁴. Between,"
    " split the key's entry into a multiple of the query's and an independent rest: how large?",
)
def correlated(t: Trial) -> None:
    for correlation in (1.0, -1.0, 0.5, t.integer(20, 40) / 100, -t.integer(60, 80) / 100):
        arguments = t.integer(8, 80), _std(t), _std(t), correlation
        _agree(t, *arguments, note=f"correlation={correlation:g}", which=(1,))


@exercise.prop(
    "the dot product may be multiplied by another factor than 1/√d_head",
    points=0.5,
    hint="Work out mean and standard deviation of the bare dot product first, then multiply it.",
)
def other_scale(t: Trial) -> None:
    # Against the answer's own bare dot product.
    d_head, std = t.integer(8, 80), _std(t)
    bare = _two(t, d_head, std, 1.0, 0.5, scale=1.0)
    for scale in (None, 1 / d_head, t.integer(15, 40) / 100, 0.0):
        options = {} if scale is None else {"scale": scale}
        got = _two(t, d_head, std, 1.0, 0.5, **options)
        factor = d_head**-0.5 if scale is None else scale
        for part, what in enumerate(("the mean", "the standard deviation")):
            note = f"scale {factor:.3g}"
            t.close(got[part], factor * float(bare[part]), what, note=note)
    t.expect(float(bare[1]) > 0, "the dot product does not spread at all")


@exercise.mistake("Which numbers did the derivation of variance 1 start from? Are they given here?")
def always_one(d_head, q_std=1.0, k_std=1.0, correlation=0.0, scale=None):
    """Dividing by √d gives variance 1 to any queries and keys."""
    scale = 1 / math.sqrt(d_head) if scale is None else scale
    return 0.0, scale * math.sqrt(d_head)


@exercise.mistake("In which unit is your second number: that of the scores, or its square?")
def variance_returned(d_head, q_std=1.0, k_std=1.0, correlation=0.0, scale=None):
    """Variance and standard deviation are two names for how far the scores spread."""
    scale = 1 / math.sqrt(d_head) if scale is None else scale
    mean = scale * d_head * correlation * q_std * k_std
    return mean, scale**2 * d_head * (1 + correlation**2) * (q_std * k_std) ** 2


@exercise.mistake("Are the two entries added to each other, or multiplied?")
def deviations_added(d_head, q_std=1.0, k_std=1.0, correlation=0.0, scale=None):
    """The variances of the two factors of a product add up."""
    scale = 1 / math.sqrt(d_head) if scale is None else scale
    mean = scale * d_head * correlation * q_std * k_std
    spread = math.sqrt((q_std**2 + k_std**2) / 2)
    return mean, scale * math.sqrt(d_head * (1 + correlation**2)) * spread


@exercise.mistake("Draw 10 000 numbers x and look at x² beside x·y: which spreads more?")
def correlation_only_shifts(d_head, q_std=1.0, k_std=1.0, correlation=0.0, scale=None):
    """A correlation moves the scores but leaves their spread alone."""
    scale = 1 / math.sqrt(d_head) if scale is None else scale
    mean = scale * d_head * correlation * q_std * k_std
    return mean, scale * math.sqrt(d_head) * q_std * k_std


@exercise.mistake("What is the mean of x·x when x has mean 0 and is not always 0?")
def always_centred(d_head, q_std=1.0, k_std=1.0, correlation=0.0, scale=None):
    """Vectors of mean 0 have scores of mean 0."""
    scale = 1 / math.sqrt(d_head) if scale is None else scale
    return 0.0, scale * math.sqrt(d_head * (1 + correlation**2)) * q_std * k_std


@exercise.mistake("How does the mean of a sum grow with the number of its terms?")
def mean_tamed(d_head, q_std=1.0, k_std=1.0, correlation=0.0, scale=None):
    """The factor that stops the spread from growing with the width stops the mean, too."""
    scale = 1 / math.sqrt(d_head) if scale is None else scale
    product = q_std * k_std
    mean = scale * math.sqrt(d_head) * correlation * product
    return mean, scale * math.sqrt(d_head * (1 + correlation**2)) * product


@exercise.mistake("If the key is the query, is the score the same for every query?")
def shared_part_is_fixed(d_head, q_std=1.0, k_std=1.0, correlation=0.0, scale=None):
    """What query and key have in common adds a constant; only the rest spreads."""
    scale = 1 / math.sqrt(d_head) if scale is None else scale
    mean = scale * d_head * correlation * q_std * k_std
    return mean, scale * math.sqrt(d_head * (1 - correlation**2)) * q_std * k_std


@exercise.mistake("Toss d coins: how far from d/2 is the number of heads, usually?")
def grows_like_width(d_head, q_std=1.0, k_std=1.0, correlation=0.0, scale=None):
    """The spread of a sum of d terms is d times that of one."""
    scale = 1 / math.sqrt(d_head) if scale is None else scale
    mean = scale * d_head * correlation * q_std * k_std
    return mean, scale * d_head * math.sqrt(1 + correlation**2) * q_std * k_std


@exercise.alternative
def from_two_squares(d_head, q_std=1.0, k_std=1.0, correlation=0.0, scale=None):
    """Writes q·k as a difference of two independent sums of squares, whose moments are known."""
    if scale is None:
        scale = d_head**-0.5
    # With a = q/s_q + k/s_k and b = q/s_q - k/s_k: q·k = s_q s_k (|a|² - |b|²) / 4.
    var_a, var_b = 2 + 2 * correlation, 2 - 2 * correlation
    mean = d_head * (var_a - var_b) / 4
    variance = d_head * (2 * var_a**2 + 2 * var_b**2) / 16
    unit = scale * q_std * k_std
    return unit * mean, unit * variance**0.5


@exercise.alternative
def by_quadrature(d_head, q_std=1.0, k_std=1.0, correlation=0.0, scale=None):
    """Integrates one product over the normal density on a grid, and warns about it."""
    import warnings

    warnings.warn("integrating numerically", stacklevel=1)
    grid = torch.linspace(-9, 9, 721, dtype=torch.float64)
    density = torch.exp(-(grid**2) / 2)
    density = density / density.sum()
    rest = math.sqrt(max(0.0, 1 - correlation**2))
    x, noise = grid[:, None], grid[None, :]
    product = x * (correlation * x + rest * noise)
    weight = density[:, None] * density[None, :]
    mean = float((weight * product).sum())
    variance = float((weight * (product - mean) ** 2).sum())
    unit = q_std * k_std * (1 / math.sqrt(d_head) if scale is None else scale)
    return unit * d_head * mean, unit * math.sqrt(d_head * variance)
