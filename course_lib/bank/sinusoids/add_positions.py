from course_lib.bank.prelude import Exercise, Trial, math, torch

exercise = Exercise(
    id="sinusoids.add_positions",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="07_sinusoids.html#sinusoids-added",
    outcomes=("sinusoids.code",),
    example=lambda t: (t.randn(2, 5, 8),),
    severe={"along_the_batch": "no token gets the code of its place"},
)


@exercise.prop(
    1.5, "Add to zeros, and look at two sentences: are they alike? Are two places alike?"
)
def places(t: Trial) -> None:
    """every token gets the code of its place in the sentence"""
    B = t.integer(2, 4)
    t.same(t.randn(B, B + t.integer(1, 4), 4), note="more places than sentences")
    t.same(t.randn(5, 5, 8), note="as many places as sentences")


@exercise.prop(
    1,
    "Count axes from the end. Which one is time? And what does `x += table` do to the caller's"
    " tokens?",
)
def leading_axes(t: Trial) -> None:
    """sentences alone, in batches, under more leading axes; the tokens are left as they were"""
    x = t.randn(2, 3, t.integer(4, 7), 8)
    whole = t.a_tensor(t.call(x), x.shape)
    t.expect(not torch.equal(whole, x), "nothing has been added")
    for part in ((0, 1), (1, 2), (1,)):
        t.close(t.call(x[part]), whole[part], f"x[{part}] alone")
    t.unchanged(x)


@exercise.prop(1, "Print the exponents for d_model 8: they should begin 0, 0.25, and stay below 1.")
def wide(t: Trial) -> None:
    """slow channels and fast ones, as the formula says, at any width and base"""
    t.same(t.randn(6, 16 * t.integer(1, 3)))
    t.same(t.randn(6, 8), base=float(t.integer(5, 90)), note="another base")


@exercise.prop(
    0.5, "Cut a sentence in two: the second half, offset by the first's length, must be as it was."
)
def offset(t: Trial) -> None:
    """with an offset the first token has that position"""
    x, first = t.randn(2, 45, 8), t.integer(3, 40)
    whole = t.a_tensor(t.call(x), x.shape)
    t.expect((whole - x).std(1).max() > 1e-3, "all places have the same code")
    t.expect((t.call(x, offset=first) != whole).any(), "an offset changes nothing")
    note = f"from place {first} on, against the whole sentence"
    t.close(t.call(x[:, first:], offset=first), whole[:, first:], note=note)


@exercise.prop(0.5, "`torch.tensor([2049], dtype=torch.float16)`: what is it?")
def half_precision(t: Trial) -> None:
    """in half precision positions are exact at any place"""
    far = 2 * t.integer(2600, 4000) + 1
    for dtype, place in ((torch.float16, far), (torch.bfloat16, 301)):
        x = t.randn(1, 4, 8).to(dtype)
        exact = t.a_tensor(t.call(x.double(), offset=place), x.shape)
        t.expect(not torch.equal(exact, x.double()), "nothing has been added")
        got = t.call(x, offset=place)
        t.close(got, exact.to(dtype), note=f"{dtype} from place {place}, against float64")


@exercise.prop(0.5, "What is the sum of a half-precision token and a single-precision code?")
def dtype(t: Trial) -> None:
    """what comes out has the dtype of the tokens"""
    for kind in (torch.float16, torch.bfloat16):
        got = t.a_tensor(t.call(t.randn(1, 4, 8).to(kind)), (1, 4, 8))
        t.close(got.dtype, kind, "the dtype")


def colleagues_add_positions(x, offset=0, base=10_000.0):
    """Code that has run in one place runs in every place."""
    length, d_model = x.shape[0], x.shape[-1]
    places = torch.arange(offset, offset + length, dtype=x.dtype)
    two_i = torch.arange(0, d_model, 2)
    rates = torch.exp(-math.log(base) * 2 * two_i / d_model)
    angles = places[:, None] * rates
    table = torch.zeros(length, 1, d_model)
    table[:, 0, 0::2] = angles.sin()
    table[:, 0, 1::2] = angles.cos()
    return x + table.to(x.dtype)
