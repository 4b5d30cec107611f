from course_lib.bank.attention.score_moments import exercise
from course_lib.bank.prelude import math, torch
from course_lib.scaling import score_moments

reference = exercise.answer(score_moments)


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
    """A product's variance is the mean of its factors' variances."""
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
