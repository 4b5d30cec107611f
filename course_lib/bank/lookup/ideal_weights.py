"""Exercise ``lookup.ideal_weights``."""

import torch

from course_lib.alignment import ideal_weights
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial

exercise = Exercise(
    id="lookup.ideal_weights",
    function="ideal_weights",
    reference=ideal_weights,
    points=3,
    minutes=12,
    difficulty=2,
    chapter="02_weights.html#lookup-alignment",
    outcomes=("lookup.weights",),
    # "wirklich noch einmal" - "really again , ": one link, two to one, one word without a link.
    example=lambda t: ([(0, 0), (1, 1), (2, 1), (0, 2)], 3, 3),
)


def reordered(t: Trial, n: int) -> list[tuple[int, int]]:
    """Links of n words whose order changes."""
    return [(int(s), target) for target, s in enumerate(t.permutation(n))]


@exercise.prop(
    "a target word shares its attention equally among the source words it is linked to",
    points=1,
    hint="Rows are target words. A row with two links: what are its two numbers? And a link is"
    " (source, target), a matrix (target, source): which index comes first?",
)
def values(t: Trial) -> None:
    links = reordered(t, 4)
    t.same(links, 4, 4, note="one to one, in another order")
    # The fourth target word translates two more source words: n to 1.
    more = [s for s, target in links if target != 3][:2]
    t.same([*links, *((s, 3) for s in more)], 4, 4, note="three words become one")
    # Each of the words has a link: one without is asked for below.
    beyond = t.integer(0, 2)
    links = [(0, 4), (1, 4), (2, 0), (2, 1), (0, 2), (1, 3), *((s, 5 + s) for s in range(beyond))]
    t.same(links, 3, 5 + beyond, note="T > S")
    t.same([(4, 0), (1, 1), (3, 1)], 5 + t.integer(0, 2), 2, note="S > T")


@exercise.prop(
    "rows sum to 1; columns sum to whatever the links make of them",
    points=0.5,
    hint="One source word becomes three target words: how much attention does it get in all?",
)
def sums(t: Trial) -> None:
    first = t.integer(0, 1)
    links = [(first, 0), (first, 1), (first, 2), (1 - first, 3)]
    weights = t.a_tensor(t.call(links, 3, 4), (4, 3))
    t.close(weights.sum(1), torch.ones(4), "the sum of the rows")
    wanted = torch.zeros(3)
    wanted[first], wanted[1 - first] = 3.0, 1.0
    t.close(weights.sum(0), wanted, "the sum of the columns")


@exercise.prop(
    "links come in any order",
    points=0.5,
    hint="Does your second link of a word undo what the first has written?",
)
def any_order(t: Trial) -> None:
    links = [(0, 0), (1, 0), (2, 1), (3, 1), (1, 2), (2, 3)]
    order = t.permutation(len(links)).tolist()
    if order.index(0) < order.index(1):
        # The first word's links change places, whatever the others do.
        order.reverse()
    before = t.a_tensor(t.call(links, 4, 4), (4, 4))
    t.expect((before != before[0, 0]).any(), "all weights are the same")
    t.close(t.call([links[i] for i in order], 4, 4), before, note="links in another order")


@exercise.prop(
    "a target word without a link attends to nothing: its row is 0",
    points=0.5,
    hint="What is the sum of such a row, and what do you do with that sum?",
)
def no_link(t: Trial) -> None:
    links = reordered(t, 4)
    # A word whose source has another number, so that no row and column are taken for each other.
    moved = [target for s, target in links if s != target]
    free = moved[t.integer(0, len(moved) - 1)]
    links = [(s, target) for s, target in links if target != free]
    weights = t.a_tensor(t.call(links, 4, 4), (4, 4))
    linked = (weights != 0).any(-1)
    want = torch.arange(4) != free
    t.close(linked, want, "which rows are not 0", note=f"target word {free} has no link")
    t.same([], 3, 3, note="no links at all")


@exercise.prop(
    "a link that is listed twice counts once",
    points=0.5,
    hint="Two annotators drew the same link. Is the word then linked twice as much?",
)
def twice(t: Trial) -> None:
    a, b, c = t.permutation(3).tolist()
    links = [(a, 0), (b, 0), (c, 1)]
    once = t.a_tensor(t.call(links, 3, 3), (3, 3))
    t.expect((once != 0).any(), "all weights are 0")
    t.close(t.call([*links, (b, 0)], 3, 3), once, note="a link twice, against once")


@exercise.mistake("Which words ask, and which are asked? Rows belong to those that ask.")
def source_rows(links, n_source, n_target):
    """Rows are source words, as the links name them first."""
    weights = torch.zeros(n_source, n_target)
    for i, j in links:
        weights[i, j] = 1.0
    return weights / weights.sum(-1, keepdim=True).clamp(min=1)


@exercise.mistake("Whose weights does a softmax make sum to 1: those of a query, or of a key?")
def columns_sum_to_one(links, n_source, n_target):
    """Every source word has one unit of attention to give away."""
    weights = torch.zeros(n_target, n_source)
    for i, j in links:
        weights[j, i] = 1.0
    return weights / weights.sum(0, keepdim=True).clamp(min=1)


@exercise.mistake("Could a softmax have returned your row with two links?")
def ones(links, n_source, n_target):
    """The alignment matrix is the attention matrix."""
    weights = torch.zeros(n_target, n_source)
    for i, j in links:
        weights[j, i] = 1.0
    return weights


@exercise.mistake("A target word with two links: where has the first one gone?")
def last_link_wins(links, n_source, n_target):
    """A target word looks at exactly one source word."""
    weights = torch.zeros(n_target, n_source)
    for i, j in links:
        weights[j] = 0.0
        weights[j, i] = 1.0
    return weights


@exercise.mistake("What does a softmax make of a 0? May a word without a link have weight?")
def softmax_of_links(links, n_source, n_target):
    """A softmax over the links turns them into attention."""
    weights = torch.zeros(n_target, n_source)
    for i, j in links:
        weights[j, i] = 1.0
    return weights.softmax(-1)


@exercise.mistake("Which source word does the target word translate that has no link?")
def every_word_has_a_source(links, n_source, n_target):
    """Every target word translates some source word."""
    weights = torch.zeros(n_target, n_source)
    for i, j in links:
        weights[j, i] = 1.0
    return weights / weights.sum(-1, keepdim=True)


@exercise.mistake("Is a link that two annotators drew a stronger link than one drawn once?")
def links_add_up(links, n_source, n_target):
    """The more often a link is listed, the more attention it gets."""
    weights = torch.zeros(n_target, n_source)
    for i, j in links:
        weights[j, i] += 1.0
    return weights / weights.sum(-1, keepdim=True).clamp(min=1)


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
