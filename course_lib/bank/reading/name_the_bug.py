from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="reading.name_the_bug",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="10_bugs.html#reading-bugs",
    outcomes=("reading.kinds",),
    example=lambda t: _sample(t, "sound", [6, 6]),
)


def _mask(t: Trial, lengths: list[int]) -> Tensor:
    """A causal mask on sentences that are padded on the right; padding asks nothing."""
    T = max(lengths)
    real = torch.arange(T) < torch.tensor(lengths)[:, None]
    return torch.ones(T, T).tril().bool() & real[:, None] & real[:, :, None]


def _sample(
    t: Trial, bug: str, lengths: list[int], dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """Weights (B, 2, T, T) with a bug, and the mask (B, T, T) they should have been made under.

    Scores are so near to each other that no weight is lost in half precision.
    """
    mask = _mask(t, lengths)
    return _buggy(t, bug, mask, dtype), mask


def _buggy(t: Trial, bug: str, mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    B, T, S = mask.shape
    scores = t.randn(B, 2, T, S).clamp(-2, 2)
    may = mask[:, None]
    if bug == "mask inverted":
        weights = scores.masked_fill(may, -torch.inf).softmax(-1).nan_to_num(0.0)
    elif bug == "mask after softmax":
        weights = scores.softmax(-1) * may
    elif bug == "softmax over queries":
        weights = scores.masked_fill(~may, -torch.inf).softmax(-2).nan_to_num(0.0)
    elif bug == "finite fill":
        weights = scores.masked_fill(~may, -1e9).softmax(-1)
    else:
        weights = scores.masked_fill(~may, -torch.inf).softmax(-1).nan_to_num(0.0)
    if bug == "dropout":
        # No weight goes in both heads, and one of the third query's goes in each.
        gone = torch.rand(B, T, S, generator=t.generator) < 0.3
        gone[:, 2, 0], gone[:, 2, 1] = True, False
        either = torch.rand(B, T, S, generator=t.generator) < 0.3
        either[:, 2, 0], either[:, 2, 1] = False, True
        weights[:, 0] *= ~gone / 0.7
        weights[:, 1] *= (gone | ~either) / 0.7
    return weights.to(dtype)


def _contrast(t: Trial, bug: str, lengths: list[int]) -> None:
    """A bug, and the same sentences without."""
    for name in (bug, "sound"):
        t.same(*_sample(t, name, lengths), note=f"a map that is {name!r}")


@exercise.prop(
    1, "Half precision rounds, and the row of a query that may see nothing is 0 all over."
)
def sound(t: Trial) -> None:
    """a sound map: no weight on hidden keys, and rows that sum to 1 or are empty"""
    n = t.integer(5, 8)
    for dtype in (torch.float32, torch.float16):
        t.same(*_sample(t, "sound", [n, n - 2], dtype), note=f"{dtype}")
    everything = torch.ones(2, n, n + 1, dtype=torch.bool)
    t.same(_buggy(t, "sound", everything), everything, note="nothing is hidden")
    got = t.call(*_sample(t, "mask inverted", [n, n]))
    t.expect(got != "sound", "attention through an inverted mask is called sound")


@exercise.prop(1, "Multiply the weights by the opposite of the mask. What should be left, what is?")
def inverted(t: Trial) -> None:
    """mask inverted: attention only where there should be none"""
    _contrast(t, "mask inverted", [t.integer(6, 8)] * 2)
    _contrast(t, "mask inverted", [5, t.integer(7, 9)])


@exercise.prop(1, "Which rows lose most? Are there rows that lose nothing?")
def late(t: Trial) -> None:
    """mask after softmax: hidden weights are 0, and their share is missing"""
    _contrast(t, "mask after softmax", [t.integer(6, 8)] * 2)
    _contrast(t, "mask after softmax", [5, t.integer(7, 9)])
    # One column of three happens to sum to 1.
    one = torch.tensor([[0.5, 0.0, 0.0], [0.3, 0.3, 0.0], [0.2, 0.3, 0.2]])
    mask = torch.ones(1, 3, 3).tril().bool()
    t.same(one.expand(1, 2, 3, 3).clone(), mask, note="a column happens to sum to 1")


@exercise.prop(1, "A softmax of moderate scores has no zeros. And look at each head by itself.")
def dropout(t: Trial) -> None:
    """dropout: some visible weights are exactly 0, whatever the rows sum to"""
    _contrast(t, "dropout", [t.integer(6, 8)] * 2)
    _contrast(t, "dropout", [5, t.integer(7, 9)])
    # So that rows sum to less than 1.
    weights, mask = _sample(t, "sound", [6, 6])
    weights[:, 0, 4:, 1] = 0
    weights[:, 1, 4:, 2] = 0
    t.same(weights, mask, note="zeros alone")


@exercise.prop(1, "A softmax makes something sum to 1. If it isn't rows, what is it?")
def axis(t: Trial) -> None:
    """softmax over queries: columns sum to 1"""
    _contrast(t, "softmax over queries", [t.integer(6, 8)] * 2)
    _contrast(t, "softmax over queries", [5, t.integer(7, 9)])
    wide = torch.ones(2, 5, 8, dtype=torch.bool)
    for bug in ("softmax over queries", "dropout"):
        t.same(_buggy(t, bug, wide), wide, note="nothing is hidden, T is not S")


@exercise.prop(1, "What does a softmax make of a row in which all scores are -1e9?")
def finite(t: Trial) -> None:
    """finite fill: a query that may see nothing attends all the same"""
    n = t.integer(6, 9)
    _contrast(t, "finite fill", [n, n - 3])
    _contrast(t, "finite fill", [n - 2, n])
