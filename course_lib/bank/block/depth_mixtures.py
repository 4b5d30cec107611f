from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

NAMES = ("the mixtures", "the weights")

exercise = Exercise(
    id="block.depth_mixtures",
    points=4,
    minutes=20,
    difficulty=3,
    chapter="06_stack.html#block-depth",
    outcomes=("block.stream",),
    returns=NAMES,
    example=lambda t: (t.randn(3, 1, 2, 4), t.randn(3, 4)),
)


def _stack(t: Trial) -> tuple[Tensor, Tensor]:
    L, D = t.integer(4, 5), t.integer(6, 8)
    return t.randn(L, 2, 3, D), t.randn(L, D)


def _both(t: Trial, outputs: Tensor, queries: Tensor) -> list[Tensor]:
    return t.parts(t.call(outputs, queries), *NAMES)


@exercise.prop(1.5, "For one reader and one token: which vectors are compared, which are mixed?")
def mixed(t: Trial) -> None:
    """each reader mixes the outputs up to its own place by attention"""
    outputs, queries = _stack(t)
    got, want = _both(t, outputs, queries), t.want(outputs, queries)
    for mine, right, name in zip(got, want, NAMES, strict=True):
        t.close(mine, right, name)
    t.unchanged(outputs, queries)


@exercise.prop(1, "When reader l is at work, which outputs do not exist yet?")
def earlier(t: Trial) -> None:
    """no reader depends on outputs after its place, and its weights sum to 1"""
    outputs, queries = _stack(t)
    last = t.integer(1, len(outputs) - 2)
    later = outputs.clone()
    later[last + 1 :] = t.randn(*later[last + 1 :].shape)
    for before, after, name in zip(
        _both(t, outputs, queries), _both(t, later, queries), NAMES, strict=True
    ):
        t.close(after[: last + 1], before[: last + 1], f"{name} of readers 0 to {last}")
    weights = _both(t, outputs, queries)[1]
    t.close(weights.sum(1), torch.ones_like(weights[:, 0]), "the sums of the weights")


@exercise.prop(0.75, "Where does the size of an output drop out, and where does it stay?")
def large(t: Trial) -> None:
    """an output a hundred times as large gets the same weights, and large scores do no harm"""
    outputs, queries = _stack(t)
    larger = outputs.clone()
    larger[t.integer(0, len(outputs) - 2)] *= 100
    weights = _both(t, outputs, queries)[1]
    t.close(_both(t, larger, queries)[1], weights, "the weights")
    t.usual(outputs, queries)
    t.same(outputs, 1e8 * queries, note="very large scores")


@exercise.prop(0.75, "All scores are 0. Which weights does a softmax make of that?")
def zeros(t: Trial) -> None:
    """queries of zeros take the mean of what is there"""
    outputs, queries = _stack(t)
    means = outputs.cumsum(0) / torch.arange(1, len(outputs) + 1)[:, None, None, None]
    t.close(_both(t, outputs, 0 * queries)[0], means, "the mixtures")
