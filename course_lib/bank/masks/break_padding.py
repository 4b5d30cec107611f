from collections.abc import Callable

from course_lib.bank.inputs import counterexample, numbers, tells_apart, whole_numbers
from course_lib.bank.prelude import Tensor, Trial, Wrong, math, torch


def sentence_by_sentence(scores, lengths):
    """Weights (B, T, T) over the first lengths[b] keys of each sentence b. This one is right."""
    weights = torch.zeros_like(scores)
    for b, n in enumerate(lengths.tolist()):
        weights[b, :, :n] = scores[b, :, :n].softmax(-1)
    return weights


def one_length(scores, lengths):
    """Wrong."""
    keep = torch.arange(scores.shape[-1]) < lengths[0]
    return scores.masked_fill(~keep, -math.inf).softmax(-1)


def one_table(scores, lengths):
    """Wrong."""
    keep = torch.arange(scores.shape[-1]) < lengths[:, None]
    return scores.masked_fill(~keep, -math.inf).softmax(-1)


def _input(t: Trial) -> tuple[Tensor, Tensor]:
    scores, lengths = t.values(t.call())
    scores = numbers(scores, 3, "scores")
    B, T, S = scores.shape
    if T != S:
        raise Wrong(f"scores has shape {(B, T, S)}, expected as many queries as keys")
    found = numbers(lengths, 1, "lengths")
    if len(found) != B:
        raise Wrong(f"lengths has {len(found)} numbers for {B} sentences")
    return scores, torch.tensor(whole_numbers(found, 1, T, "lengths", "a length"))


def _break(t: Trial, *wrong: Callable[..., Tensor], most: int | None = None) -> None:
    scores, lengths = _input(t)
    for function in wrong:
        tells_apart(t, sentence_by_sentence, function, scores, lengths)
    t.expect(most is None or scores.numel() <= most, f"there are {scores.numel()} scores")


exercise = counterexample(
    "masks.break_padding",
    _break,
    given=(sentence_by_sentence, one_length, one_table),
    returns=("scores", "lengths"),
    minutes=10,
    difficulty=2,
    chapter="05_libraries.html#masks-heads",
    outcome="masks.axes",
    apart={
        "another length": (
            "`one_length` returns other weights",
            "Whose length does it use for all sentences? In which batch is that no mistake?",
        ),
        "another axis": (
            "`one_table` returns other weights, and doesn't raise",
            "`keep` is (B, T) and the scores are (B, T, T). Line the shapes up from the right:"
            " which axis of the scores does B meet? For which B can it?",
        ),
    },
    unit="scores",
    within={
        "small": (27, "Count all scores, B · T · T of them. Does your input need every sentence?"),
        "smallest": (
            8,
            "How many sentences do two lengths take, and how many words does a padded one?",
        ),
    },
)
