from course_lib.bank.prelude import Exercise, Tensor, Trial, torch
from course_lib.positions import sinusoidal_encoding


def _matrix(t: Trial, shift: float, d_model: int = 8) -> Tensor:
    return t.a_tensor(t.call(shift, d_model), (d_model, d_model), "the matrix").double()


exercise = Exercise(
    id="sinusoids.shift_matrix",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="07_shift.html#sinusoids-shift",
    outcomes=("sinusoids.shift",),
    example=lambda t: (3, 8),
    severe={"signs_alike": "the blocks are no rotations: nothing holds that holds for shifts"},
)


@exercise.prop(
    1.75,
    "Write sin(a + b) and cos(a + b) with the sines and cosines of a and b. What multiplies sin"
    " a, what cos a?",
)
def one_step(t: Trial) -> None:
    """one position further: 2 x 2 blocks along the diagonal, zeros elsewhere"""
    t.same(1, 4)
    t.same(1, 2 * t.integer(3, 6))


@exercise.prop(
    0.5, "Multiply your matrix with the code of a position. Which position's code comes out?"
)
def moves_codes(t: Trial) -> None:
    """it turns the code of every position p into that of p + shift"""
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


@exercise.prop(0.75, "Where does a shift of 5 and then one of -5 lead?")
def backwards(t: Trial) -> None:
    """backwards, and not at all: shifts below 0, and 0"""
    # Against the answer's own matrix: whether it is right is asked above.
    shift = t.integer(2, 20)
    there, back = _matrix(t, shift), _matrix(t, -shift)
    t.expect(not torch.allclose(there, back), "both directions have the same matrix")
    t.close((there @ back).float(), torch.eye(8), f"{shift} steps and back")
    t.close(_matrix(t, 0).float(), torch.eye(8), "the shift by 0")


@exercise.prop(1, "Does your matrix ask for whole steps where the sine doesn't?")
def fractions(t: Trial) -> None:
    """shifts between whole numbers"""
    n = t.integer(1, 9)
    half, most = _matrix(t, 0.5), _matrix(t, n + 0.25)
    t.expect(not torch.allclose(half, torch.eye(8).double()), "half a step changes nothing")
    one, more = _matrix(t, 1).float(), _matrix(t, n + 0.75).float()
    t.close((half @ half).float(), one, "two halves, against a step")
    t.close((half @ most).float(), more, f"1/2 and {n} 1/4, against {n} 3/4")


@exercise.prop(0.5, "Which blocks of the matrix does the base change?")
def base(t: Trial) -> None:
    """another base"""
    number = float(t.integer(3, 9))
    shift = t.integer(2, 9)
    matrix = t.a_tensor(t.call(shift, 8, base=number), (8, 8), "the matrix")
    # Double precision is asked below.
    want = t.want(shift, 8, base=number).float()
    t.close(matrix.float(), want, note=f"base {number:g}")


@exercise.prop(0.5, "The result should be in double precision: does it begin with the frequencies?")
def long_shifts(t: Trial) -> None:
    """long shifts are exact, too, in double precision"""
    t.same(t.integer(50_000, 90_000), 16, exact=True)
