from course_lib.bank.lookup.mixing_angle import exercise
from course_lib.bank.prelude import changed, math, torch
from course_lib.lookup import mixing_angle

reference = exercise.answer(mixing_angle)


def right(scale, least):
    """Base of the mistakes, itself right."""
    if least <= 0.5:
        return 0.0
    sine = math.log(least / (1 - least)) / (2 * scale)
    return math.degrees(2 * math.asin(math.sqrt(sine))) if sine <= 1 else math.inf


@exercise.mistake("90 is a quarter of a turn. What is your answer for a quarter of a turn?")
@changed(right, ("math.degrees(2", "2"), ("sine)))", "sine))"))
def radians():
    """math.acos answers in degrees."""


@exercise.mistake("The loser's weight is 1 - least. What is the *ratio* of the two weights?")
@changed(right, ("least /", "1 /"))
def not_the_ratio():
    """The loser's weight is exp of the difference of the scores."""


@exercise.mistake("How much is 1 - cos at 90 degrees, and what does your formula take it for?")
def small_angles_only(scale, least):
    """1 - cos of an angle is half its square, for any angle."""
    if least <= 0.5:
        return 0.0
    ratio = math.log(least / (1 - least)) / scale
    return math.degrees(math.sqrt(2 * ratio)) if ratio <= 2 else math.inf


@exercise.mistake("Halve the distance between two keys: is the difference of the scores halved?")
@changed(right, ("sine = math", "half = math"), ("math.sqrt(sine))) if sine", "half)) if half"))
def by_distance():
    """The scores differ by the distance between the keys."""


@exercise.mistake("At 180 degrees and your scale: does the first key have the target weight?")
@changed(right, ("sine))) if sine <= 1 else math.inf", "min(1.0, sine))))"))
def always_possible():
    """Opposite keys can always be told apart."""


@exercise.mistake("Which of the three vectors is multiplied by the scale?")
@changed(right, ("* scale", "* scale**2"))
def keys_scaled_too():
    """Sharpening makes queries and keys longer."""


@exercise.mistake("Can a key at angle 0 have less weight than its twin?")
def below_one_half_too(scale, least):
    """Being far from one half in either direction needs an angle."""
    ratio = abs(math.log(least / (1 - least))) / scale
    sine = ratio / 2
    return math.degrees(2 * math.asin(math.sqrt(sine))) if sine <= 1 else math.inf


@exercise.alternative
def arc_cosine(scale, least):
    """The formula read off, without care for small angles."""
    if least <= 1 / 2:
        return 0.0
    cosine = 1 - (math.log(least) - math.log1p(-least)) / scale
    if cosine < -1:
        return float("inf")
    return math.acos(cosine) * 180 / math.pi


@exercise.alternative
def bisection(scale, least):
    """Halves an interval of angles on the softmax itself, and prints to stderr."""
    import sys

    print("bisecting", file=sys.stderr)
    key = torch.tensor([1.0, 0.0], dtype=torch.float64)

    def weight(degrees):
        a = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64))
        keys = torch.stack([key, torch.stack([a.cos(), a.sin()])])
        return (scale * keys @ key).softmax(0)[0].item()

    if weight(180.0) < least:
        return math.inf
    low, high = 0.0, 180.0
    if weight(0.0) >= least:
        return 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if weight(middle) < least else (low, middle)
    return high
