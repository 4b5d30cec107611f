from course_lib.attention_maps import deletion_curve as library_deletion_curve
from course_lib.bank.prelude import Tensor, changed, torch
from course_lib.bank.reading.deletion_curve import exercise, pooled_answer


@exercise.answer
def reference(
    x: Tensor, query: Tensor, readout: Tensor, importance: Tensor, present: Tensor
) -> Tensor:
    """The library's curve, with as many steps as there are places and one token a step."""
    T = x.shape[1]
    curve = torch.zeros(T + 1, len(x))
    for b, there in enumerate(present):
        places = there.nonzero()[:, 0]
        one = x[b : b + 1, places]
        seen = torch.ones(1, len(places), dtype=torch.bool)
        found = library_deletion_curve(
            lambda keep, one=one: pooled_answer(one, keep, query, readout),  # type: ignore[misc]
            importance[b : b + 1, places],
            present=seen,
        )[:, 0]
        # A sentence of which nothing is left stays as it is.
        curve[: len(found), b], curve[len(found) :, b] = found, found[-1]
    return curve


@exercise.mistake("How much attention does a token of zeros get? Is exp(0) nothing?")
def zeroed_not_hidden(x, query, readout, importance, present):
    """A token is taken away by setting it to 0."""
    rank = importance.masked_fill(~present, -torch.inf).argsort(1, descending=True).argsort(1)
    curve = []
    for step in range(x.shape[1] + 1):
        without = x * (rank >= step)[..., None]
        curve.append(pooled_answer(without, present, query, readout))
    return torch.stack(curve)


def right(x, query, readout, importance, present):
    """Base of the mistakes, itself right."""
    rank = importance.masked_fill(~present, -torch.inf).argsort(1, descending=True).argsort(1)
    curve = []
    for step in range(x.shape[1] + 1):
        curve.append(pooled_answer(x, present & (rank >= step), query, readout))
    return torch.stack(curve)


@exercise.mistake("Which is deleted first: what is worth most, or what is worth least?")
@changed(right, ("-torch.", "torch."), (", descending=True)", ")"))
def least_first():
    """Sorting by importance brings the most important to the front."""


@exercise.mistake("`argsort` answers: which token is third? You asked: which place has token 3?")
@changed(right, (").argsort(1)", ")"))
def order_as_rank():
    """What argsort returns is the rank of each token."""


@exercise.mistake("In a batch with a shorter sentence: which tokens do your first steps remove?")
@changed(right, (".masked_fill(~present, -torch.inf).", "."))
def padding_takes_part():
    """Padding is hidden anyway, so taking it away does no harm."""


@exercise.mistake("After the second step: how many tokens are missing in what you measure?")
def one_at_a_time(x, query, readout, importance, present):
    """Each step takes one token away from the whole sentence."""
    rank = importance.masked_fill(~present, -torch.inf).argsort(1, descending=True).argsort(1)
    curve = [pooled_answer(x, present, query, readout)]
    for step in range(x.shape[1]):
        curve.append(pooled_answer(x, present & (rank != step), query, readout))
    return torch.stack(curve)


@exercise.mistake("You add tokens to an empty sentence. What was asked, and is it the same curve?")
@changed(right, (">= step", "< step"))
def insertion():
    """Showing the most important tokens first measures the same as hiding them first."""


@exercise.mistake("Two sentences of a batch differ in their most important word. Does your order?")
def one_order_for_all(x, query, readout, importance, present):
    """The order of a batch is that of the mean importance of its places."""
    mean = importance.masked_fill(~present, 0.0).sum(0) / present.sum(0)
    rank = mean.expand_as(importance).masked_fill(~present, -torch.inf)
    rank = rank.argsort(1, descending=True).argsort(1)
    curve = []
    for step in range(x.shape[1] + 1):
        curve.append(pooled_answer(x, present & (rank >= step), query, readout))
    return torch.stack(curve)


@exercise.mistake("Seven places, and no sentence has more than five words: how many points?")
@changed(right, ("x.shape[1]", "int(present.sum(1).max())"))
def as_long_as_the_longest():
    """The curve ends when the longest sentence has no token left."""


@exercise.alternative
def word_by_word(x, query, readout, importance, present):
    """Takes the next token of each sentence by its maximum, in plain Python; warns."""
    import warnings

    warnings.warn("word by word", stacklevel=1)
    B, T, _ = x.shape
    keep = present.clone()
    points = [pooled_answer(x, keep, query, readout)]
    for _ in range(T):
        for b in range(B):
            left = [(importance[b, i].item(), i) for i in range(T) if keep[b, i]]
            if left:
                keep[b, max(left)[1]] = False
        points.append(pooled_answer(x, keep, query, readout))
    return torch.stack(points)


@exercise.alternative
def by_counting(x, query, readout, importance, present):
    """A token's rank is the number of tokens that are more important; all steps at once."""
    above = (importance[:, None, :] > importance[:, :, None]) & present[:, None, :]
    rank = above.sum(dim=-1)
    steps = torch.arange(x.size(1) + 1).view(-1, 1, 1)
    keep = torch.logical_and(present, rank >= steps)
    rows = [pooled_answer(x, k, query, readout) for k in keep.unbind()]
    return torch.stack(rows, dim=0)
