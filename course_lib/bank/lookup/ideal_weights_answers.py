from course_lib.alignment import ideal_weights
from course_lib.bank.lookup.ideal_weights import exercise
from course_lib.bank.prelude import changed, torch

reference = exercise.answer(ideal_weights)


def right(links, n_source, n_target):
    """Base of the mistakes, itself right."""
    weights = torch.zeros(n_target, n_source)
    for i, j in links:
        weights[j, i] = 1.0
    return weights / weights.sum(-1, keepdim=True).clamp(min=1)


@exercise.mistake("Which words ask, and which are asked? Rows belong to those that ask.")
@changed(right, ("n_target, n_source", "n_source, n_target"), ("j, i] =", "i, j] ="))
def source_rows():
    """Rows are source words, as the links name them first."""


@exercise.mistake("Whose weights does a softmax make sum to 1: those of a query, or of a key?")
@changed(right, ("sum(-1,", "sum(0,"))
def columns_sum_to_one():
    """Every source word has one unit of attention to give away."""


@exercise.mistake("Could a softmax have returned your row with two links?")
@changed(right, ("weights / weights.sum(-1, keepdim=True).clamp(min=1)", "weights"))
def ones():
    """The alignment matrix is the attention matrix."""


@exercise.mistake("A target word with two links: where has the first one gone?")
def last_link_wins(links, n_source, n_target):
    """A target word looks at exactly one source word."""
    weights = torch.zeros(n_target, n_source)
    for i, j in links:
        weights[j] = 0.0
        weights[j, i] = 1.0
    return weights


@exercise.mistake("What does a softmax make of a 0? May a word without a link have weight?")
@changed(right, ("/ weights.sum(-1, keepdim=True).clamp(min=", ".softmax(-"))
def softmax_of_links():
    """A softmax over the links turns them into attention."""


@exercise.mistake("Which source word does a target word without a link translate?")
@changed(right, (").clamp(min=1)", ")"))
def every_word_has_a_source():
    """Every target word translates some source word."""


@exercise.mistake("Is a link that two annotators drew a stronger link than one drawn once?")
@changed(right, ("] = 1.0", "] += 1.0"))
def links_add_up():
    """The more often a link is listed, the more attention it gets."""


@exercise.alternative
def word_by_word(links, n_source, n_target):
    """A set of source words for each target word, and rows built from fractions."""
    rows = []
    for target in range(n_target):
        mine = {s for s, other in links if other == target}
        rows.append([1 / len(mine) if s in mine else 0.0 for s in range(n_source)])
    return torch.tensor(rows)


@exercise.alternative
def minus_infinity(links, n_source, n_target):
    """A softmax over scores of 0 and minus infinity, with rows without links repaired."""
    scores = torch.full((n_target, n_source), -float("inf"))
    index = torch.tensor(links, dtype=torch.long).reshape(-1, 2)
    scores[index[:, 1], index[:, 0]] = 0.0
    return scores.softmax(dim=1).nan_to_num(0.0)
