from course_lib.bank.prelude import Tensor, math, torch
from course_lib.bank.sinusoids.code_geometry import exercise
from course_lib.positions import code_similarity


@exercise.answer
def reference(distance: Tensor, d_model: int, base: float = 10_000.0) -> tuple[Tensor, Tensor]:
    """Inner product and Euclidean distance of two codes."""
    inner = code_similarity(distance, d_model, base=base)
    return inner, (d_model - 2 * inner).clamp(min=0).sqrt()


@exercise.mistake("Compute it for distance 0 from a real code. Is a code's product with itself 1?")
def a_cosine_similarity(distance, d_model, base=10_000.0):
    """An inner product of codes lies between -1 and 1."""
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    inner = (distance.unsqueeze(-1).double() * rates).cos().mean(-1)
    return inner, (d_model * (1 - inner)).clamp(min=0).sqrt()


@exercise.mistake("How many cosines come out of one pair of channels: two, or one?")
def a_cosine_for_each_channel(distance, d_model, base=10_000.0):
    """Each channel contributes a cosine of its own."""
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    inner = 2 * (distance.unsqueeze(-1).double() * rates).cos().sum(-1)
    return inner, (d_model - inner).clamp(min=0).sqrt()


@exercise.mistake("How long is a code? Compute one, then its length.")
def codes_of_length_one(distance, d_model, base=10_000.0):
    """All codes have length 1."""
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    inner = (distance.unsqueeze(-1).double() * rates).cos().sum(-1)
    return inner, (2 - 2 * inner / (d_model / 2)).clamp(min=0).sqrt()


@exercise.mistake("Expand |a - b|² for two vectors. How often does their product occur?")
def product_once(distance, d_model, base=10_000.0):
    """The squared distance is the two squares less the product."""
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    inner = (distance.unsqueeze(-1).double() * rates).cos().sum(-1)
    return inner, (d_model - inner).clamp(min=0).sqrt()


@exercise.mistake("In which unit is your second number: that of a vector, or its square?")
def square_of_the_distance(distance, d_model, base=10_000.0):
    """The sum of the squared differences is the distance."""
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    inner = (distance.unsqueeze(-1).double() * rates).cos().sum(-1)
    return inner, (d_model - 2 * inner).clamp(min=0)


@exercise.mistake("How far apart can two points on a circle be at most?")
def proportional(distance, d_model, base=10_000.0):
    """Positions twice as far apart have codes twice as far apart."""
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    inner = (distance.unsqueeze(-1).double() * rates).cos().sum(-1)
    one_step = (2 * (1 - rates.cos()).sum()).sqrt()
    return inner, distance.abs().double() * one_step


@exercise.mistake("Is the arc between two hands of a clock as long as the straight line?")
def along_the_circle(distance, d_model, base=10_000.0):
    """Two points on a circle are as far apart as the angle between them."""
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = distance.unsqueeze(-1).double() * rates
    return angles.cos().sum(-1), torch.atan2(angles.sin(), angles.cos()).norm(dim=-1)


@exercise.mistake("Only whole turns may be lost. Single precision loses more: how much at 10^6?")
def single_precision(distance, d_model, base=10_000.0):
    """Cosines are at most 1, so single precision is enough for their angles."""
    rates = base ** -(torch.arange(0, d_model, 2).float() / d_model)
    inner = (distance.unsqueeze(-1).float() * rates).double().cos().sum(-1)
    return inner, (d_model - 2 * inner).clamp(min=0).sqrt()


@exercise.alternative
def chords(distance, d_model, base=10_000.0):
    """The straight line between two hands of a clock is twice the sine of half their angle."""
    rates = base ** -(torch.arange(0, d_model, 2).double() / d_model)
    half = distance.double()[..., None] * rates / 2
    squares = torch.sin(half) ** 2
    return (1 - 2 * squares).sum(-1), 2 * squares.sum(-1).sqrt()


@exercise.alternative
def two_real_codes(distance, d_model, base=10_000.0):
    """Makes the two codes and measures; prints to stderr."""
    import sys

    print("measuring", file=sys.stderr)
    i = torch.arange(d_model // 2, dtype=torch.float64)

    def code(p):
        angle = p[..., None].double() / base ** (2 * i / d_model)
        return torch.cat([torch.sin(angle), torch.cos(angle)], -1)

    here, there = code(torch.zeros_like(distance)), code(distance)
    return torch.einsum("...d,...d->...", here, there), torch.linalg.vector_norm(
        there - here, dim=-1
    )


@exercise.alternative
def pair_by_pair(distance, d_model, base=10_000.0):
    """Adds the pairs up one by one, as real parts of complex numbers."""
    inner = torch.zeros(distance.shape, dtype=torch.float64)
    for i in range(0, d_model, 2):
        angle = distance.double() * math.exp(-math.log(base) * i / d_model)
        inner = inner + torch.exp(1j * angle).real
    return inner, torch.sqrt(torch.relu(d_model - 2 * inner))
