from course_lib.bank.prelude import Exercise, Trial, torch
from course_lib.positions import sinusoidal_encoding

exercise = Exercise(
    id="sinusoids.code_geometry",
    points=4.5,
    minutes=20,
    difficulty=3,
    chapter="07_shift.html#sinusoids-distance",
    outcomes=("sinusoids.geometry",),
    example=lambda t: (torch.arange(5), 8),
    returns=("the inner product", "the distance of the codes"),
)


@exercise.prop(1, "One pair of channels first: what is sin a sin b + cos a cos b?")
def values(t: Trial) -> None:
    """the inner product of positions a few steps apart"""
    k, d_model = torch.arange(1, t.integer(5, 9)), 2 * t.integer(3, 8)
    t.close(t.parts(t.call(k, d_model))[0], t.want(k, d_model)[0], exercise.returns[0])


@exercise.prop(
    1,
    "Make the codes of positions 5 and 8, and of 105 and 108, and compare with yours for 3. How"
    " long is a code?",
)
def of_real_codes(t: Trial) -> None:
    """the distance is that of two codes made by the formula, wherever the two are"""
    d_model, k = 2 * t.integer(4, 16), t.integers(2, 60, 4)
    found = t.parts(t.call(k, d_model))[1]
    for start in (0, t.integer(1, 500)):
        here = sinusoidal_encoding(torch.tensor(start, dtype=torch.float64), d_model)
        there = sinusoidal_encoding((start + k).double(), d_model)
        # Single precision is asked about further down.
        want, note = (there - here).norm(dim=-1), f"codes of {start} and {(start + k).tolist()}"
        t.close(found, want.float(), "the distance of the codes", note=note)


@exercise.prop(
    1, "Which of the two numbers is 0 for a position with itself? Which is largest there?"
)
def itself_and_back(t: Trial) -> None:
    """distances below 0 give what those above give, and those of 0 the extremes"""
    k, d_model = torch.arange(1, 30), 2 * t.integer(2, 9)
    ahead, back = t.parts(t.call(k, d_model)), t.parts(t.call(-k, d_model))
    itself = t.parts(t.call(torch.tensor(0), d_model))
    for part, what in enumerate(exercise.returns):
        t.close(back[part], ahead[part], what, note="distances below 0, against those above")
        t.a_tensor(itself[part], (), f"{what} at distance 0")
    t.expect(itself[1].abs() < 1e-6, "a code is not at distance 0 from itself")
    t.expect((ahead[0] < itself[0]).all(), "another code has a larger product than the same one")
    t.expect((ahead[1] > 0).all(), "another code is at distance 0")


@exercise.prop(0.5, "The sum runs over the pairs of channels: which axis have you put them on?")
def any_shape(t: Trial) -> None:
    """distances of any shape, between whole numbers, and another base"""
    k, base = t.integers(1, 40, 2, 3), float(t.integer(5, 90))
    table, flat = t.parts(t.call(k, 8, base=base)), t.parts(t.call(k.flatten(), 8, base=base))
    usual, near = t.parts(t.call(k, 8)), t.parts(t.call(k + 0.25, 8))
    for part, what in enumerate(exercise.returns):
        t.a_tensor(table[part], (2, 3), what)
        t.close(table[part].flatten(), flat[part], what, note="a table, against a row")
        t.expect((table[part] != usual[part]).any(), f"{what} does not depend on the base")
        t.expect((near[part] != usual[part]).all(), f"{what}: a quarter of a step changes nothing")


@exercise.prop(
    1, "An angle of 100 000 in single precision: how many digits are left after its point?"
)
def far(t: Trial) -> None:
    """large distances are just as exact"""
    far = t.integers(200_000, 1_000_000, 5)
    t.same(far, 16)
    t.same(far.double() + 0.3, 16, note="between whole numbers, in double precision")
