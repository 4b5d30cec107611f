from collections.abc import Callable

from course_lib.bank.inputs import counterexample, numbers, tells_apart, whole_numbers
from course_lib.bank.prelude import Tensor, Trial, Wrong


def recall(scores, counts):
    """Share of the captions whose own image beats all others. This one is right.

    The captions of image 0 come first, counts[0] of them, then those of image 1, and so on.
    """
    own = [picture for picture, count in enumerate(counts) for _ in range(count)]
    found = 0
    for caption, picture in enumerate(own):
        others = [s for i, s in enumerate(scores[:, caption].tolist()) if i != picture]
        found += all(scores[picture, caption] > s for s in others)
    return found / len(own)


def equal_counts(scores, counts):
    """Wrong."""
    captions = scores.shape[1]
    shared = [caption * len(counts) // captions for caption in range(captions)]
    return recall(scores, [shared.count(picture) for picture in range(len(counts))])


def best_score(scores, counts):
    """Wrong."""
    own = [picture for picture, count in enumerate(counts) for _ in range(count)]
    found = [scores[p, c] == scores[:, c].max() for c, p in enumerate(own)]
    return sum(map(int, found)) / len(own)


def _input(t: Trial) -> tuple[Tensor, list[int]]:
    scores, counts = t.values(t.call())
    scores, found = numbers(scores, 2, "scores"), numbers(counts, 1, "counts")
    counts = whole_numbers(found, 1, scores.shape[1], "counts", "a count")
    if scores.shape != (len(counts), sum(counts)):
        wanted = f"{len(counts)} images with {sum(counts)} captions"
        raise Wrong(f"scores has shape {tuple(scores.shape)}, but counts are of {wanted}")
    t.expect(scores.abs().max() <= 1, "scores has a number that is not a cosine")
    return scores, counts


def _break(t: Trial, *wrong: Callable[..., float], most: int | None = None) -> None:
    scores, counts = _input(t)
    for function in wrong:
        tells_apart(t, recall, function, scores, counts)
    t.expect(most is None or scores.numel() <= most, f"there are {scores.numel()} scores")


exercise = counterexample(
    "senses.break_recall",
    _break,
    given=(recall, equal_counts, best_score),
    returns=("scores", "counts"),
    minutes=15,
    difficulty=2,
    chapter="19_senses.html#senses-matches",
    outcome="senses.matches",
    apart={
        "unequal": (
            "`equal_counts` gives another share",
            "Which captions does it give to the wrong image? At least one of them has to find"
            " its own, or that wrong one.",
        ),
        "draws": (
            "`best_score` gives another share",
            "Whose score is a maximum without beating anything?",
        ),
    },
    unit="scores",
    within={
        "small": (12, "Count images times captions. Which of them does neither function need?"),
        "smallest": (6, "How many captions do two images have at least, if not equally many?"),
    },
)
