from course_lib.bank.prelude import math, torch
from course_lib.bank.relative.alibi_reach import _exact, exercise


@exercise.answer
def reference(n_heads: int, share: float, length: int | None = None) -> list[int]:
    """The number of nearest keys of each head that hold a share of its weight."""
    return [math.ceil(keys) for keys in _exact(n_heads, share, length)]


@exercise.mistake("What does a softmax make of two scores that differ by the slope?")
def slope_is_the_factor(n_heads, share, length=None):
    """Each step away multiplies a weight by the slope."""
    slopes = [2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)]
    found = []
    for slope in slopes:
        past = 1.0 if length is None else 1 - slope**length
        found.append(math.ceil(math.log(1 - share * past) / math.log(slope)))
    return found


@exercise.mistake("Scores fall in a straight line. What do the weights do?")
def straight_line(n_heads, share, length=None):
    """Weights fall by the slope at each step until nothing is left."""
    slopes = [2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)]
    ends = [1 / slope if length is None else min(length, 1 / slope) for slope in slopes]
    return [max(1, math.ceil(share * end)) for end in ends]


@exercise.mistake("Slopes are powers of 2. Is the softmax made of powers of 2, too?")
def powers_of_two(n_heads, share, length=None):
    """A softmax takes powers of 2, as the slopes do."""
    slopes = [math.log(2) * 2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)]
    past = [1.0 if length is None else 1 - math.exp(-s * length) for s in slopes]
    return [math.ceil(math.log(1 - share * p) / -s) for s, p in zip(slopes, past, strict=True)]


@exercise.mistake("What is the slope of the first of eight heads: 1, or less?")
def first_slope_is_one(n_heads, share, length=None):
    """The steepest head has slope 1."""
    slopes = [2 ** (-8 * h / n_heads) for h in range(n_heads)]
    past = [1.0 if length is None else 1 - math.exp(-s * length) for s in slopes]
    return [math.ceil(math.log(1 - share * p) / -s) for s, p in zip(slopes, past, strict=True)]


@exercise.mistake("Two heads: are their slopes 1/2 and 1/4, or 1/16 and 1/256?")
def always_halves(n_heads, share, length=None):
    """Slopes are 1/2, 1/4, 1/8 and so on, for any number of heads."""
    slopes = [2.0 ** -(h + 1) for h in range(n_heads)]
    past = [1.0 if length is None else 1 - math.exp(-s * length) for s in slopes]
    return [math.ceil(math.log(1 - share * p) / -s) for s, p in zip(slopes, past, strict=True)]


@exercise.mistake("Is the query's own key, at distance 0, among those that you count?")
def distance_of_the_last(n_heads, share, length=None):
    """The number of keys is the distance of the last of them."""
    slopes = [2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)]
    past = [1.0 if length is None else 1 - math.exp(-s * length) for s in slopes]
    return [math.ceil(math.log(1 - share * p) / -s) - 1 for s, p in zip(slopes, past, strict=True)]


@exercise.mistake(
    "A gentle head spreads nearly evenly over ten keys. Does it take all ten to hold half?"
)
def endless_past(n_heads, share, length=None):
    """A past of any length is as good as endless, if one stops at its end."""
    slopes = [2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)]
    found = [math.ceil(math.log(1 - share) / -slope) for slope in slopes]
    return found if length is None else [min(length, keys) for keys in found]


@exercise.alternative
def adds_weights(n_heads, share, length=None):
    """Makes the weights of a long enough past and adds them up; warns."""
    import warnings

    warnings.warn("adding", stacklevel=1)
    places = torch.arange(20_000 if length is None else length).double()
    slopes = torch.pow(2.0, -8 * torch.arange(1, n_heads + 1).double() / n_heads)
    weights = torch.softmax(-slopes[:, None] * places, dim=-1)
    return ((weights.cumsum(-1) < share).sum(-1) + 1).tolist()


@exercise.alternative
def key_by_key(n_heads, share, length=None):
    """Takes one key after the other until it is enough, in plain Python."""
    found = []
    for head in range(1, n_heads + 1):
        factor = math.exp(-(0.5 ** (8 * head / n_heads)))
        total = 1 / (1 - factor)
        if length is not None:
            total *= 1 - factor**length
        keys, held, weight = 0, 0.0, 1.0
        while held < share * total:
            held, weight, keys = held + weight, weight * factor, keys + 1
        found.append(keys)
    return found
