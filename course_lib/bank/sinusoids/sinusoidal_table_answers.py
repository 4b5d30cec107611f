from course_lib.bank.prelude import Tensor, math, torch
from course_lib.bank.sinusoids.sinusoidal_table import exercise
from course_lib.positions import sinusoidal_encoding


@exercise.answer
def reference(positions: Tensor, d_model: int, base: float = 10_000.0) -> Tensor:
    """The library's codes, in single precision whatever the positions are."""
    return sinusoidal_encoding(positions, d_model, base=base).float()


@exercise.mistake("Which channels does your first pair use? And which does the docstring give it?")
def sines_then_cosines(positions, d_model, base=10_000.0):
    """All sines come first, then all cosines."""
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = positions.unsqueeze(-1).double() * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1).float()


@exercise.mistake("What is the code of position 0, and what is sin 0?")
def cosine_first(positions, d_model, base=10_000.0):
    """Whether sine or cosine comes first in a pair is a matter of taste."""
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = positions.unsqueeze(-1).double() * rates
    return torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(-2).float()


@exercise.mistake("Print your exponents for d_model 8. There are four; where do they end?")
def pair_over_width(positions, d_model, base=10_000.0):
    """The exponent of pair i is i over the width."""
    rates = base ** -(torch.arange(d_model // 2, dtype=torch.float64) / d_model)
    angles = positions.unsqueeze(-1).double() * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


@exercise.mistake("How many different frequencies does a code of width 8 have in your table?")
def every_channel_its_own(positions, d_model, base=10_000.0):
    """Every channel has a frequency of its own."""
    rates = base ** -(torch.arange(d_model, dtype=torch.float64) / d_model)
    angles = positions.unsqueeze(-1).double() * rates
    even = torch.arange(d_model) % 2 == 0
    return torch.where(even, angles.sin(), angles.cos()).float()


@exercise.mistake("Is the largest exponent exactly 1? Put the largest i into 2i/d_model.")
def last_wave_is_base(positions, d_model, base=10_000.0):
    """The frequencies run from 1 to exactly 1/base."""
    rates = base ** -torch.linspace(0, 1, d_model // 2, dtype=torch.float64)
    angles = positions.unsqueeze(-1).double() * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


@exercise.mistake("The result is in single precision. Does the angle have to be?")
def single_precision(positions, d_model, base=10_000.0):
    """A result in single precision needs nothing better on the way."""
    rates = base ** -(torch.arange(0, d_model, 2).float() / d_model)
    angles = positions.unsqueeze(-1).float() * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


@exercise.mistake("Try position 1.5.")
def whole_positions(positions, d_model, base=10_000.0):
    """Positions are whole numbers."""
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = positions.long().unsqueeze(-1).double() * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


@exercise.mistake("Which position has the code 0, 1, 0, 1, ...?")
def counts_from_one(positions, d_model, base=10_000.0):
    """The first position is number 1."""
    rates = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = (positions.unsqueeze(-1).double() + 1) * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


@exercise.alternative
def hands_of_clocks(positions, d_model, base=10_000.0):
    """Complex numbers of length 1, with real and imaginary part exchanged."""
    slower = torch.arange(d_model // 2, dtype=torch.float64) * (2 * math.log(base) / d_model)
    angles = positions.to(torch.float64)[..., None] * torch.exp(-slower)
    hands = torch.view_as_real(torch.polar(torch.ones_like(angles), angles))
    return hands.flip(-1).reshape(*positions.shape, d_model).float()


@exercise.alternative
def cosine_is_a_shifted_sine(positions, d_model, base=10_000.0):
    """One sine for all channels, a quarter of a turn ahead where a cosine is needed; warns."""
    import warnings

    warnings.warn("no cosine used", stacklevel=1)
    channel = torch.arange(d_model)
    exponent = 2 * (channel // 2).double() / d_model
    quarter = (channel % 2) * (math.pi / 2)
    return torch.sin(positions.double().unsqueeze(-1) / base**exponent + quarter).float()


@exercise.alternative
def number_by_number(positions, d_model, base=10_000.0):
    """Plain Python, one number after the other."""
    table = []
    for p in positions.reshape(-1).tolist():
        row = []
        for i in range(d_model // 2):
            angle = p / base ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        table.append(row)
    return torch.tensor(table).reshape(list(positions.shape) + [d_model])
