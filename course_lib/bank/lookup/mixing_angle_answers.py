from course_lib.bank.lookup.mixing_angle import exercise
from course_lib.bank.prelude import math, torch
from course_lib.lookup import mixing_angle

reference = exercise.answer(mixing_angle)


@exercise.mistake("90 is a quarter of a turn. What is your answer for a quarter of a turn?")
def radians(scale, least):
    """math.acos answers in degrees."""
    if least <= 0.5:
        return 0.0
    sine = math.log(least / (1 - least)) / (2 * scale)
    return 2 * math.asin(math.sqrt(sine)) if sine <= 1 else math.inf


@exercise.mistake("The loser's weight is 1 - least. What is the *ratio* of the two weights?")
def not_the_ratio(scale, least):
    """The loser's weight is exp of the difference of the scores."""
    if least <= 0.5:
        return 0.0
    sine = math.log(1 / (1 - least)) / (2 * scale)
    return math.degrees(2 * math.asin(math.sqrt(sine))) if sine <= 1 else math.inf


@exercise.mistake("How much is 1 - cos at 90 degrees, and what does your formula take it for?")
def small_angles_only(scale, least):
    """1 - cos of an angle is half its square, for any angle."""
    if least <= 0.5:
        return 0.0
    ratio = math.log(least / (1 - least)) / scale
    return math.degrees(math.sqrt(2 * ratio)) if ratio <= 2 else math.inf


@exercise.mistake("Halve the distance between two keys: is the difference of the scores halved?")
def by_distance(scale, least):
    """The scores differ by the distance between the keys."""
    if least <= 0.5:
        return 0.0
    half = math.log(least / (1 - least)) / (2 * scale)
    return math.degrees(2 * math.asin(half)) if half <= 1 else math.inf


@exercise.mistake("At 180 degrees and your scale: does the first key have the target weight?")
def always_possible(scale, least):
    """Opposite keys can always be told apart."""
    if least <= 0.5:
        return 0.0
    sine = math.log(least / (1 - least)) / (2 * scale)
    return math.degrees(2 * math.asin(math.sqrt(min(1.0, sine))))


@exercise.mistake("Which of the three vectors is multiplied by the scale?")
def keys_scaled_too(scale, least):
    """Sharpening makes queries and keys longer."""
    if least <= 0.5:
        return 0.0
    sine = math.log(least / (1 - least)) / (2 * scale**2)
    return math.degrees(2 * math.asin(math.sqrt(sine))) if sine <= 1 else math.inf


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
