from course_lib.bank.prelude import Tensor, math, torch
from course_lib.bank.sinusoids.shift_matrix import exercise
from course_lib.positions import shift_matrix as library_shift_matrix


@exercise.answer
def reference(shift: float, d_model: int, base: float = 10_000.0) -> Tensor:
    """The library's matrix."""
    return library_shift_matrix(shift, d_model, base=base)


@exercise.mistake("Multiply your matrix with the code of position 5: is it that of 6, or of 4?")
def leads_back(shift, d_model, base=10_000.0):
    """A rotation matrix is cos, -sin, sin, cos, whatever comes first in the pair."""
    angles = shift * base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    blocks = []
    for a in angles:
        blocks.append(
            torch.stack([torch.stack([a.cos(), -a.sin()]), torch.stack([a.sin(), a.cos()])])
        )
    return torch.block_diag(*blocks)


@exercise.mistake("Shift by 0 leaves everything where it is. Does yours?")
def signs_alike(shift, d_model, base=10_000.0):
    """Sine and cosine follow the same rule when angles are added."""
    angles = shift * base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    blocks = []
    for a in angles:
        blocks.append(
            torch.stack([torch.stack([a.cos(), a.sin()]), torch.stack([a.sin(), a.cos()])])
        )
    return torch.block_diag(*blocks)


@exercise.mistake("Which two channels of a code belong together in this course?")
def halves(shift, d_model, base=10_000.0):
    """The first half of the channels are the sines, the second half the cosines."""
    angles = shift * base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    c, s = torch.diag(angles.cos()), torch.diag(angles.sin())
    return torch.cat([torch.cat([c, s], dim=1), torch.cat([-s, c], dim=1)])


@exercise.mistake("Do the slow hands of a clock turn as far as the fast ones?")
def one_angle(shift, d_model, base=10_000.0):
    """A shift turns all pairs by the same angle."""
    a = torch.tensor(float(shift), dtype=torch.float64)
    block = torch.stack([torch.stack([a.cos(), a.sin()]), torch.stack([-a.sin(), a.cos()])])
    return torch.block_diag(*[block] * (d_model // 2))


@exercise.mistake("Turn by a quarter, twice. Is the result twice as long?")
def proportional(shift, d_model, base=10_000.0):
    """Twice the shift changes a code by twice as much."""
    angles = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    blocks = []
    for a in angles:
        blocks.append(
            torch.stack([torch.stack([a.cos(), a.sin()]), torch.stack([-a.sin(), a.cos()])])
        )
    identity = torch.eye(d_model, dtype=torch.float64)
    return identity + shift * (torch.block_diag(*blocks) - identity)


@exercise.mistake("Try half a step. Twice half a step is one step: how much is yours?")
def whole_steps(shift, d_model, base=10_000.0):
    """A shift is a number of steps, so its matrix is a power."""
    angles = base ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    blocks = []
    for a in angles:
        blocks.append(
            torch.stack([torch.stack([a.cos(), a.sin()]), torch.stack([-a.sin(), a.cos()])])
        )
    return torch.linalg.matrix_power(torch.block_diag(*blocks), int(shift))


@exercise.mistake("At a shift of 80 000, how many digits of the angle does single precision leave?")
def single_precision(shift, d_model, base=10_000.0):
    """A cast at the end makes double precision."""
    angles = shift * base ** -(torch.arange(0, d_model, 2).float() / d_model)
    blocks = []
    for a in angles:
        blocks.append(
            torch.stack([torch.stack([a.cos(), a.sin()]), torch.stack([-a.sin(), a.cos()])])
        )
    return torch.block_diag(*blocks).double()


@exercise.alternative
def exponential(shift, d_model, base=10_000.0):
    """The matrix exponential of what a tiny step does."""
    generator = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        rate = base ** (-i / d_model)
        # Whole turns change nothing, and the exponential is exact for small angles only.
        angle = math.remainder(shift * rate, 2 * math.pi)
        generator[i, i + 1], generator[i + 1, i] = angle, -angle
    return torch.linalg.matrix_exp(generator)


@exercise.alternative
def what_becomes_of_unit_vectors(shift, d_model, base=10_000.0):
    """Every channel alone, turned as a complex number, is a column of the matrix; warns."""
    import warnings

    warnings.warn("column by column", stacklevel=1)
    rates = base ** -(torch.arange(0, d_model, 2).double() / d_model)
    turn = torch.polar(torch.ones_like(rates), shift * rates)
    columns = []
    for channel in torch.eye(d_model, dtype=torch.float64):
        sine, cosine = channel[0::2], channel[1::2]
        hand = torch.complex(cosine, sine) * turn
        columns.append(torch.stack([hand.imag, hand.real], dim=-1).flatten())
    return torch.stack(columns, dim=1)


@exercise.alternative
def filled_by_index(shift, d_model, base=10_000.0):
    """Writes the four entries of all blocks by index."""
    even = torch.arange(0, d_model, 2)
    angle = shift / base ** (even.double() / d_model)
    matrix = torch.zeros(d_model, d_model).double()
    matrix[even, even] = matrix[even + 1, even + 1] = torch.cos(angle)
    matrix[even, even + 1] = torch.sin(angle)
    matrix[even + 1, even] = -torch.sin(angle)
    return matrix
