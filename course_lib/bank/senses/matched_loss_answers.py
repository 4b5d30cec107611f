from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.senses.matched_loss import colleagues_matched_loss, exercise


@exercise.answer
def reference(similarities: Tensor, matches: Tensor) -> Tensor:
    """The exam both ways, with all that fits asked for in equal shares."""
    halves = []
    for s, m in ((similarities, matches), (similarities.T, matches.T)):
        lost = torch.where(m, -s.log_softmax(dim=1), 0.0).sum(1) / m.sum(1).clamp(min=1)
        halves.append(lost.sum() / m.any(1).sum().clamp(min=1))
    return (halves[0] + halves[1]) / 2


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


@exercise.mistake("Give one image three captions. How much does it count beside the others?")
def matches_add_up(similarities, matches):
    """Every match counts alike, so who has many counts more."""
    halves = []
    for s, m in ((similarities, matches), (similarities.T, matches.T)):
        lost = torch.where(m, -s.log_softmax(dim=1), 0.0).sum()
        halves.append(lost / m.sum().clamp(min=1))
    return (halves[0] + halves[1]) / 2


@exercise.mistake("Add an image that matches nothing. Should the loss of the others shrink?")
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


@exercise.mistake("Is a caption that fits no image gone from the images' exam, or still wrong?")
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


@exercise.mistake("Where are the matches of your batch? All of them?")
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
    """Loops over images and over captions, and prints to standard error."""
    import sys

    print("looping", file=sys.stderr)
    loss = similarities.sum() * 0
    for s, m in ((similarities, matches), (similarities.T, matches.T)):
        asked = [i for i in range(len(s)) if m[i].any()]
        for i in asked:
            right = s[i][m[i]]
            loss = loss + (s[i].logsumexp(0) - right.mean()) / (2 * len(asked))
    return loss
