from course_lib.alignment import alignment_error_rate
from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.reading.alignment_scores import exercise


@exercise.answer
def reference(predicted: Tensor, sure: Tensor, possible: Tensor) -> tuple[float, float, float]:
    """Precision on what is possible, recall of what is sure, and the library's error rate."""
    fair = sure | possible
    drawn, wanted = int(predicted.sum()), int(sure.sum())
    precision = int((predicted & fair).sum()) / drawn if drawn else 1.0
    recall = int((predicted & sure).sum()) / wanted if wanted else 1.0
    return precision, recall, alignment_error_rate(predicted, sure, possible)


@exercise.mistake("A link that is only possible is drawn. What should that cost?")
def possible_is_wrong(predicted, sure, possible):
    """A link that is not sure is an error."""
    hits, drawn, wanted = (int(x.sum()) for x in (predicted & sure, predicted, sure))
    return (
        hits / drawn if drawn else 1.0,
        hits / wanted if wanted else 1.0,
        1 - 2 * hits / (drawn + wanted) if drawn + wanted else 0.0,
    )


@exercise.mistake("A link that is only possible is left out. What should that cost?")
def all_possible_wanted(predicted, sure, possible):
    """Every possible link has to be found."""
    fair = sure | possible
    hits, drawn, wanted = (int(x.sum()) for x in (predicted & fair, predicted, fair))
    return (
        hits / drawn if drawn else 1.0,
        hits / wanted if wanted else 1.0,
        1 - 2 * hits / (drawn + wanted) if drawn + wanted else 0.0,
    )


@exercise.mistake("Write both formulas with their counts. Are they the same?")
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
    """A corpus's scores are the means of its sentences' scores."""
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


@exercise.mistake("Which of the two divides by the links drawn, which by the sure ones?")
def swapped(predicted, sure, possible):
    """Precision asks how many true links were drawn, recall how many drawn links are true."""
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
    """The error rate is the share of all cells that are wrong."""
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
