from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="lookup.attend_padded",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="02_lookup.html#lookup-padding",
    outcomes=("lookup.padding",),
    example=lambda t: (t.randn(2, 5, 5), t.randn(2, 5, 4), torch.tensor([5, 3])),
    forbidden=("attention",),
)


@exercise.prop(1, "For one query, what must sum to 1? Then average the values with it.")
def values(t: Trial) -> None:
    """without padding, weights are a softmax over the keys, and the context averages the values"""
    words, width = t.integer(4, 6), t.integer(1, 3)
    t.same(t.randn(2, 3, words), t.randn(2, words, width), torch.tensor([words, words]))


@exercise.prop(
    1.5, "Print one row of your weights: is anything left after the last word, is its sum 1?"
)
def padding(t: Trial) -> None:
    """padding gets a weight of exactly 0, and the real words share a weight of 1"""
    # Of the same shapes twice: no call remembers the lengths of another.
    for lengths in (torch.tensor([2, 6, t.integer(3, 5)]), torch.tensor([6, t.integer(2, 4), 1])):
        # Padding that would win if it were not masked, with values that would be seen.
        scores, values = t.randn(3, 4, 6), t.randn(3, 6, 2)
        pad = torch.arange(6) >= lengths[:, None]
        scores = scores.masked_fill(pad[:, None], 3.0)
        values = values.masked_fill(pad[..., None], 40.0)
        _, weights = t.same(scores, values, lengths)
        weights = t.a_tensor(weights, (3, 4, 6), "weights")
        t.expect((weights.transpose(1, 2)[pad] == 0).all(), "a pad still has some weight")


@exercise.prop(
    1, "Take one sentence of your batch, cut its padding off, and compare the two contexts."
)
def alone(t: Trial) -> None:
    """a sentence gets the same context alone and in a batch with longer ones"""
    real, longest = t.integer(2, 3), t.integer(5, 7)
    scores, values = t.randn(2, 3, longest), t.randn(2, longest, 4)
    # Embeddings of padding are often zero: is that enough?
    values[0, real:] = 0.0
    scores[0, :, real:] = 0.0
    batch, _ = t.call(scores, values, torch.tensor([real, longest]))
    batch = t.a_tensor(batch, (2, 3, 4), "the context in the batch")
    just_one = scores[:1, :, :real], values[:1, :real], torch.tensor([real])
    single, _ = t.same(*just_one, note="the sentence alone")
    t.close(batch[:1], single, "the context in the batch, against the one of the sentence alone,")


@exercise.prop(
    0.5, "What is a softmax over nothing but minus infinity? Decide what such a row shall be."
)
def empty(t: Trial) -> None:
    """a sentence of length 0 has weights and context of exactly 0, and finite gradients"""
    f64 = torch.float64
    scores, values = t.randn(2, 3, 4, dtype=f64), t.randn(2, 4, 2, dtype=f64)
    lengths = torch.tensor([0, 3])
    t.same(scores.float(), values.float(), lengths)
    t.gradient(scores, values, lengths)


@exercise.prop(0.5, "Try words that score -10000 beside padding that scores +10000.")
def large_scores(t: Trial) -> None:
    """very large scores do no harm, on words or on padding"""
    scores = 1e4 * t.randn(1, 3, 3).abs()
    scores = torch.cat([-scores, scores + 1e4], dim=-1)
    t.same(scores, t.randn(1, 6, 2), torch.tensor([3]))
    t.same(-scores, t.randn(1, 6, 2), torch.tensor([3]))


@exercise.prop(
    0.5, "What is the largest float16? Does every number you fill in fit, in your dtype?"
)
def half(t: Trial) -> None:
    """half precision works and stays half precision"""
    f16 = torch.float16
    scores, values = t.randn(2, 3, 4, dtype=f16), t.randn(2, 4, 2, dtype=f16)
    t.same(scores, values, torch.tensor([4, 2]), exact=True)


@exercise.prop(0.5, "Is anything detached, converted to numpy, or computed under no_grad?")
def gradients(t: Trial) -> None:
    """gradients reach scores and values"""
    f64 = torch.float64
    t.gradient(
        t.randn(2, 3, 4, dtype=f64), t.randn(2, 4, 2, dtype=f64), torch.tensor([4, t.integer(2, 3)])
    )


@exercise.prop(
    0.5, "Look for operations that end in an underscore, and for assignments into an argument."
)
def no_side_effect(t: Trial) -> None:
    """the arguments are left as they were"""
    t.unchanged(t.randn(2, 3, 5), t.randn(2, 5, 2), torch.tensor([5, t.integer(2, 4)]))
