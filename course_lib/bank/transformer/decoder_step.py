from course_lib.bank.prelude import Exercise, F, Tensor, Trial, Wrong, math, torch
from course_lib.positions import sinusoidal_positions

f32 = torch.float32


def _numbers(t: Trial, V: int, D: int, L: int, dtype: torch.dtype = f32) -> tuple[Tensor, ...]:
    """The parameters of such a model: words, places, and the matrices of its layers."""
    shapes = (3, D, D), (D, D), (D, 2 * D), (2 * D, D)
    matrices = (t.randn(L, *s, dtype=dtype) / math.sqrt(s[-2]) for s in shapes)
    return t.randn(V, D, dtype=dtype), t.randn(12, D, dtype=dtype), *matrices


def _empty(B: int, D: int, n_layers: int, dtype: torch.dtype = f32) -> Tensor:
    """A cache of nothing, for two heads."""
    return torch.zeros(n_layers, B, 2, 0, D // 2, dtype=dtype)


def _sample(
    t: Trial, T: int, n_layers: int, D: int = 8, dtype: torch.dtype = f32
) -> tuple[Tensor, ...]:
    """A text of T tokens that differ, an empty cache, and a model of two heads."""
    tokens = torch.stack([t.permutation(9)[:T] for _ in range(2)])
    empty = _empty(2, D, n_layers, dtype)
    return tokens, empty, empty.clone(), *_numbers(t, 9, D, n_layers, dtype=dtype)


exercise = Exercise(
    id="transformer.decoder_step",
    points=7.5,
    minutes=40,
    difficulty=4,
    chapter="09_cache.html#transformer-cache",
    outcomes=("transformer.cache", "transformer.train"),
    example=lambda t: _sample(t, 3, 2),
    returns=("the logits", "the keys", "the values"),
    severe={"heads_cut_through_tokens": "the model neither reads nor learns"},
)


def _logits(t: Trial, *args: Tensor) -> Tensor:
    tokens, words = args[0], args[3]
    got = t.parts(t.call(*args))[0]
    return t.a_tensor(got, (*tokens.shape, len(words)), "the logits")


@exercise.prop(
    1, "Which tokens may the first of three look at? Where in your function is that said?"
)
def causal(t: Trial) -> None:
    """a later token changes no logit before it"""
    for T in (3, t.integer(4, 6)):
        tokens, *rest = _sample(t, T, 2)
        other = tokens.clone()
        other[:, -1] = (tokens[:, -1] + 1) % 9
        before, after = _logits(t, tokens, *rest), _logits(t, other, *rest)
        t.close(after[:, :-1], before[:, :-1], "the logits before it", note="last token changed")
        t.expect((after[:, -1] != before[:, -1]).any(), "its own logits have not changed")


@exercise.prop(0.5, "Which rows of `places` belong to the tokens, and what is done with them?")
def places_count(t: Trial) -> None:
    """positions matter: exchanging two words changes the next logits, unless all rows of `places`
    are equal
    """
    tokens, keys, values, words, places, *rest = _sample(t, 4, 1)
    other = tokens[:, [1, 0, 2, 3]]
    gaps = []
    for table in (places, places[:1].expand(12, -1).clone()):
        found = [_logits(t, x, keys, values, words, table, *rest)[:, -1] for x in (tokens, other)]
        gaps.append((found[0] - found[1]).abs().max())
    t.expect(gaps[0] > 1e-3, "exchanged words give the same logits")
    t.expect(gaps[1] < 1e-4, "with equal places, exchanged words give other logits")


@exercise.prop(
    1,
    "Set `w_up` to 0. One head sees the first half of the channels. Along which axis are channels"
    " cut, and what is the stream after attention?",
)
def attention_alone(t: Trial) -> None:
    """one layer's attention, two heads: what the last token finds is added to it"""
    for D in (8, 12):
        *args, w_up, w_down = _sample(t, t.integer(3, 5), 1, D=D)
        args = [*args, torch.zeros_like(w_up), w_down]
        want = t.want(*args)[0][:, -1]
        t.close(_logits(t, *args)[:, -1], want, "the last token's logits", note="w_up is 0")


@exercise.prop(
    0.5, "Set `w_out` to 0, so that attention adds nothing. What is left of the formula?"
)
def feed_forward_alone(t: Trial) -> None:
    """one layer's feed-forward sub-layer, and the last norm"""
    *args, w_out, w_up, w_down = _sample(t, 3, 1)
    args = [*args, torch.zeros_like(w_out), w_up, w_down]
    t.close(_logits(t, *args), t.want(*args)[0], "the logits", note="w_out is 0")


@exercise.prop(1, "What does the second layer read: the words, or what the first has made of them?")
def several_layers(t: Trial) -> None:
    """several layers: logits, and keys and values of every layer"""
    for n_layers in (2, 3):
        t.same(*_sample(t, t.integer(3, 5), n_layers), note=f"{n_layers} layers")


@exercise.prop(
    1.5,
    "Read one token, then one more with the cache that came back. Where is the second, which keys"
    " does it meet in each layer, and how many of them?",
)
def in_pieces(t: Trial) -> None:
    """a text read in pieces comes out as it does in one"""
    tokens, keys, values, *numbers = _sample(t, 6, 2)
    # Against the answer's own reading at once: whether that is right is asked above.
    whole = _logits(t, tokens, keys, values, *numbers)
    t.expect((whole[:, 1:] - whole[:, :1]).abs().max() > 1e-3, "all tokens have the same logits")
    found = []
    for piece in tokens.split([2, 1, 3] if t.integer(0, 1) else [1, 1, 3, 1], dim=1):
        logits, keys, values = t.parts(t.call(piece, keys, values, *numbers))
        found.append(logits)
    t.close(torch.cat(found, dim=1), whole, "the logits, read in pieces")


@exercise.prop(0.5, "Does anything cut the graph, or write into what was given?")
def gradients(t: Trial) -> None:
    """gradients reach words, places and every matrix; nothing is kept or changed between calls"""
    args = _sample(t, 3, 2, D=4, dtype=torch.float64)
    t.gradient(*args, output=0)
    first = _logits(t, *args)
    t.unchanged(*_sample(t, 4, 2))
    t.close(_logits(t, *args), first, "the logits of a second call")


STEPS, BATCH, N_WORDS, LENGTH, WIDTH, N_LAYERS = 110, 24, 8, 3, 16, 2


@exercise.prop(
    1.5,
    "Before training: has a word that is read alone, with the cache, the logits that it has in the"
    " whole text? After it: is a token's own embedding still in the stream when logits are made?",
    says=f"it learns: after at most {STEPS} steps of training it reverses {LENGTH} words, one at a"
    " time with its cache, and stops",
)
def learns(t: Trial) -> None:
    words, _, *matrices = _numbers(t, N_WORDS, WIDTH, N_LAYERS)
    numbers = [words / math.sqrt(WIDTH), sinusoidal_positions(12, WIDTH), *matrices]
    texts = t.integers(2, N_WORDS - 1, STEPS + 1, BATCH, LENGTH)
    starts, ends = (torch.full((*texts.shape[:2], 1), word) for word in (0, 1))
    *training, test = torch.cat([texts, starts, texts.flip(-1), ends], dim=-1)
    # Cheap, and surer than the training, in which a model without its stream may learn by chance.
    zeros = [number * (i not in (3, 5)) for i, number in enumerate(numbers)]
    args = (test[:, :-1], _empty(BATCH, WIDTH, N_LAYERS), _empty(BATCH, WIDTH, N_LAYERS), *zeros)
    t.close(_logits(t, *args), t.want(*args)[0], "the logits where layers add nothing")
    alone = _write(t, test, numbers, forced=True)
    t.close(alone, _read(t, test, numbers), "without training, the logits of words read alone")
    optimizer = torch.optim.Adam(numbers, lr=0.015)
    for text in training:
        if _step(t, optimizer, text) < 0.1:
            break
    right = (_write(t, test, numbers).argmax(-1) == test[:, LENGTH + 1 :]).float().mean()
    t.expect(right > 0.85, f"after training {right:.0%} of what it writes is right, expected 85 %")


def _step(t: Trial, optimizer: torch.optim.Optimizer, text: Tensor) -> float:
    """One step on a batch with the gradients of the answer; the loss before it."""
    numbers = optimizer.param_groups[0]["params"]
    asked = _read(t, text, numbers).requires_grad_()
    loss = F.cross_entropy(asked.flatten(0, 1), text[:, LENGTH + 1 :].flatten())
    (slope,) = torch.autograd.grad(loss, asked)
    empty = _empty(BATCH, WIDTH, N_LAYERS)
    args = (text[:, :-1], empty, empty, *numbers)
    reply = t.proxy.vjp(exercise.function, args, [F.pad(slope, (0, 0, LENGTH, 0)), None, None])
    if reply.error is not None:
        raise Wrong(f"raised {reply.error}")
    for number, gradient in zip(numbers, reply.value.inputs[2:], strict=True):
        t.expect(gradient is not None and gradient.isfinite().all(), "a gradient is missing or NaN")
        number.grad = gradient
    optimizer.step()
    return loss.item()


def _read(t: Trial, text: Tensor, numbers: list[Tensor]) -> Tensor:
    """The logits of the words to be written, of texts that are read at once."""
    empty = _empty(BATCH, WIDTH, N_LAYERS)
    return _parts(t, text[:, :-1], empty, empty, *numbers)[0][:, LENGTH:]


def _write(t: Trial, text: Tensor, numbers: list[Tensor], forced: bool = False) -> Tensor:
    """The same, each word read alone with the cache: the likeliest one, or the true one."""
    keys = values = _empty(BATCH, WIDTH, N_LAYERS)
    new, found = text[:, : LENGTH + 1], []
    for true in text[:, LENGTH + 1 :].split(1, dim=1):
        logits, keys, values = _parts(t, new, keys, values, *numbers)
        found.append(logits[:, -1:])
        new = true if forced else found[-1].argmax(-1)
    return torch.cat(found, dim=1)


def _parts(t: Trial, *args: Tensor) -> list[Tensor]:
    """What the answer returns. No mistake is known by it: rounding grows in training."""
    reply = t.settled(t.proxy.call(exercise.function, *args), args)
    if reply.error is not None:
        raise Wrong(f"raised {reply.error}")
    logits, keys, values = t.parts(reply.value)
    return [t.a_tensor(logits, (*args[0].shape, N_WORDS), "the logits"), keys, values]
