"""Exercise ``sinusoids.shift_matrix``."""

import math

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.positions import shift_matrix as library_shift_matrix
from course_lib.positions import sinusoidal_encoding


def reference(shift: float, d_model: int, base: float = 10_000.0) -> Tensor:
    """The library's matrix."""
    return library_shift_matrix(shift, d_model, base=base)


def _matrix(t: Trial, shift: float, d_model: int = 8) -> Tensor:
    return t.a_tensor(t.call(shift, d_model), (d_model, d_model), "the matrix").double()


exercise = Exercise(
    id="sinusoids.shift_matrix",
    function="shift_matrix",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=3,
    chapter="07_sinusoids.html#sinusoids-shift",
    outcomes=("sinusoids.shift",),
    example=lambda t: (3, 8),
    severe={"signs_alike": "the blocks are no rotations: nothing holds that holds for shifts"},
)


@exercise.prop(
    "one position further: 2 x 2 blocks along the diagonal, zeros elsewhere",
    points=1.75,
    hint="Write sin(a + b) and cos(a + b) with the sines and cosines of a and b. What multiplies"
    " sin a, what cos a?",
)
def one_step(t: Trial) -> None:
    t.same(1, 4)
    t.same(1, 2 * t.integer(3, 6))


@exercise.prop(
    "it turns the code of every position p into that of p + shift",
    points=0.5,
    hint="Multiply your matrix with the code of a position. Which position's code comes out?",
)
def moves_codes(t: Trial) -> None:
    shift, d_model = t.integer(2, 30), 2 * t.integer(3, 6)
    places = t.integers(0, 400, 5).double()
    matrix = t.a_tensor(t.call(shift, d_model), (d_model, d_model))
    for p in places:
        here, there = (sinusoidal_encoding(x, d_model) for x in (p, p + shift))
        t.close(
            (matrix.double() @ here).float(),
            there.float(),
            "matrix @ code",
            note=f"position {int(p)}, shift {shift}",
        )


@exercise.prop(
    "backwards, and not at all: shifts below 0, and 0",
    points=0.75,
    hint="Where does a shift of 5 and then one of -5 lead?",
)
def backwards(t: Trial) -> None:
    # Against the answer's own matrix: whether it is right is asked above.
    shift = t.integer(2, 20)
    there, back = _matrix(t, shift), _matrix(t, -shift)
    t.expect(not torch.allclose(there, back), "both directions have the same matrix")
    t.close((there @ back).float(), torch.eye(8), f"{shift} steps and back")
    t.close(_matrix(t, 0).float(), torch.eye(8), "the shift by 0")


@exercise.prop(
    "shifts between whole numbers",
    points=1,
    hint="Does your matrix ask for whole steps where the sine doesn't?",
)
def fractions(t: Trial) -> None:
    n = t.integer(1, 9)
    half, most = _matrix(t, 0.5), _matrix(t, n + 0.25)
    t.expect(not torch.allclose(half, torch.eye(8).double()), "half a step changes nothing")
    one, more = _matrix(t, 1).float(), _matrix(t, n + 0.75).float()
    t.close((half @ half).float(), one, "two halves, against a step")
    t.close((half @ most).float(), more, f"1/2 and {n} 1/4, against {n} 3/4")


@exercise.prop("another base", points=0.5, hint="Which blocks of the matrix does the base change?")
def base(t: Trial) -> None:
    number = float(t.integer(3, 9))
    shift = t.integer(2, 9)
    matrix = t.a_tensor(t.call(shift, 8, base=number), (8, 8), "the matrix")
    # Double precision is asked below.
    want = t.want(shift, 8, base=number).float()
    t.close(matrix.float(), want, note=f"base {number:g}")


@exercise.prop(
    "long shifts are exact, too, in double precision",
    points=0.5,
    hint="Double precision is wanted of the result: does it begin with the frequencies?",
)
def long_shifts(t: Trial) -> None:
    t.same(t.integer(50_000, 90_000), 16, exact=True)


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
