from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="transformer.loss_by_place",
    points=4,
    minutes=15,
    difficulty=2,
    chapter="09_gpt.html#gpt-by-hand",
    outcomes=("transformer.train",),
    example=lambda t: (t.randn(2, 4, 5), torch.tensor([[3, 1, 4, 1], [2, 4, 0, 0]]), 0),
)


def texts(t: Trial, *lengths: int) -> Tensor:
    """Texts of these lengths, padded with 0."""
    tokens = t.integers(1, 5, len(lengths), max(lengths))
    return tokens * (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None])


def usual(t: Trial) -> None:
    """What the first requirement asks."""
    t.usual(t.randn(3, 5, 7), texts(t, 5, 5, 5), 0)


@exercise.prop(2, "The model has read tokens 0 to t. Which token do its logits at t predict?")
def places(t: Trial) -> None:
    """at each place, the mean over all texts of the loss of the next token"""
    for n_texts, length in ((3, 5), (3, 5), (6, 4), (1, 8)):
        t.same(t.randn(n_texts, length, 7), texts(t, *[length] * n_texts), 0)


@exercise.prop(1.5, "Three of eight texts have a token there. By how many do you divide?")
def padding(t: Trial) -> None:
    """padding is no target, and a place counts only the texts that go on there"""
    # Against the answer's own value for the texts that go on: whether it is right is asked above.
    for pad, lengths in ((0, (6, 3, 2, 5)), (0, (4, 1, 2)), (6, (3, 8, 8))):
        tokens = texts(t, *lengths)
        logits, tokens = t.randn(*tokens.shape, 7), tokens.masked_fill(tokens == 0, pad)
        whole = t.a_tensor(t.call(logits, tokens, pad), (max(lengths) - 1,))
        for end in range(2, max(lengths) + 1):
            on = torch.tensor(lengths) >= end
            alone = t.a_tensor(t.call(logits[on, :end], tokens[on, :end], pad), (end - 1,))
            t.expect((alone > 0).all(), "a loss is not above 0")
            t.close(whole[end - 2], alone[-1], f"place {end - 2} of texts of lengths {lengths}")


@exercise.prop(0.5, "Which number is the logarithm of a probability that has become 0?")
def large_logits(t: Trial) -> None:
    """large logits do no harm"""
    usual(t)
    t.same(400 * t.randn(4, 5, 7), texts(t, 5, 5, 5, 5), 0)
