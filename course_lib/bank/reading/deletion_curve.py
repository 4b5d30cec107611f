"""Exercise ``reading.deletion_curve``."""

import torch
from torch import Tensor

from course_lib.attention_maps import deletion_curve as library_deletion_curve
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def pooled_answer(x: Tensor, keep: Tensor, query: Tensor, readout: Tensor) -> Tensor:
    """A model of one query: attention to the tokens that are kept, then a sigmoid.

    Args:
        x: Tokens (B, T, D).
        keep: Boolean (B, T); False hides a token. Who sees nothing reads 0.
        query: (D,).
        readout: (D,).

    Returns:
        A probability for each sentence (B,).
    """
    scores = (x @ query).masked_fill(~keep, float("-inf"))
    weights = scores.softmax(-1).nan_to_num(0.0)
    return ((weights[:, None] @ x)[:, 0] @ readout).sigmoid()


def colleagues_curve(
    x: Tensor, query: Tensor, readout: Tensor, importance: Tensor, present: Tensor
) -> Tensor:
    """Takes tokens away, the most important first, and follows the answer; not right yet."""
    order = importance.argsort(dim=1)
    curve = []
    for step in range(x.shape[1] + 1):
        gone = order < step
        without = x * ~gone[..., None]
        curve.append(pooled_answer(without, present, query, readout))
    return torch.stack(curve)


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


exercise = Exercise(
    id="reading.deletion_curve",
    function="deletion_curve",
    reference=reference,
    points=5,
    minutes=25,
    difficulty=3,
    chapter="10_changing.html#reading-faithfulness",
    outcomes=("reading.faithfulness",),
    given=(pooled_answer,),
    example=lambda t: _sample(t, [5, 5]),
    severe={
        "zeroed_not_hidden": "zeros still draw attention: only the first and last points are right"
    },
)


def _sample(
    t: Trial, lengths: list[int], left: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Sentences whose answer changes visibly with each word, and importances that all differ."""
    T, D = max(lengths), 4
    query, readout = 0.5 * t.randn(D), 0.5 * t.randn(D).sign() + 0.3 * t.randn(D)
    x = torch.stack([_sentence(t, T, query, readout) for _ in lengths])
    present = torch.arange(T) < torch.tensor(lengths)[:, None]
    present = present.flip(1) if left else present
    rank = torch.empty(len(lengths), T, dtype=torch.long)
    for row in rank:
        # One cycle through all: at no place do rank and place in the order of importance agree.
        cycle = t.permutation(T)
        row[cycle] = cycle.roll(1)
    importance = (T - 1 - rank + 0.4 * torch.rand(rank.shape, generator=t.generator)) / T
    return x, query, readout, importance, present


def _sentence(t: Trial, T: int, query: Tensor, readout: Tensor) -> Tensor:
    """Tokens (T, D) without any one of which the model reads another number."""
    others = ~torch.eye(T, dtype=torch.bool)
    while True:
        x = t.randn(T, len(query)) + 0.5
        read = pooled_answer(x.expand(T, -1, -1), others, query, readout).sort().values
        zeroed = pooled_answer(x * others[..., None], others | True, query, readout)
        apart = (read[:, None] - zeroed).abs().min()
        if min(read.diff().min(), apart) > 3e-4:
            return x


def _hidden(t: Trial) -> None:
    """Expect that of tokens which are all alike the last one says as much as all of them."""
    _, query, readout, importance, present = _sample(t, [5, 5])
    alike = (t.randn(2, 1, 4) + 0.5).expand(2, 5, 4).clone()
    curve = t.a_tensor(t.call(alike, query, readout, importance, present), (6, 2))
    some = curve[1:5]
    t.close(some, some[:1].expand(4, 2), "the answer while some of five tokens alike are hidden")
    t.expect((some[:, 0] != some[:, 1]).all(), "two sentences have the same answer")


@exercise.prop(
    "the first point has all tokens, the last none; without one of several alike little is missing",
    points=1.25,
    hint="T + 1 points: nothing taken away, one token, …, all. Five tokens that are all the same:"
    " what does the model read when one of them is hidden?",
)
def both_ends(t: Trial) -> None:
    args = _sample(t, [6, 6])
    got = t.a_tensor(t.call(*args), (7, 2))
    want = t.want(*args)
    t.close(got[0], want[0], "the first point")
    t.close(got[-1], want[-1], "the last point")
    _hidden(t)


@exercise.prop(
    "the most important token goes first", points=1.25, hint="`argsort` begins with the smallest."
)
def most_important(t: Trial) -> None:
    args = _sample(t, [t.integer(5, 7)])
    got = t.a_tensor(t.call(*args), (args[0].shape[1] + 1, 1))
    t.close(got[1], t.want(*args)[1], "the second point")


@exercise.prop(
    "token after token in the order of importance",
    points=0.75,
    hint="`argsort` says which token comes at a place of the order. Which place has a token?",
)
def in_order(t: Trial) -> None:
    t.same(*_sample(t, [5, 5, 5]))
    t.same(*_sample(t, [t.integer(6, 8)] * 3))


@exercise.prop(
    "padding is never taken away, shorter sentences stay where they end, T + 1 points for all",
    points=1.25,
    hint="How many steps does a sentence of 4 words need in a batch of length 7, whatever"
    " importance its padding has? And if no sentence fills all 7 places?",
)
def padded(t: Trial) -> None:
    # Against the answer's own curve of each sentence alone.
    for lengths, left in (([4, 7, 6], False), ([4, 7, 6], True), ([4, 5, 7], False)):
        x, query, readout, importance, present = _sample(t, lengths, left)
        x, importance, present = (a[:2] for a in (x, importance, present))
        alone = []
        for row in (0, 1):
            words = present[row]
            one = x[row : row + 1, words], query, readout, importance[row : row + 1, words]
            curve = t.call(*one, torch.ones(1, int(words.sum()), dtype=torch.bool))
            curve = t.a_tensor(curve, (int(words.sum()) + 1, 1), "the curve of a sentence alone")
            t.expect((curve[1:] != curve[:1]).any(), "the curve of a sentence is flat")
            alone.append(torch.cat([curve, curve[-1:].expand(8 - len(curve), 1)]))
        # Importance on padding means nothing, however large or small it is; on words all counts.
        for value, size in ((9.0, 1.0), (-9.0, 1.0), (0.0, 5000.0)):
            some = torch.where(present, importance - size + 1, value)
            got = t.call(x, query, readout, some, present)
            note = f"lengths {present.sum(1).tolist()}, importance {value:g} on padding"
            t.close(got, torch.cat(alone, dim=1), "the curves", note=note)


@exercise.prop(
    "tokens are hidden by `keep`, and nothing that was handed in is changed",
    points=0.5,
    hint="Look for assignments into `x`, `importance` or `present`, and for what becomes of `x`.",
)
def no_side_effect(t: Trial) -> None:
    _hidden(t)
    t.unchanged(*_sample(t, [3, 5]))


@exercise.mistake("How much attention does a token of zeros get? Is exp(0) nothing?")
def zeroed_not_hidden(x, query, readout, importance, present):
    """A token is taken away by setting it to 0."""
    rank = importance.masked_fill(~present, -torch.inf).argsort(1, descending=True).argsort(1)
    curve = []
    for step in range(x.shape[1] + 1):
        without = x * (rank >= step)[..., None]
        curve.append(pooled_answer(without, present, query, readout))
    return torch.stack(curve)


@exercise.mistake("Which is deleted first: what is worth most, or what is worth least?")
def least_first(x, query, readout, importance, present):
    """Sorting by importance brings the most important to the front."""
    rank = importance.masked_fill(~present, torch.inf).argsort(1).argsort(1)
    curve = []
    for step in range(x.shape[1] + 1):
        curve.append(pooled_answer(x, present & (rank >= step), query, readout))
    return torch.stack(curve)


@exercise.mistake("`argsort` answers: which token is third? You asked: which place has token 3?")
def order_as_rank(x, query, readout, importance, present):
    """What argsort returns is the rank of each token."""
    rank = importance.masked_fill(~present, -torch.inf).argsort(1, descending=True)
    curve = []
    for step in range(x.shape[1] + 1):
        curve.append(pooled_answer(x, present & (rank >= step), query, readout))
    return torch.stack(curve)


@exercise.mistake("In a batch with a shorter sentence: which tokens do your first steps remove?")
def padding_takes_part(x, query, readout, importance, present):
    """Padding is hidden anyway, so that taking it away does no harm."""
    rank = importance.argsort(1, descending=True).argsort(1)
    curve = []
    for step in range(x.shape[1] + 1):
        curve.append(pooled_answer(x, present & (rank >= step), query, readout))
    return torch.stack(curve)


@exercise.mistake("After the second step: how many tokens are missing in what you measure?")
def one_at_a_time(x, query, readout, importance, present):
    """Each step takes one token away from the whole sentence."""
    rank = importance.masked_fill(~present, -torch.inf).argsort(1, descending=True).argsort(1)
    curve = [pooled_answer(x, present, query, readout)]
    for step in range(x.shape[1]):
        curve.append(pooled_answer(x, present & (rank != step), query, readout))
    return torch.stack(curve)


@exercise.mistake("You add tokens to an empty sentence. What was asked, and is it the same curve?")
def insertion(x, query, readout, importance, present):
    """Showing the most important tokens first measures the same as hiding them first."""
    rank = importance.masked_fill(~present, -torch.inf).argsort(1, descending=True).argsort(1)
    curve = []
    for step in range(x.shape[1] + 1):
        curve.append(pooled_answer(x, present & (rank < step), query, readout))
    return torch.stack(curve)


@exercise.mistake("Two sentences of a batch differ in their most important word. Do yours?")
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
def as_long_as_the_longest(x, query, readout, importance, present):
    """The curve ends when the longest sentence has no token left."""
    rank = importance.masked_fill(~present, -torch.inf).argsort(1, descending=True).argsort(1)
    curve = []
    for step in range(int(present.sum(1).max()) + 1):
        curve.append(pooled_answer(x, present & (rank >= step), query, readout))
    return torch.stack(curve)


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
