from course_lib.bank.prelude import Exercise, Tensor, Trial, torch


def pooled_answer(x: Tensor, keep: Tensor, query: Tensor, readout: Tensor) -> Tensor:
    """A model of one query: attention to the tokens that are kept, then a sigmoid.

    Args:
        x: Tokens (B, T, D).
        keep: Boolean (B, T); False hides a token. If all are hidden, 0 is read out.
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


exercise = Exercise(
    id="reading.deletion_curve",
    points=5,
    minutes=25,
    difficulty=3,
    chapter="10_deletion.html#reading-faithfulness",
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
    t.close(some, some[:1].expand(4, 2), "the answer while some of five equal tokens are hidden")
    t.expect((some[:, 0] != some[:, 1]).all(), "two sentences have the same answer")


@exercise.prop(
    1.25,
    "T + 1 points: nothing taken away, one token, …, all. Five tokens that are all the same: what"
    " does the model read when one of them is hidden?",
)
def both_ends(t: Trial) -> None:
    """first point: all tokens; last: none; hiding one of several equal tokens changes nothing"""
    args = _sample(t, [6, 6])
    got = t.a_tensor(t.call(*args), (7, 2))
    want = t.want(*args)
    t.close(got[0], want[0], "the first point")
    t.close(got[-1], want[-1], "the last point")
    _hidden(t)


@exercise.prop(1.25, "`argsort` begins with the smallest.")
def most_important(t: Trial) -> None:
    """the most important token goes first"""
    args = _sample(t, [t.integer(5, 7)])
    got = t.a_tensor(t.call(*args), (args[0].shape[1] + 1, 1))
    t.close(got[1], t.want(*args)[1], "the second point")


@exercise.prop(0.75, "`argsort` gives each place's token. Do you need that, or each token's place?")
def in_order(t: Trial) -> None:
    """token after token in the order of importance"""
    t.same(*_sample(t, [5, 5, 5]))
    t.same(*_sample(t, [t.integer(6, 8)] * 3))


@exercise.prop(
    1.25,
    "How many steps does a sentence of 4 words need in a batch of length 7, whatever importance"
    " its padding has? And if no sentence fills all 7 places?",
)
def padded(t: Trial) -> None:
    """padding is never taken away, shorter sentences keep their last value, T + 1 points for all"""
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
        for value, size in ((9.0, 1.0), (-9.0, 1.0), (0.0, 20_000.0)):
            some = torch.where(present, importance - size + 1, value)
            got = t.call(x, query, readout, some, present)
            note = f"lengths {present.sum(1).tolist()}, importance {value:g} on padding"
            t.close(got, torch.cat(alone, dim=1), "the curves", note=note)


@exercise.prop(
    0.5, "Look for assignments into `x`, `importance` or `present`, and for what becomes of `x`."
)
def no_side_effect(t: Trial) -> None:
    """tokens are hidden by `keep`, and nothing that was handed in is changed"""
    _hidden(t)
    t.unchanged(*_sample(t, [3, 5]))
