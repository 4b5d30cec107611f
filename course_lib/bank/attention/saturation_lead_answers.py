from course_lib.bank.attention.saturation_lead import exercise
from course_lib.bank.prelude import math, torch
from course_lib.scaling import saturation_lead

reference = exercise.answer(saturation_lead)


@exercise.mistake(
    "Compute the slope at a lead of 20, far below any overflow. Is it still worth training on?"
)
def overflow(n_keys, share=0.01):
    """The gradient dies when exp overflows."""
    return math.log(torch.finfo(torch.float32).max)


@exercise.mistake("Give the winner a lead of 3 over one key, then over a thousand: what changes?")
def one_rival(n_keys, share=0.01):
    """Only the lead over the runner-up matters, not how many keys there are."""
    return 2 * math.atanh(math.sqrt(1 - share)) if share < 1 else 0.0


@exercise.mistake("Who are the winner's rivals? Count them.")
def rival_of_itself(n_keys, share=0.01):
    """The winner competes with all n keys."""
    root = math.sqrt(1 - share)
    return math.log((1 + root) ** 2 / share) + math.log(n_keys)


@exercise.mistake("How does w itself enter the slope, when w is not near 1?")
def what_is_missing(n_keys, share=0.01):
    """The slope of a weight is what it still lacks to 1."""
    winner = 1 - share / 2
    return math.log(winner / (1 - winner)) + math.log(n_keys - 1)


@exercise.mistake("What is the largest value that w(1 - w) can have?")
def share_of_one(n_keys, share=0.01):
    """At its steepest a weight follows its score one to one."""
    winner = (1 + math.sqrt(max(0.0, 1 - 4 * share))) / 2
    return math.log(winner / (1 - winner)) + math.log(n_keys - 1)


@exercise.mistake("Double all scores. Do the weights keep their ratio?")
def proportional(n_keys, share=0.01):
    """Weights are in proportion to the scores."""
    root = math.sqrt(1 - share)
    return (n_keys - 1) * (1 + root) ** 2 / share


@exercise.alternative
def inverse_tanh(n_keys, share=0.01):
    """Uses that a two-key softmax is (1 + tanh(lead / 2)) / 2."""
    if share == 1:
        return math.log(n_keys - 1)
    return 2 * math.atanh(math.sqrt(1 - share)) + math.log(n_keys - 1)


@exercise.alternative
def bisection(n_keys, share=0.01):
    """Searches the lead with torch's own gradient, and warns about it."""
    import warnings

    warnings.warn("searching", stacklevel=1)

    def slope(lead):
        scores = torch.zeros(n_keys, dtype=torch.float64)
        scores[0] = lead
        scores.requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(scores.softmax(0)[0], scores)
        return 4 * gradient[0].item()

    low = math.log(n_keys - 1)
    high = low + 100
    while high - low > 1e-9:
        middle = (low + high) / 2
        if slope(middle) > share:
            low = middle
        else:
            high = middle
    return low
