"""Exercise ``heads.head_importance``."""

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(contributions: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """By how much the mean squared error rises without one head, and without two."""
    H = contributions.shape[1]
    rest = contributions.sum(1) - target
    whole = rest.square().mean()
    pairs = contributions.new_zeros(H, H)
    for i in range(H):
        for j in range(H):
            gone = contributions[:, i] + (contributions[:, j] if i != j else 0)
            pairs[i, j] = (rest - gone).square().mean() - whole
    return pairs.diagonal().clone(), pairs


exercise = Exercise(
    id="heads.head_importance",
    function="head_importance",
    reference=reference,
    points=5,
    minutes=25,
    difficulty=3,
    chapter="04_heads.html#heads-pruning",
    outcomes=("heads.importance",),
    returns=("alone", "pairs"),
    example=lambda t: _sample(t, 12, 3, 2),
)


def _sample(t: Trial, n: int, H: int, D: int) -> tuple[Tensor, Tensor]:
    """Contributions that are not centred, and a target that they miss by a little."""
    parts = t.randn(n, H, D) + 0.5 * t.randn(1, H, D).sign() * (1 + t.randn(1, H, D).abs())
    return parts, parts.sum(1) + 0.5 * t.randn(n, D)


def _two(t: Trial, *args: Tensor) -> tuple[Tensor, Tensor]:
    got = t.values(t.call(*args))
    H = args[0].shape[1]
    return t.a_tensor(got[0], (H,), "alone"), t.a_tensor(got[1], (H, H), "pairs")


@exercise.prop(
    "without one head: how much the error rises",
    points=1,
    hint="The error with all heads, the error with all but one. Which is subtracted from which?",
)
def alone(t: Trial) -> None:
    args = _sample(t, 20, t.integer(3, 5), 3)
    t.close(_two(t, *args)[0], reference(*args)[0], "alone")


@exercise.prop(
    "without two heads at once", points=0.75, hint="Take both away and compute the error anew."
)
def pairs(t: Trial) -> None:
    H = t.integer(3, 5)
    args = _sample(t, 20, H, 3)
    off = ~torch.eye(H, dtype=torch.bool)
    t.close(_two(t, *args)[1][off], reference(*args)[1][off], "pairs, off the diagonal")


@exercise.prop(
    "pairs are symmetric and hold on their diagonal what one head alone is worth",
    points=1.25,
    hint="Taking away head 2 and head 2 is taking away head 2.",
)
def diagonal(t: Trial) -> None:
    got, table = _two(t, *_sample(t, 15, 4, 2))
    t.expect((got != 0).any() and (table != got).any(), "every importance is the same")
    t.close(table.diagonal(), got, "the diagonal of pairs, against alone")
    t.close(table, table.T.clone(), "pairs and their transpose")


@exercise.prop(
    "two heads that do the same work, and two that undo each other's",
    points=0.75,
    hint="Twins a and a: what is missing without one, and what without both? And a with -a?",
)
def twins(t: Trial) -> None:
    other, part = t.randn(16, 3) + 1, t.randn(16, 3) + 2
    for sign, note in ((1, "twins"), (-1, "opposites")):
        parts = torch.stack([part, sign * part, other], dim=1)
        target = parts.sum(1) + 0.1 * t.randn(16, 3)
        t.close(_two(t, parts, target)[1], reference(parts, target)[1], "pairs", note=note)


@exercise.prop(
    "a head that does harm has a negative importance, a useful one a positive",
    points=0.75,
    hint="What happens to the error when a head that only adds noise is taken away?",
)
def harmful(t: Trial) -> None:
    # Far off the target, so that no scale of the useful head misses it by as much.
    useful, noise = t.randn(16, 3) + 2, 0.5 * t.randn(16, 3) - 4
    parts = torch.stack([useful, noise], dim=1)
    got, _ = _two(t, parts, useful + 0.1 * t.randn(16, 3))
    t.expect(got[1] < 0 < got[0], "wanted a negative importance of the head that only adds noise")


@exercise.prop(
    "the arguments are left as they were",
    points=0.5,
    hint="Which of your lines changes a head in place, and puts it back later or not at all?",
)
def no_side_effect(t: Trial) -> None:
    t.unchanged(*_sample(t, 9, 3, 2))


@exercise.mistake("Twins: taking away either is harmless. And taking away both?")
def importance_adds_up(contributions, target):
    """Two heads together are worth what they are worth alone, added."""
    out = contributions.sum(1)
    whole = (out - target).square().mean()
    alone = (out[:, None] - contributions - target[:, None]).square().mean((0, 2)) - whole
    pairs = alone[:, None] + alone
    pairs.fill_diagonal_(0)
    return alone, pairs + torch.diag(alone)


@exercise.mistake("You measure how steeply the error rises at first. How far is the way to none?")
def slope(contributions, target):
    """The gradient with respect to a head's factor tells what its removal does."""
    rest = contributions.sum(1) - target
    alone = -2 * (rest[:, None] * contributions).mean((0, 2))
    return alone, torch.where(torch.eye(len(alone)).bool(), alone, alone[:, None] + alone)


@exercise.mistake("What is left of a head that you replaced by its mean? Was that asked?")
def replaced_by_mean(contributions, target):
    """A head is removed by putting its mean over the examples in its place."""
    moved = contributions - contributions.mean(0, keepdim=True)
    rest = contributions.sum(1) - target
    whole = rest.square().mean()
    H = moved.shape[1]
    pairs = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            gone = moved[:, i] + (moved[:, j] if i != j else 0)
            pairs[i, j] = (rest - gone).square().mean() - whole
    return pairs.diagonal().clone(), pairs


@exercise.mistake("A head without which the error rises: is your number for it above 0?")
def upside_down(contributions, target):
    """Importance is the error with all heads less the error without one."""
    rest = contributions.sum(1) - target
    whole = rest.square().mean()
    H = contributions.shape[1]
    pairs = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            gone = contributions[:, i] + (contributions[:, j] if i != j else 0)
            pairs[i, j] = whole - (rest - gone).square().mean()
    return pairs.diagonal().clone(), pairs


@exercise.mistake("Does anything make the other heads larger when one is taken away?")
def rescaled(contributions, target):
    """The heads that stay are scaled up to make up for those that go, as with dropout."""
    out = contributions.sum(1)
    whole = (out - target).square().mean()
    H = contributions.shape[1]
    pairs = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            gone = contributions[:, i] + (contributions[:, j] if i != j else 0)
            left = (out - gone) * H / max(1, H - len({i, j}))
            pairs[i, j] = (left - target).square().mean() - whole
    return pairs.diagonal().clone(), pairs


@exercise.mistake("Which heads are still there when your error is computed?")
def kept_alone(contributions, target):
    """A head's importance is how well it does by itself."""
    whole = (contributions.sum(1) - target).square().mean()
    H = contributions.shape[1]
    pairs = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            kept = contributions[:, i] + (contributions[:, j] if i != j else 0)
            pairs[i, j] = (kept - target).square().mean() - whole
    return pairs.diagonal().clone(), pairs


@exercise.mistake("A large head can be wrong. Where does the target enter your number?")
def size(contributions, target):
    """The larger what a head adds, the more important it is."""
    H = contributions.shape[1]
    pairs = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            gone = contributions[:, i] + (contributions[:, j] if i != j else 0)
            pairs[i, j] = gone.square().mean()
    return pairs.diagonal().clone(), pairs


@exercise.mistake("Can a model be better without one of its heads? What would you report then?")
def never_negative(contributions, target):
    """A head may be useless, but it cannot be worth less than nothing."""
    rest = contributions.sum(1) - target
    whole = rest.square().mean()
    H = contributions.shape[1]
    pairs = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            gone = contributions[:, i] + (contributions[:, j] if i != j else 0)
            pairs[i, j] = ((rest - gone).square().mean() - whole).clamp(min=0)
    return pairs.diagonal().clone(), pairs


@exercise.alternative
def head_masks(contributions, target):
    """All masks with one or two zeros at once, in one product; warns."""
    import warnings

    warnings.warn("all masks at once", stacklevel=1)
    H = contributions.shape[1]
    eye = torch.eye(H, dtype=contributions.dtype)
    masks = 1 - torch.maximum(eye[:, None], eye[None])  # (H, H, H)
    out = torch.einsum("ijh,nhd->ijnd", masks, contributions)
    pairs = ((out - target) ** 2).mean((-2, -1))
    pairs = pairs - ((contributions.sum(1) - target) ** 2).mean()
    return torch.diagonal(pairs), pairs


@exercise.alternative
def inner_products(contributions, target):
    """No removal at all: the square is multiplied out, and inner products are enough."""
    size = target.numel()
    rest = target - contributions.sum(1)
    gram = torch.einsum("nid,njd->ij", contributions, contributions) / size
    toward = torch.einsum("nid,nd->i", contributions, rest) / size
    alone = gram.diagonal() + 2 * toward
    pairs = alone[:, None] + alone[None] + 2 * gram
    same = torch.eye(len(alone), dtype=torch.bool)
    return alone, torch.where(same, alone.expand_as(pairs), pairs)
