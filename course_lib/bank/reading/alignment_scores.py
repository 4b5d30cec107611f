"""Exercise ``reading.alignment_scores``."""

import torch
from torch import Tensor

from course_lib.alignment import alignment_error_rate
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(predicted: Tensor, sure: Tensor, possible: Tensor) -> tuple[float, float, float]:
    """Precision on what is possible, recall of what is sure, and the library's error rate."""
    fair = sure | possible
    drawn, wanted = int(predicted.sum()), int(sure.sum())
    precision = int((predicted & fair).sum()) / drawn if drawn else 1.0
    recall = int((predicted & sure).sum()) / wanted if wanted else 1.0
    return precision, recall, alignment_error_rate(predicted, sure, possible)


exercise = Exercise(
    id="reading.alignment_scores",
    function="alignment_scores",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=2,
    chapter="10_reading.html#reading-alignment",
    outcomes=("reading.alignment",),
    returns=("precision", "recall", "error rate"),
    example=lambda t: _links(t),
)


def _links(t: Trial, T: int = 6, S: int = 7, nested: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """Links of two sentences in which all three numbers differ, and so do all wrong ways to them.

    Of ten cells, drawn anew in each sentence, the first hold links that are drawn, sure and
    possible in every combination, each another number of times.
    """
    predicted, sure, possible = (torch.zeros(2, T, S, dtype=torch.bool) for _ in range(3))
    #       drawn, sure, possible: how many in the first sentence and in the second
    kinds = {
        (1, 1, 1): (6, 1),
        (1, 0, 1): (3, 1),
        (1, 0, 0): (1, 3),
        (0, 1, 1): (2, 3),
        (0, 0, 1): (4, 2),
    }
    for b in range(2):
        cells = t.permutation(T * S).tolist()
        for (drawn, is_sure, is_possible), counts in kinds.items():
            for _ in range(counts[b]):
                cell = cells.pop()
                place = b, cell // S, cell % S
                predicted[place] = bool(drawn)
                sure[place] = bool(is_sure)
                possible[place] = bool(is_possible) and (nested or not is_sure)
    return predicted, sure, possible


def _three(t: Trial, *args: Tensor, note: str = "", only: int | None = None) -> None:
    got = t.values(t.call(*args))
    want = t.want(*args)
    for n, name in enumerate(exercise.returns):
        if only in (None, n):
            t.close(got[n], want[n], name, note=note)


@exercise.prop(
    "precision: which share of the links drawn is at least possible",
    points=1,
    hint="A link that is possible, but not sure, has been drawn. Is that an error?",
)
def precision(t: Trial) -> None:
    # One sentence: that links of all sentences are counted together is asked of the others.
    _three(t, *(links[:1] for links in _links(t)), only=0)


@exercise.prop(
    "recall: which share of the sure links has been drawn",
    points=1,
    hint="A link that is possible, but not sure, has not been drawn. Is that an error?",
)
def recall(t: Trial) -> None:
    _three(t, *_links(t), only=1)


@exercise.prop(
    "the error rate 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)",
    points=1.25,
    hint="Four counts. Which two stand below the line?",
)
def rate(t: Trial) -> None:
    _three(t, *_links(t), only=2)
    _three(t, *_links(t, T=9, S=5), only=2)
    _, sure, possible = _links(t)
    _three(t, sure.roll(1, -1), sure, possible, only=2, note="as many links drawn as are sure")


@exercise.prop(
    "sure links are possible, too, whether or not they were marked twice",
    points=0.75,
    hint="Some corpora write P for S and P together, some for those that are only possible.",
)
def nested(t: Trial) -> None:
    predicted, sure, possible = _links(t, nested=False)
    marked = (possible, possible | sure)
    got, both = (t.values(t.call(predicted, sure, links)) for links in marked)
    for n, name in enumerate(exercise.returns):
        value = both[n].item() if isinstance(both[n], Tensor) else both[n]
        t.expect(0 < value < 1, f"{name} is {value}, wanted a share between 0 and 1")
        t.close(got[n], float(value), name, note="sure links marked once, against twice")


@exercise.prop(
    "nothing drawn, and nothing sure: no division by zero",
    points=1,
    hint="Of no links drawn, none is wrong; of no sure ones, none is missing.",
)
def nothing(t: Trial) -> None:
    predicted, sure, possible = _links(t)
    none = torch.zeros_like(sure)
    _three(t, none, sure, possible, note="nothing drawn", only=0)
    _three(t, none, sure, possible, note="nothing drawn", only=1)
    _three(t, predicted, none, none, note="nothing sure or possible", only=0)
    _three(t, predicted, none, possible, note="nothing sure", only=1)
    _three(t, none, none, possible, note="neither")


@exercise.mistake("A link that is only possible is drawn. Whom does that harm?")
def possible_is_wrong(predicted, sure, possible):
    """A link that is not sure is an error."""
    hits, drawn, wanted = (int(x.sum()) for x in (predicted & sure, predicted, sure))
    return (
        hits / drawn if drawn else 1.0,
        hits / wanted if wanted else 1.0,
        1 - 2 * hits / (drawn + wanted) if drawn + wanted else 0.0,
    )


@exercise.mistake("A link that is only possible is left out. Whom does that harm?")
def all_possible_wanted(predicted, sure, possible):
    """Every possible link has to be found."""
    fair = sure | possible
    hits, drawn, wanted = (int(x.sum()) for x in (predicted & fair, predicted, fair))
    return (
        hits / drawn if drawn else 1.0,
        hits / wanted if wanted else 1.0,
        1 - 2 * hits / (drawn + wanted) if drawn + wanted else 0.0,
    )


@exercise.mistake("Write both formulas with their counts. Do they come to the same?")
def harmonic_mean(predicted, sure, possible):
    """The error rate is 1 minus the F measure of precision and recall."""
    fair = sure | possible
    drawn, wanted = int(predicted.sum()), int(sure.sum())
    p = int((predicted & fair).sum()) / drawn if drawn else 1.0
    r = int((predicted & sure).sum()) / wanted if wanted else 1.0
    if not drawn and not wanted:
        return p, r, 0.0
    return p, r, 1 - 2 * p * r / (p + r) if p + r else 1.0


@exercise.mistake("A sentence of three links and one of forty: does each of them count as much?")
def mean_of_sentences(predicted, sure, possible):
    """The rate of a corpus is the mean of its sentences' rates."""
    found = []
    for a, s, p in zip(predicted, sure, sure | possible, strict=True):
        drawn, wanted = int(a.sum()), int(s.sum())
        strict_hits, hits = int((a & s).sum()), int((a & p).sum())
        total = drawn + wanted
        found.append(
            (
                hits / drawn if drawn else 1.0,
                strict_hits / wanted if wanted else 1.0,
                1 - (strict_hits + hits) / total if total else 0.0,
            )
        )
    return tuple(sum(column) / len(found) for column in zip(*found, strict=True))


@exercise.mistake("Try a corpus in which P holds only what is not sure.")
def only_marked(predicted, sure, possible):
    """A sure link counts as possible only where it is marked so."""
    drawn, wanted = int(predicted.sum()), int(sure.sum())
    strict_hits, hits = int((predicted & sure).sum()), int((predicted & possible).sum())
    total = drawn + wanted
    return (
        hits / drawn if drawn else 1.0,
        strict_hits / wanted if wanted else 1.0,
        1 - (strict_hits + hits) / total if total else 0.0,
    )


@exercise.mistake("Which of the two is asked of the links drawn, and which of the sure ones?")
def swapped(predicted, sure, possible):
    """Precision is the share of true links that were found, recall the share of found ones."""
    fair = sure | possible
    drawn, wanted = int(predicted.sum()), int(sure.sum())
    strict_hits, hits = int((predicted & sure).sum()), int((predicted & fair).sum())
    total = drawn + wanted
    return (
        strict_hits / wanted if wanted else 1.0,
        hits / drawn if drawn else 1.0,
        1 - (strict_hits + hits) / total if total else 0.0,
    )


@exercise.mistake("Most cells of a matrix are empty in every alignment. What do you count them as?")
def accuracy_of_cells(predicted, sure, possible):
    """An error is a cell in which prediction and truth differ."""
    fair = sure | possible
    drawn, wanted = int(predicted.sum()), int(sure.sum())
    wrong = int((predicted & ~fair).sum() + (sure & ~predicted).sum())
    return (
        int((predicted & fair).sum()) / drawn if drawn else 1.0,
        int((predicted & sure).sum()) / wanted if wanted else 1.0,
        wrong / predicted.numel(),
    )


@exercise.alternative
def sets_of_places(predicted, sure, possible):
    """Compares sets of places, and warns."""
    import warnings

    warnings.warn("as sets", stacklevel=1)
    a, s, p = ({tuple(i) for i in x.nonzero().tolist()} for x in (predicted, sure, possible))
    p |= s
    precision = len(a & p) / len(a) if a else 1.0
    recall = len(a & s) / len(s) if s else 1.0
    missed, wrong = len(s - a), len(a - p)
    return precision, recall, (missed + wrong) / (len(a) + len(s)) if a or s else 0.0


@exercise.alternative
def weighted_mean(predicted, sure, possible):
    """The rate from precision and recall, weighted by how many links each of them is about."""
    a, s = predicted.flatten().double(), sure.flatten().double()
    p = torch.maximum(s, possible.flatten().double())
    drawn, wanted = a.sum().item(), s.sum().item()
    precision = torch.dot(a, p).item() / drawn if drawn > 0 else 1.0
    recall = torch.dot(a, s).item() / wanted if wanted > 0 else 1.0
    errors = drawn * (1 - precision) + wanted * (1 - recall)
    return precision, recall, errors / max(drawn + wanted, 1.0)
