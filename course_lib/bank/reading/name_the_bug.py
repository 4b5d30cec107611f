"""Exercise ``reading.name_the_bug``."""

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(weights: Tensor, mask: Tensor) -> str:
    """Where weights lie that should not, where none lie, and what sums to 1."""
    weights = weights.float()
    hidden = (weights * ~mask[:, None]).sum(-1)  # (B, H, T)
    empty = (~mask.any(-1))[:, None].expand(hidden.shape)
    if (hidden[~empty] > 0).any():
        return "mask inverted"
    if (hidden[empty] > 0).any():
        return "finite fill"
    if (weights.sum(-1)[~empty] - 1).abs().max() < 1e-2:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    visible = mask[:, None].expand(weights.shape)
    return "dropout" if (weights[visible] == 0).any() else "mask after softmax"


exercise = Exercise(
    id="reading.name_the_bug",
    function="name_the_bug",
    reference=reference,
    points=6,
    minutes=25,
    difficulty=3,
    chapter="10_reading.html#reading-bugs",
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
    "a sound map: no weight on hidden keys, and rows that sum to 1 or are empty",
    points=1,
    hint="Half precision rounds, and the row of a query that may see nothing is 0 all over.",
)
def sound(t: Trial) -> None:
    n = t.integer(5, 8)
    for dtype in (torch.float32, torch.float16):
        t.same(*_sample(t, "sound", [n, n - 2], dtype), note=f"{dtype}")
    everything = torch.ones(2, n, n + 1, dtype=torch.bool)
    t.same(_buggy(t, "sound", everything), everything, note="nothing is hidden")
    t.same(*_sample(t, "mask inverted", [n, n]), note="not sound")


@exercise.prop(
    "mask inverted: attention only where there should be none",
    points=1,
    hint="Multiply the weights with the opposite of the mask. What should be left, what is?",
)
def inverted(t: Trial) -> None:
    _contrast(t, "mask inverted", [t.integer(6, 8)] * 2)
    _contrast(t, "mask inverted", [5, t.integer(7, 9)])


@exercise.prop(
    "mask after softmax: hidden weights are 0, and their share has gone",
    points=1,
    hint="Which rows lose most? Are there rows that lose nothing?",
)
def late(t: Trial) -> None:
    _contrast(t, "mask after softmax", [t.integer(6, 8)] * 2)
    _contrast(t, "mask after softmax", [5, t.integer(7, 9)])
    # One column of three happens to sum to 1.
    one = torch.tensor([[0.5, 0.0, 0.0], [0.3, 0.3, 0.0], [0.2, 0.3, 0.2]])
    mask = torch.ones(1, 3, 3).tril().bool()
    t.same(one.expand(1, 2, 3, 3).clone(), mask, note="a column sums to 1 by chance")


@exercise.prop(
    "dropout: some visible weights are exactly 0, and the others are too large",
    points=1,
    hint="A softmax of moderate scores has no zeros. And look at each head by itself.",
)
def dropout(t: Trial) -> None:
    _contrast(t, "dropout", [t.integer(6, 8)] * 2)
    _contrast(t, "dropout", [5, t.integer(7, 9)])
    # So that rows sum to less than 1.
    weights, mask = _sample(t, "sound", [6, 6])
    weights[:, 0, 4:, 1] = 0
    weights[:, 1, 4:, 2] = 0
    t.same(weights, mask, note="zeros alone")


@exercise.prop(
    "softmax over queries: columns sum to 1",
    points=1,
    hint="A softmax makes something sum to 1. If it isn't rows, what is it?",
)
def axis(t: Trial) -> None:
    _contrast(t, "softmax over queries", [t.integer(6, 8)] * 2)
    _contrast(t, "softmax over queries", [5, t.integer(7, 9)])
    wide = torch.ones(2, 5, 8, dtype=torch.bool)
    for bug in ("softmax over queries", "dropout"):
        t.same(_buggy(t, bug, wide), wide, note="nothing is hidden, T is not S")


@exercise.prop(
    "finite fill: a query that may see nothing attends all the same",
    points=1,
    hint="What does a softmax make of a row in which all scores are -1e9?",
)
def finite(t: Trial) -> None:
    n = t.integer(6, 9)
    _contrast(t, "finite fill", [n, n - 3])
    _contrast(t, "finite fill", [n - 2, n])


@exercise.mistake("Rows sum to 1 under an inverted mask, too. Where do they put it?")
def rows_sum_to_one(weights, mask):
    """A map whose rows sum to 1 is sound."""
    weights = weights.float()
    sums = weights.sum(-1)
    full = sums > 0
    if (sums[full] - 1).abs().max() < 1e-2:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    visible = mask[:, None].expand(weights.shape)
    return "dropout" if (weights[visible] == 0).any() else "mask after softmax"


@exercise.mistake("Hidden keys get nothing in two cases. Which rows would tell them apart?")
def empty_rows_left_out(weights, mask):
    """What a query attends to that may see nothing need not be looked at."""
    weights = weights.float()
    asks = mask.any(-1)[:, None].expand(weights.shape[:-1])
    hidden = (weights * ~mask[:, None]).sum(-1)
    if (hidden[asks] > 0).any():
        return "mask inverted"
    if (weights.sum(-1)[asks] - 1).abs().max() < 1e-2:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    visible = mask[:, None].expand(weights.shape)
    return "dropout" if (weights[visible] == 0).any() else "mask after softmax"


@exercise.mistake("Only some rows attend where they may not. Which, and would an inverted mask?")
def any_leak_is_inverted(weights, mask):
    """Weight on a hidden key means that the mask was read the wrong way round."""
    weights = weights.float()
    if (weights * ~mask[:, None]).any():
        return "mask inverted"
    asks = mask.any(-1)[:, None].expand(weights.shape[:-1])
    if (weights.sum(-1)[asks] - 1).abs().max() < 1e-2:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    visible = mask[:, None].expand(weights.shape)
    return "dropout" if (weights[visible] == 0).any() else "mask after softmax"


@exercise.mistake("Average two heads, each with other weights dropped. Do you still see zeros?")
def mean_over_heads(weights, mask):
    """The mean over the heads shows what every head does."""
    weights = weights.float().mean(1)
    asks = mask.any(-1)
    hidden = (weights * ~mask).sum(-1)
    if (hidden[asks] > 0).any():
        return "mask inverted"
    if (hidden[~asks] > 0).any():
        return "finite fill"
    if (weights.sum(-1)[asks] - 1).abs().max() < 1e-2:
        return "sound"
    if (weights.sum(-2)[mask.any(-2)] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    return "dropout" if (weights[mask] == 0).any() else "mask after softmax"


@exercise.mistake("How exactly does a row of half-precision numbers sum to 1?")
def exactly_one(weights, mask):
    """The rows of a sound map sum to 1 exactly."""
    asks = mask.any(-1)[:, None].expand(weights.shape[:-1])
    hidden = (weights * ~mask[:, None]).sum(-1)
    if (hidden[asks] > 0).any():
        return "mask inverted"
    if (hidden[~asks] > 0).any():
        return "finite fill"
    if (weights.float().sum(-1)[asks] - 1).abs().max() < 1e-6:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    visible = mask[:, None].expand(weights.shape)
    return "dropout" if (weights[visible] == 0).any() else "mask after softmax"


@exercise.mistake("In a row of a causal map some weights are 0 by right. Did you leave those out?")
def zeros_everywhere(weights, mask):
    """A weight of 0 was dropped."""
    weights = weights.float()
    asks = mask.any(-1)[:, None].expand(weights.shape[:-1])
    hidden = (weights * ~mask[:, None]).sum(-1)
    if (hidden[asks] > 0).any():
        return "mask inverted"
    if (hidden[~asks] > 0).any():
        return "finite fill"
    if (weights.sum(-1)[asks] - 1).abs().max() < 1e-2:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    return "dropout" if (weights == 0).any() else "mask after softmax"


@exercise.mistake("A row can lose weight to dropout and still not exceed 1. What does not change?")
def dropout_exceeds_one(weights, mask):
    """Dropout shows in rows that sum to more than 1."""
    weights = weights.float()
    asks = mask.any(-1)[:, None].expand(weights.shape[:-1])
    hidden = (weights * ~mask[:, None]).sum(-1)
    if (hidden[asks] > 0).any():
        return "mask inverted"
    if (hidden[~asks] > 0).any():
        return "finite fill"
    sums = weights.sum(-1)[asks]
    if (sums - 1).abs().max() < 1e-2:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    return "dropout" if sums.max() > 1.01 else "mask after softmax"


@exercise.alternative
def row_by_row(weights, mask):
    """Looks at one row after the other in plain Python, and prints to stderr."""
    import sys

    B, H, T, S = weights.shape
    print(B * H * T, "rows", file=sys.stderr)
    off, gone = False, False
    for b in range(B):
        for h in range(H):
            for i in range(T):
                row, may = weights[b, h, i].tolist(), mask[b, i].tolist()
                leak = [w for w, m in zip(row, may, strict=True) if not m and w > 0]
                if leak:
                    return "mask inverted" if any(may) else "finite fill"
                off |= any(may) and abs(sum(row) - 1) > 0.01
                gone |= any(m and w == 0 for w, m in zip(row, may, strict=True))
    if not off:
        return "sound"
    columns = weights.double().sum(dim=2)
    used = mask.any(dim=1)
    even = all(
        abs(columns[b, h, j].item() - 1) < 0.01
        for b in range(B)
        for h in range(H)
        for j in range(S)
        if used[b, j]
    )
    return "softmax over queries" if even else ["mask after softmax", "dropout"][gone]


@exercise.alternative
def by_making_it_right(weights, mask):
    """Compares the map with what it would be if each row were made to sum to 1 where it may."""
    w = weights.double()
    allowed = w * mask.unsqueeze(1)
    leak = w.sum() - allowed.sum()
    if leak > 0:
        per_row = (w - allowed).sum(dim=-1).amax(dim=1)
        return "mask inverted" if per_row[mask.any(dim=-1)].max() > 0 else "finite fill"
    total = allowed.sum(dim=-1, keepdim=True)
    right = allowed / torch.where(total > 0, total, torch.ones_like(total))
    if torch.allclose(right, w, atol=5e-3):
        return "sound"
    down = allowed.sum(dim=-2, keepdim=True)
    if torch.allclose(allowed / torch.where(down > 0, down, torch.ones_like(down)), w, atol=5e-3):
        return "softmax over queries"
    lost = torch.logical_and(mask.unsqueeze(1), w == 0)
    return "dropout" if lost.sum() > 0 else "mask after softmax"
