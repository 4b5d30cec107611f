from course_lib.bank.prelude import Tensor, changed, math, torch
from course_lib.bank.sinusoids.add_positions import colleagues_add_positions, exercise
from course_lib.positions import sinusoidal_encoding


@exercise.answer
def reference(x: Tensor, offset: int = 0, base: float = 10_000.0) -> Tensor:
    """Tokens with the codes of their places added."""
    places = torch.arange(offset, offset + x.shape[-2])
    return (x + sinusoidal_encoding(places, x.shape[-1], base=base)).to(x.dtype)


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake("Several things are wrong. Begin with the first symptom above: who gets what?")(
    colleagues_add_positions
)


def right(x, offset=0, base=10_000.0):
    """Base of the mistakes, itself right."""
    places = torch.arange(offset, offset + x.shape[-2], dtype=torch.float64)
    rates = base ** -(torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    angles = places[:, None] * rates
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return (x + table).to(x.dtype)


@exercise.mistake("Add to zeros of shape (2, 3, 4) and print: which axis do your positions follow?")
@changed(right, ("shape[-2", "shape[0"), (").to(x.", "[:, None]).to(x."))
def along_the_batch():
    """The first axis is time."""


@exercise.mistake("What is your last exponent for d_model 8, and may it exceed 1?")
@changed(right, ("(torch.", "(2 * torch."))
def doubled_exponent():
    """The exponent is 2i/d, so what counts 0, 2, 4, ... is multiplied by 2."""


@exercise.mistake("Print your positions at 2047 and beyond, in half precision.")
@changed(right, ("], dtype=torch.float64", "], dtype=x.dtype).double("))
def positions_like_tokens():
    """Positions are kept in the precision of the tokens."""


@exercise.mistake(
    "While a model writes, it gets one token at a time. At which place is each of them?"
)
@changed(right, ("(offset, offset +", "("))
def starts_anew():
    """Every call begins at place 0."""


@exercise.mistake("You know what comes out for zeros. And for ones?")
@changed(right, ("return (", "return (math.sqrt(x.shape[-1]) *"))
def tokens_rescaled():
    """Adding positions includes multiplying the tokens by the root of the width."""


@exercise.mistake(
    "The caller may need the tokens again. Does your function hand them back unharmed?"
)
@changed(right, ("table =", "x +="), ("(x + table).to(x.dtype)", "x"))
def in_place():
    """Adding in place saves memory and cannot be seen."""


@exercise.alternative
def place_by_place(x, offset=0, base=10_000.0):
    """Loops over the places and writes even and odd channels."""
    out = x.clone()
    width = x.shape[-1]
    for place in range(x.shape[-2]):
        for i in range(0, width, 2):
            angle = (offset + place) * base ** (-i / width)
            out[..., place, i] += math.sin(angle)
            out[..., place, i + 1] += math.cos(angle)
    return out


@exercise.alternative
def one_sine(x, offset=0, base=10_000.0):
    """Outer product, one sine for all channels with a phase; warns."""
    import warnings

    warnings.warn("phases", stacklevel=1)
    *_, T, D = x.shape
    channel = torch.arange(D).double()
    pair = torch.div(channel, 2, rounding_mode="floor")
    rates = torch.exp(-2 * pair / D * math.log(base))
    angles = torch.outer(torch.arange(T).double() + offset, rates)
    return x + torch.sin(angles + (channel % 2) * math.pi / 2).to(x.dtype)
