from course_lib.alignment import alignment_error_rate, hard_alignment
from course_lib.bank.lookup.alignment_error import exercise
from course_lib.bank.prelude import Tensor, torch


@exercise.answer
def reference(weights: Tensor, gold: Tensor, threshold: float | None = None) -> float:
    """What the exercise asks for, put together from the library."""
    return alignment_error_rate(hard_alignment(weights, threshold), gold)


@exercise.mistake("A target word with two true links, one of them found: is that no error?")
def one_minus_accuracy(weights, gold, threshold=None):
    """The error is the share of words whose strongest link is wrong."""
    if threshold is None:
        drawn = torch.zeros_like(gold).scatter(-1, weights.argmax(-1, keepdim=True), True)
    else:
        drawn = weights >= threshold
    drawn = drawn & (weights > 0)
    right = (drawn & gold).sum().item()
    return 1 - right / drawn.sum().item() if drawn.any() else 0.0


@exercise.mistake("Who chooses: each target word its source word, or the other way round?")
def strongest_in_its_column(weights, gold, threshold=None):
    """Each source word is linked to the target word that looks at it most."""
    if threshold is None:
        drawn = torch.zeros_like(gold).scatter(-2, weights.argmax(-2, keepdim=True), True)
    else:
        drawn = weights >= threshold
    drawn = drawn & (weights > 0)
    total = (drawn.sum() + gold.sum()).item()
    return 1 - 2 * (drawn & gold).sum().item() / total if total else 0.0


@exercise.mistake("Link every word to every word: what is your rate then?")
def only_what_is_missed(weights, gold, threshold=None):
    """Only true links that were missed are errors."""
    if threshold is None:
        drawn = torch.zeros_like(gold).scatter(-1, weights.argmax(-1, keepdim=True), True)
    else:
        drawn = weights >= threshold
    drawn = drawn & (weights > 0)
    return 1 - (drawn & gold).sum().item() / gold.sum().item() if gold.any() else 0.0


@exercise.mistake("What is the denominator: the sum of two counts, or a union?")
def of_the_union(weights, gold, threshold=None):
    """The rate compares what is common with the union of both sets."""
    if threshold is None:
        drawn = torch.zeros_like(gold).scatter(-1, weights.argmax(-1, keepdim=True), True)
    else:
        drawn = weights >= threshold
    drawn = drawn & (weights > 0)
    union = (drawn | gold).sum().item()
    return 1 - (drawn & gold).sum().item() / union if union else 0.0


@exercise.mistake("What does argmax answer for a row in which all weights are 0?")
def padding_is_linked(weights, gold, threshold=None):
    """Every row has a strongest word."""
    if threshold is None:
        drawn = torch.zeros_like(gold).scatter(-1, weights.argmax(-1, keepdim=True), True)
    else:
        drawn = weights >= threshold
    total = (drawn.sum() + gold.sum()).item()
    return 1 - 2 * (drawn & gold).sum().item() / total if total else 0.0


@exercise.mistake("Count the links of a short and of a long sentence: do they weigh the same?")
def mean_of_rates(weights, gold, threshold=None):
    """The rate of a corpus is the mean of the rates of its sentences."""
    if threshold is None:
        drawn = torch.zeros_like(gold).scatter(-1, weights.argmax(-1, keepdim=True), True)
    else:
        drawn = weights >= threshold
    drawn = drawn & (weights > 0)
    total = drawn.sum((-2, -1)) + gold.sum((-2, -1))
    common = (drawn & gold).sum((-2, -1))
    return (1 - 2 * common / total.clamp(min=1)).masked_fill(total == 0, 0.0).mean().item()


@exercise.mistake("May a word have two links once there is a threshold? May it have none?")
def threshold_on_the_strongest(weights, gold, threshold=None):
    """A threshold only removes links that are too weak."""
    drawn = torch.zeros_like(gold).scatter(-1, weights.argmax(-1, keepdim=True), True)
    drawn = drawn & (weights > 0) & (weights >= (threshold or 0.0))
    total = (drawn.sum() + gold.sum()).item()
    return 1 - 2 * (drawn & gold).sum().item() / total if total else 0.0


@exercise.alternative
def with_sets(weights, gold, threshold=None):
    """Sets of index tuples in plain Python."""
    flat = weights.reshape(-1, *weights.shape[-2:]).tolist()
    true = {tuple(place) for place in gold.reshape(-1, *gold.shape[-2:]).nonzero().tolist()}
    drawn = set()
    for b, sentence in enumerate(flat):
        for i, row in enumerate(sentence):
            if any(row) and threshold is not None:
                drawn |= {(b, i, j) for j, w in enumerate(row) if w >= threshold}
            elif any(row):
                drawn.add((b, i, row.index(max(row))))
    count = len(drawn) + len(true)
    return 1 - 2 * len(drawn & true) / count if count else 0.0


@exercise.alternative
def exclusive_or(weights, gold, threshold=None):
    """The links on one side only, divided by all; with a warning."""
    import warnings

    warnings.warn("counting differences", stacklevel=1)
    if threshold is None:
        top = weights.max(dim=-1, keepdim=True).values
        drawn = (weights == top) & (top > 0)
    else:
        drawn = weights.ge(threshold) & weights.any(dim=-1, keepdim=True)
    return float((drawn ^ gold).sum()) / max(1, int(drawn.sum()) + int(gold.sum()))
