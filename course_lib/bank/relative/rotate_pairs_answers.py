from course_lib.bank.prelude import Tensor, changed, math, torch
from course_lib.bank.relative.rotate_pairs import exercise
from course_lib.positions import rotary_angles, rotate


@exercise.answer
def reference(
    x: Tensor, positions: Tensor, d_rotary: int | None = None, base: float = 10_000.0
) -> Tensor:
    """The library's rotation of neighbouring channels."""
    d_rotary = x.shape[-1] if d_rotary is None else d_rotary
    return rotate(x, rotary_angles(positions, d_rotary, base=base))


@exercise.mistake("Which channel is the partner of channel 0, in the formula above?")
def halves(x, positions, d_rotary=None, base=10_000.0):
    """A pair is a channel of the first half and one of the second."""
    d = x.shape[-1] if d_rotary is None else d_rotary
    rates = base ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = positions[:, None].double() * rates
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., : d // 2].double(), x[..., d // 2 : d].double()
    out = torch.cat([a * cos - b * sin, a * sin + b * cos, x[..., d:].double()], dim=-1)
    return out.to(x.dtype)


def right(x, positions, d_rotary=None, base=10_000.0):
    """Base of the mistakes, itself right."""
    d = x.shape[-1] if d_rotary is None else d_rotary
    rates = base ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = positions[:, None].double() * rates
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0:d:2].double(), x[..., 1:d:2].double()
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return torch.cat([turned, x[..., d:].double()], dim=-1).to(x.dtype)


@exercise.mistake("At position 1, does (1, 0) turn to (cos 1, sin 1) or to (cos 1, -sin 1)?")
@changed(right, ("- b * sin, a * sin + b * cos", "+ b * sin, b * cos - a * sin"))
def turned_backwards():
    """The sense of the rotation is a matter of taste, if only all turn alike."""


@exercise.mistake("Print your exponents for a width of 8. There are four; where do they end?")
@changed(right, ("0, d, 2", "d // 2"))
def pair_over_width():
    """The exponent of pair i is i over the width."""


@exercise.mistake("If 4 of 12 channels turn, what is the exponent of the second pair: 2/4 or 2/12?")
@changed(right, ("float64) / d", "float64) / x.shape[-1]"))
def width_of_the_head():
    """The frequencies belong to the width of the head, however many channels turn."""


@exercise.mistake("The result is in single precision. Does the angle have to be?")
def single_precision(x, positions, d_rotary=None, base=10_000.0):
    """A cosine in single precision needs no better angle."""
    d = x.shape[-1] if d_rotary is None else d_rotary
    rates = base ** -(torch.arange(0, d, 2).float() / d)
    angles = positions[:, None].float() * rates
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0:d:2].float(), x[..., 1:d:2].float()
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return torch.cat([turned, x[..., d:].float()], dim=-1).to(x.dtype)


@exercise.mistake("Convert your positions to the precision of x and print them, near 1000.")
@changed(right, (", None]", ", None].to(x.dtype)"))
def positions_like_tokens():
    """Positions are kept in the precision of what is turned."""


@exercise.mistake("What becomes of a row of zeros when it is turned? And in your function?")
def code_is_added(x, positions, d_rotary=None, base=10_000.0):
    """Rotary positions are sines and cosines that are added."""
    d = x.shape[-1] if d_rotary is None else d_rotary
    rates = base ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = positions[:, None].double() * rates
    code = torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(-2)
    code = torch.cat([code, code.new_zeros(len(code), x.shape[-1] - d)], dim=-1)
    return (x + code).to(x.dtype)


@exercise.mistake("Which numbers here should training change, and which stay as they are?")
def cut_off(x, positions, d_rotary=None, base=10_000.0):
    """Positions are not learned, so their rotation needs no gradient."""
    d = x.shape[-1] if d_rotary is None else d_rotary
    rates = base ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = positions[:, None].double() * rates
    with torch.no_grad():
        cos, sin = angles.cos(), angles.sin()
        a, b = x[..., 0:d:2].double(), x[..., 1:d:2].double()
        turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
        return torch.cat([turned, x[..., d:]], dim=-1).to(x.dtype)


@exercise.alternative
def complex_numbers(x, positions, d_rotary=None, base=10_000.0):
    """Reads pairs as complex numbers and multiplies by others of length 1; warns."""
    import warnings

    warnings.warn("complex", stacklevel=1)
    d = d_rotary or x.shape[-1]
    slower = torch.exp(torch.arange(d // 2).double() * (-2 * math.log(base) / d))
    angles = torch.outer(positions.double(), slower)
    hands = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x[..., :d].double().reshape(*x.shape[:-1], d // 2, 2))
    turned = torch.view_as_real(pairs * hands).flatten(-2).to(x.dtype)
    return torch.cat([turned, x[..., d:]], dim=-1)


@exercise.alternative
def one_matrix_for_each_row(x, positions, d_rotary=None, base=10_000.0):
    """Builds the rotation matrix of every position and multiplies."""
    width = x.shape[-1]
    d = width if d_rotary is None else d_rotary
    rows = []
    for t, place in enumerate(positions.tolist()):
        matrix = torch.eye(width, dtype=torch.float64)
        for c in range(0, d, 2):
            angle = place / base ** (c / d)
            matrix[c, c] = matrix[c + 1, c + 1] = math.cos(angle)
            matrix[c, c + 1] = -math.sin(angle)
            matrix[c + 1, c] = math.sin(angle)
        rows.append(x[..., t, :].double() @ matrix.T)
    return torch.stack(rows, dim=-2).to(x.dtype)


@exercise.alternative
def turned_by_a_quarter(x, positions, d_rotary=None, base=10_000.0):
    """x times the cosine, plus x turned by a quarter times the sine."""
    d = d_rotary if d_rotary is not None else x.shape[-1]
    channel = torch.arange(x.shape[-1])
    rates = torch.where(channel < d, base ** (-2.0 * (channel // 2).double() / d), 0.0)
    angles = positions.unsqueeze(-1).double() * rates
    quarter = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).reshape(x.shape)
    return (x * angles.cos() + quarter * angles.sin()).to(x.dtype)
