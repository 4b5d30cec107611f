from course_lib.bank.attention.qk_scale import exercise
from course_lib.bank.prelude import math, torch


@exercise.answer
def reference(n_keys: int, weight: float) -> float:
    """Half the logarithm of the target odds against all others."""
    return 0.5 * math.log(max(1.0, (n_keys - 1) * weight / (1 - weight)))


@exercise.mistake("How small can a cosine be? Which score does such a key get?")
def others_at_zero(n_keys, weight):
    """Keys that do not fit have the score 0."""
    return math.log(max(1.0, (n_keys - 1) * weight / (1 - weight)))


@exercise.mistake("Give one key the score g and seven keys -g. What is the denominator?")
def one_rival(n_keys, weight):
    """It takes as much to win against many keys as against one."""
    return max(0.0, 0.5 * math.log(weight / (1 - weight))) if n_keys > 1 else 0.0


@exercise.mistake("Who are the rivals of the best key? Count them.")
def rival_of_itself(n_keys, weight):
    """The best key competes with all n keys."""
    if n_keys == 1 or weight * n_keys <= 1:
        return 0.0
    return 0.5 * math.log(n_keys * weight / (1 - weight))


@exercise.mistake("The others share what is left of the weight. How much is there against them?")
def numerator_forgotten(n_keys, weight):
    """What the others share decides alone."""
    if n_keys == 1 or weight * n_keys <= 1:
        return 0.0
    return 0.5 * math.log((n_keys - 1) / (1 - weight))


@exercise.mistake("What happens to the order of the keys if all scores are multiplied by -1?")
def below_zero(n_keys, weight):
    """A small weight needs a negative scale."""
    if n_keys == 1:
        return 0.0
    return 0.5 * math.log((n_keys - 1) * weight / (1 - weight))


@exercise.mistake("A lead of 2g means odds of e to which power?")
def odds_in_proportion(n_keys, weight):
    """Weights are in proportion to the scores."""
    if n_keys == 1 or weight * n_keys <= 1:
        return 0.0
    return 0.5 * (n_keys - 1) * weight / (1 - weight)


@exercise.alternative
def inverse_tanh(n_keys, weight):
    """Takes the logistic function as a tanh."""
    if n_keys == 1:
        return 0.0
    return max(0.0, math.atanh(2 * weight - 1) + math.log(n_keys - 1) / 2)


@exercise.alternative
def bisection(n_keys, weight):
    """Searches the scale with torch's softmax, and prints."""
    print("searching")
    low, high = 0.0, 60.0
    for _ in range(70):
        middle = (low + high) / 2
        scores = torch.full((n_keys,), -middle, dtype=torch.float64)
        scores[0] = middle
        if scores.softmax(0)[0].item() < weight:
            low = middle
        else:
            high = middle
    return low
