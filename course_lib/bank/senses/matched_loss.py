"""Exercise ``senses.matched_loss``."""

import torch
from torch import Tensor

from course_lib.checks.compare import difference
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(similarities: Tensor, matches: Tensor) -> Tensor:
    """The exam both ways, with all that fits asked for in equal shares."""
    halves = []
    for s, m in ((similarities, matches), (similarities.T, matches.T)):
        lost = torch.where(m, -s.log_softmax(dim=1), 0.0).sum(1) / m.sum(1).clamp(min=1)
        halves.append(lost.sum() / m.any(1).sum().clamp(min=1))
    return (halves[0] + halves[1]) / 2


def fitting(t: Trial, n: int, m: int) -> Tensor:
    """Matches with rows of one match and rows of several, no row or column without."""
    matches = t.keep_mask(n, m, keep=0.3)
    matches |= torch.eye(max(n, m), dtype=torch.bool)[:n, :m]
    matches[0] = True
    matches[1:, 0] = False
    matches[n - 1] = False
    matches[n - 1, m - 1] = True
    matches[0, m - 1] = False
    matches[:, 1] |= ~matches[:, 1:].any(1)
    return matches


exercise = Exercise(
    id="senses.matched_loss",
    function="matched_loss",
    reference=reference,
    points=5,
    minutes=30,
    difficulty=3,
    chapter="19_senses.html#senses-matches",
    outcomes=("senses.matches",),
    example=lambda t: (t.randn(4, 4), torch.eye(4, dtype=torch.bool)),
)


def mirrored(t: Trial, n: int) -> Tensor:
    """Similarities of which rows and columns are one: both ways ask the same."""
    s = 2 * t.randn(n, n)
    return s + s.T


def _repaired(t: Trial) -> None:
    """What is right in the function that was handed out earns nothing by itself."""
    s, matches = t.randn(4, 6), fitting(t, 4, 6)
    same = difference(t.call(s, matches), colleagues_matched_loss(s, matches)) is None
    t.expect(not same, "it is still the colleague's loss")


@exercise.prop(
    "a picture with several captions is asked for all of them, in equal shares",
    points=1,
    hint="A picture with three captions should count as much as one with a single caption.",
)
def several(t: Trial) -> None:
    n = t.integer(4, 7)
    matches = fitting(t, n, n)
    t.same(mirrored(t, n), matches | matches.T, note="several matches a row")
    t.same(mirrored(t, n), torch.ones(n, n, dtype=torch.bool), note="everything matches")
    t.same(2 * t.randn(n, n + 3), torch.ones(n, n + 3, dtype=torch.bool), note="more captions")


@exercise.prop(
    "captions are asked about pictures, by a softmax over pictures",
    points=1,
    hint="Transpose both arguments: the loss must not change. Whose softmax runs along which axis?",
)
def both_ways(t: Trial) -> None:
    n = t.integer(3, 5)
    s = 2 * t.randn(n, n) + torch.linspace(0, 4, n)[:, None]
    matches = torch.eye(n, dtype=torch.bool)
    one = t.same(s, matches, note="one match each")
    other = t.same(s.T.contiguous(), matches, note="the same, transposed")
    t.close(other, one, "the loss of the transposed batch")


@exercise.prop(
    "who matches nothing is not asked, but remains a wrong answer for the others",
    points=1,
    hint="Over how many rows is your mean? And is the unmatched one still in the others' softmax?",
)
def unmatched(t: Trial) -> None:
    n = t.integer(5, 7)
    matches = torch.eye(n, dtype=torch.bool)
    matches[n - 1] = False
    t.same(mirrored(t, n), matches, note="one picture and one caption match nothing")
    matches[1] = False
    t.same(mirrored(t, n), matches, note="two pictures and two captions match nothing")


@exercise.prop(
    "a batch without any match costs exactly 0, one of a single match what that costs",
    points=0.5,
    hint="0 / 0 is NaN. Over how many is your mean then?",
)
def nothing(t: Trial) -> None:
    s, none = mirrored(t, 4), torch.zeros(4, 4, dtype=torch.bool)
    t.same(s, none, note="no match")
    t.same(s[:, :3].contiguous(), none[:, :3].contiguous(), note="no match, four by three")
    one = none.clone()
    place = t.integer(0, 3)
    one[place, place] = True
    t.same(s, one, note="a single match")


@exercise.prop(
    "large similarities stay finite",
    points=0.5,
    hint="exp(100) is too large for float32. What does `log_softmax` do about it?",
)
def large(t: Trial) -> None:
    _repaired(t)
    n = t.integer(4, 6)
    t.same(1e4 * mirrored(t, n), torch.eye(n, dtype=torch.bool), note="similarities of 10,000")


@exercise.prop(
    "gradients are right, where nothing matches as well; nothing is changed in place",
    points=1,
    hint="A NaN in a branch that is not taken still has a gradient.",
)
def gradients(t: Trial) -> None:
    _repaired(t)
    matches = fitting(t, 4, 5)
    matches[2] = False
    t.gradient(t.randn(4, 5, dtype=torch.float64), matches)
    t.unchanged(t.randn(4, 5), matches)


def colleagues_matched_loss(similarities, matches):
    """A loss that is right for one match each is right for several and for none."""
    log_p = similarities.log_softmax(dim=1)
    rows = -(log_p * matches).sum() / len(similarities)
    columns = -(log_p.T * matches.T).sum() / len(similarities.T)
    return (rows + columns) / 2


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake("Several things are wrong. Begin with the first symptom above.")(
    colleagues_matched_loss
)


@exercise.mistake("Compute the loss of the transposed batch: your two halves should change places.")
def rows_twice(similarities, matches):
    """The probabilities of the rows, transposed, are those of the columns."""
    log_p = similarities.log_softmax(dim=1)
    halves = []
    for p, m in ((log_p, matches), (log_p.T, matches.T)):
        lost = torch.where(m, -p, 0.0).sum(1) / m.sum(1).clamp(min=1)
        halves.append(lost.sum() / m.any(1).sum().clamp(min=1))
    return (halves[0] + halves[1]) / 2


@exercise.mistake("Give one picture three captions. How much does it count beside the others?")
def matches_add_up(similarities, matches):
    """Every match counts alike, so who has many counts more."""
    halves = []
    for s, m in ((similarities, matches), (similarities.T, matches.T)):
        lost = torch.where(m, -s.log_softmax(dim=1), 0.0).sum()
        halves.append(lost / m.sum().clamp(min=1))
    return (halves[0] + halves[1]) / 2


@exercise.mistake("Add a picture that matches nothing. Should the loss of the others shrink?")
def silent_rows_count(similarities, matches):
    """A mean over the batch divides by the size of the batch."""
    halves = []
    for s, m in ((similarities, matches), (similarities.T, matches.T)):
        lost = torch.where(m, -s.log_softmax(dim=1), 0.0).sum(1) / m.sum(1).clamp(min=1)
        halves.append(lost.mean())
    return (halves[0] + halves[1]) / 2


@exercise.mistake("Two captions fit. Is your loss content if all the weight is on one of them?")
def any_will_do(similarities, matches):
    """It is enough to find one of the captions that fit."""
    halves = []
    for s, m in ((similarities, matches), (similarities.T, matches.T)):
        has = m.any(1)
        masked = s.masked_fill(~m & has[:, None], float("-inf"))
        lost = torch.where(has, s.logsumexp(1) - masked.logsumexp(1), 0.0)
        halves.append(lost.sum() / has.sum().clamp(min=1))
    return (halves[0] + halves[1]) / 2


@exercise.mistake("Is a caption that fits no picture gone from the pictures' exam, or still wrong?")
def silent_ones_removed(similarities, matches):
    """Who matches nothing is taken out of the batch."""
    rows, columns = matches.any(1), matches.any(0)
    if not rows.any():
        return similarities.sum() * 0
    similarities, matches = similarities[rows][:, columns], matches[rows][:, columns]
    halves = []
    for s, m in ((similarities, matches), (similarities.T, matches.T)):
        halves.append((torch.where(m, -s.log_softmax(dim=1), 0.0).sum(1) / m.sum(1)).mean())
    return (halves[0] + halves[1]) / 2


@exercise.mistake("Over what does your softmax run, if two captions fit?")
def matches_are_no_rivals(similarities, matches):
    """Captions that fit don't compete, so each is compared with the wrong ones only."""
    halves = []
    for s, m in ((similarities, matches), (similarities.T, matches.T)):
        wrong = s.masked_fill(m, float("-inf")).logsumexp(1, keepdim=True)
        lost = torch.where(m, torch.logaddexp(s, wrong) - s, 0.0)
        lost = lost.sum(1) / m.sum(1).clamp(min=1)
        halves.append(lost.sum() / m.any(1).sum().clamp(min=1))
    return (halves[0] + halves[1]) / 2


@exercise.mistake("Where do the matches of your batch stand? All of them?")
def only_the_diagonal(similarities, matches):
    """Pair i is the one right answer of row i and column i."""
    n = min(similarities.shape)
    has = matches.diagonal()
    count = has.sum().clamp(min=1)
    rows = -(similarities.log_softmax(1).diagonal()[:n] * has).sum() / count
    columns = -(similarities.log_softmax(0).diagonal()[:n] * has).sum() / count
    return (rows + columns) / 2


@exercise.alternative
def by_cross_entropy(similarities, matches):
    """Rows that match something go into cross entropy with shares as targets."""
    total = similarities.sum() * 0
    for s, m in ((similarities, matches), (similarities.T, matches.T)):
        has = m.any(dim=1)
        if has.any():
            shares = m[has].to(s.dtype) / m[has].sum(dim=1, keepdim=True)
            total = total + torch.nn.functional.cross_entropy(s[has], shares) / 2
    return total


@exercise.alternative
def one_by_one(similarities, matches):
    """Loops over pictures and over captions, and prints to standard error."""
    import sys

    print("looping", file=sys.stderr)
    loss = similarities.sum() * 0
    for s, m in ((similarities, matches), (similarities.T, matches.T)):
        asked = [i for i in range(len(s)) if m[i].any()]
        for i in asked:
            right = s[i][m[i]]
            loss = loss + (s[i].logsumexp(0) - right.mean()) / (2 * len(asked))
    return loss
