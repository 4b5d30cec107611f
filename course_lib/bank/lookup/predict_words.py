from course_lib.bank.prelude import Exercise, F, Tensor, Trial, math, torch
from course_lib.seq2seq import luong_readout
from grader.checks.answer_proxy import Reply

RETURNS = ("logits", "weights")

exercise = Exercise(
    id="lookup.predict_words",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="02_weights.html#lookup-alignment",
    outcomes=("lookup.scores", "lookup.weights"),
    returns=RETURNS,
    example=lambda t: (
        *(t.randn(2, 4, 4), t.randn(2, 4, 4), torch.tensor([4, 2])),
        *(t.randn(4, 4), t.randn(4, 8), t.randn(6, 4)),
    ),
)

# The small task of `reach`: words, places, and the training.
WORDS, PLACES, WIDTH = 4, 6, 16
STEPS, RATE, LOSS = 32, 0.1, 0.3


def _sizes(
    t: Trial, lengths: list[int], queries: int, dtype: torch.dtype = torch.float32, spare: int = 0
) -> tuple[Tensor, ...]:
    """Arguments of which no two widths agree, with spare places after the longest sentence."""
    n, longest = len(lengths), max(lengths) + spare
    return (
        t.randn(n, queries, 3, dtype=dtype),
        t.randn(n, longest, 4, dtype=dtype),
        torch.tensor(lengths),
        t.randn(3, 4, dtype=dtype),
        0.4 * t.randn(5, 7, dtype=dtype),
        t.randn(6, 5, dtype=dtype),
    )


@exercise.prop(1, "Follow one number: which function gives it, and which one takes it next?")
def values(t: Trial) -> None:
    """without padding: scores, weights, context, readout and output matrix follow 2.1 to 2.3"""
    words = t.integer(4, 6)
    t.same(*_sizes(t, [words, words], queries=3))


@exercise.prop(
    1, "Print one row of your weights: which of them belong to padding, and what is their sum?"
)
def padding(t: Trial) -> None:
    """the weights of a row sum to 1 over the real words, and padding has exactly 0"""
    hidden, states, lengths, w_a, *rest = _sizes(t, [2, 6, t.integer(3, 5)], queries=2, spare=1)
    # Scores of which no finite number is far below, and other lengths in a second call.
    alike = torch.ones_like(hidden), torch.ones_like(states)
    deep = *alike, lengths, -1e5 * torch.ones_like(w_a)
    for args in ((hidden, states, lengths, w_a), deep, (hidden, states, lengths.flip(0), w_a)):
        pad = torch.arange(7) >= args[2][:, None]
        weights = t.parts(t.call(*args, *rest), *RETURNS)[1]
        weights = t.a_tensor(weights, (3, 2, 7), "weights")
        t.expect((weights.transpose(1, 2)[pad] == 0).all(), "padding has some weight")
        t.expect((weights >= 0).all(), "a weight is negative")
        t.close(weights.sum(-1), torch.ones(3, 2), "the sum of a row's weights")


@exercise.prop(0.5, "Which vectors are averaged, and what is joined with what before W_c?")
def own_weights(t: Trial) -> None:
    """the context is the sum of the encoder's states with just the weights that are returned"""
    hidden, states, lengths, w_a, w_c, w_out = _sizes(t, [5, t.integer(2, 4)], queries=3)
    logits, weights = t.parts(t.call(hidden, states, lengths, w_a, w_c, w_out), *RETURNS)
    weights = t.a_tensor(weights, (2, 3, 5), "weights")
    want = luong_readout(weights @ states, hidden, w_c) @ w_out.T
    t.close(logits, want, "the logits", note="computed again from your weights")


@exercise.prop(0.5, "Nothing in attention knows the place of a key. What in your function does?")
def order(t: Trial) -> None:
    """source words in another order: the columns of the map move with them, the logits stay"""
    hidden, states, lengths, *matrices = _sizes(t, [5, 5], queries=2)
    # Every word changes its place, the last one too.
    moved = torch.arange(5).roll(t.integer(1, 4))
    before = t.parts(t.call(hidden, states, lengths, *matrices), *RETURNS)
    after = t.parts(t.call(hidden, states[:, moved], lengths, *matrices), *RETURNS)
    weights = t.a_tensor(before[1], (2, 2, 5), "weights")
    t.close(after[1], weights[..., moved], "the weights", note="after a change of order")
    t.close(after[0], t.a_tensor(before[0], (2, 2, 6), "logits"), "the logits", note="likewise")


@exercise.prop(0.5, "Does any row of your weights depend on other queries, or on an earlier call?")
def word_by_word(t: Trial) -> None:
    """word by word as all at once, and no call leaves a trace in a later one"""
    hidden, states, *rest = _sizes(t, [4, t.integer(2, 3)], queries=3)
    at_once = t.parts(t.call(hidden, states, *rest), *RETURNS)
    logits, weights = t.a_tensor(at_once[0], (2, 3, 6), "logits"), at_once[1]
    other, _ = t.parts(t.call(hidden, states + 1, *rest), *RETURNS)
    other = t.a_tensor(other, (2, 3, 6), "logits")
    t.expect((other - logits).abs().max() > 1e-3, "other encoder states, and the same logits")
    single = [t.parts(t.call(one, states, *rest), *RETURNS) for one in hidden.split(1, dim=1)]
    t.close(torch.cat([one[0] for one in single], 1), logits, "the logits", note="word by word")
    t.close(torch.cat([one[1] for one in single], 1), weights, "the weights", note="word by word")


@exercise.prop(1, "Is anything detached, converted to numpy, or computed under no_grad?")
def gradients(t: Trial) -> None:
    """gradients reach both kinds of states and all three matrices"""
    t.gradient(*_sizes(t, [4, t.integer(2, 3)], queries=2, dtype=torch.float64))


@exercise.prop(
    1.5,
    "First fix what fails above. Then: what must move for the right word to get the weight?",
    says=f"{STEPS} small steps of training teach it to find words: a loss below {LOSS}, where"
    f" guessing has {math.log(2 * WORDS):.1f}",
)
def reach(t: Trial) -> None:
    # Nothing is looked for in the beginning: a circle that is turned round would be learned slowly.
    w_a = torch.zeros(3, 2 + WORDS)
    matrices = [w_a, 0.3 * t.randn(WIDTH, 2 + WORDS + 3), 0.3 * t.randn(2 * WORDS, WIDTH)]
    adam = torch.optim.Adam(matrices, lr=RATE)
    for _ in range(STEPS):
        *args, wanted = _sentences(t, 24, 4)
        logits = _logits(t, t.proxy.call("predict_words", *args, *matrices), wanted)
        # The gradient of the mean cross-entropy with respect to the logits.
        slope = (logits.softmax(-1) - F.one_hot(wanted, 2 * WORDS)) / wanted.numel()
        reply = t.proxy.vjp("predict_words", (*args, *matrices), [slope, None])
        for matrix, gradient in zip(matrices, t.returned(reply).inputs[2:], strict=True):
            matrix.grad = gradient
        adam.step()
    # As a decoder writes: one word at a time.
    *args, wanted = _sentences(t, 200, 1)
    logits = _logits(t, t.proxy.call("predict_words", *args, *matrices), wanted)
    loss = float(F.cross_entropy(logits.flatten(0, 1), wanted.flatten()))
    t.expect(loss < LOSS, f"after {STEPS} steps the loss is {loss:.2f}, expected less than {LOSS}")


def _sentences(t: Trial, n: int, queries: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A batch of the small task: decoder states, encoder states, lengths, and target words.

    A state of the encoder has its place, a point on a circle, and its word. A state of the decoder
    has the place that it asks for, and in which of two languages the word there shall be written.
    Padding has places of the sentence with words that are not there.
    """
    lengths = t.integers(3, 5, n)
    place = t.randn(n, PLACES).argsort(-1)
    slot = torch.arange(8)[None].expand(n, 8)
    # The place of a pad is that of one of the words, in turn.
    place = place.gather(1, slot % lengths[:, None])
    word = t.integers(0, WORDS - 1, n, 8)
    states = torch.cat([_circle(place), F.one_hot(word, WORDS).float()], -1)
    asked = t.integers(0, 10**6, n, queries) % lengths[:, None]
    language = t.integers(0, 1, n, queries)
    hidden = torch.cat([_circle(place.gather(1, asked)), 2.0 * language[..., None] - 1], -1)
    return hidden, states, lengths, word.gather(1, asked) + WORDS * language


def _circle(place: Tensor) -> Tensor:
    angle = 2 * math.pi * place / PLACES
    return 2 * torch.stack([angle.cos(), angle.sin()], -1)


def _logits(t: Trial, reply: Reply, wanted: Tensor) -> Tensor:
    logits, _ = t.parts(t.returned(reply), *RETURNS)
    return t.a_tensor(logits, (*wanted.shape, 2 * WORDS), "logits")
