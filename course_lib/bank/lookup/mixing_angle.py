"""Exercise ``lookup.mixing_angle``."""

import math

import torch

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.lookup import mixing_angle

exercise = Exercise(
    id="lookup.mixing_angle",
    function="mixing_angle",
    reference=mixing_angle,
    points=3,
    minutes=12,
    difficulty=2,
    chapter="02_lookup.html#lookup-sharp",
    outcomes=("lookup.sharpness",),
    example=lambda t: (10.0, 0.9),
)

NUMBER = "the angle"


@exercise.prop(
    "at this angle, in degrees, the first key has the wanted weight",
    points=1.5,
    hint="Two keys of length 1 at an angle: what are their scores for a query `scale` times one?",
)
def values(t: Trial) -> None:
    for scale, least in ((3.0 + t.integer(0, 4), 0.9), (20.0, 0.99), (2.0, 0.8), (1.5, 0.9)):
        t.same(scale, least, note=f"scale {scale:g}, weight {least}")


@exercise.prop(
    "very near keys: a hundred times the scale, a tenth of the angle",
    points=0.5,
    hint="For small angles 1 - cos is about half the angle squared (in radians).",
)
def near(t: Trial) -> None:
    scale = float(t.integer(4000, 9000))
    t.same(scale, 0.95, note=f"scale {scale:g}")
    t.same(100 * scale, 0.95, note=f"scale {100 * scale:g}")


@exercise.prop(
    "if even opposite keys mix, no angle is enough: the answer is infinite",
    points=0.5,
    hint="Where does your formula have no solution? Which angle gives the largest difference?",
)
def out_of_reach(t: Trial) -> None:
    for scale in (0.1 * t.integer(1, 10), 1.2):
        t.close(t.call(scale, 0.95), math.inf, NUMBER, note=f"scale {scale:g}, weight 0.95")
    t.expect(t.call(3.0, 0.95) < math.inf, "at scale 3, a weight of 0.95 can be had")


@exercise.prop(
    "equal keys share evenly, so a weight up to one half needs no angle at all",
    points=0.5,
    hint="What weight does the first of two equal keys get?",
)
def one_half(t: Trial) -> None:
    for scale, least in ((0.1 * t.integer(1, 9), 0.3), (8.0, 0.5), (8.0, 0.2)):
        t.close(t.call(scale, least), 0.0, NUMBER, note=f"scale {scale:g}, weight {least}")
    t.expect(t.call(8.0, 0.55) > 0, "at scale 8, a weight of 0.55 takes an angle")


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


@exercise.mistake("At 180 degrees and your scale: does the first key have the wanted weight?")
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
