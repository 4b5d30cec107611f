"""Exercise ``reading.spare_heads``."""

from itertools import combinations

import torch
from torch import Tensor

from course_lib.checks.compare import kind
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial, Wrong


def reference(losses: Tensor, n_spare: int) -> tuple[Tensor, Tensor, list[int]]:
    """Worth alone, what pairs are worth beyond their sum, and the heads that are best removed."""
    H = losses.ndim

    def without(*heads: int) -> Tensor:
        return losses[tuple(0 if h in heads else 1 for h in range(H))]

    whole = without()
    alone = torch.stack([without(h) - whole for h in range(H)])
    excess = losses.new_zeros(H, H)
    for i, j in combinations(range(H), 2):
        excess[i, j] = excess[j, i] = without(i, j) - whole - alone[i] - alone[j]
    best = min(combinations(range(H), n_spare), key=lambda heads: float(without(*heads)))
    return alone, excess, list(best)


exercise = Exercise(
    id="reading.spare_heads",
    function="spare_heads",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=3,
    chapter="10_changing.html#reading-pruning",
    outcomes=("reading.worth",),
    returns=("alone", "excess", "heads"),
    example=lambda t: (_losses(t, 3), 1),
    severe={"ones_are_silent": "every number is read off the wrong end of the table"},
)


def _losses(t: Trial, H: int) -> Tensor:
    """Losses of all subsets of H heads: everything interacts, and one head does harm."""
    losses = 1 + t.randn(*[2] * H).abs() + 0.2 * torch.rand(*[2] * H, generator=t.generator)
    harmful = t.integer(0, H - 1)
    without = losses[tuple(int(h != harmful) for h in range(H))]
    losses[(1,) * H] = without + 0.3 + t.randn(1).abs().squeeze()
    return losses


def _traps(t: Trial) -> tuple[Tensor, list[int]]:
    """Five heads: two that cover for each other, which are worth least alone; and their order."""
    first, twin, third, fourth, fifth = order = t.permutation(5).tolist()
    losses = torch.zeros(2, 2, 2, 2, 2)
    for index in torch.cartesian_prod(*[torch.arange(2)] * 5).tolist():
        gone = {h for h in range(5) if not index[h]}
        loss = 1.0 + 0.05 * (first in gone) + 0.06 * (twin in gone)
        # What one of the twins does must be done by one of them.
        loss += 2.0 * (first in gone and twin in gone)
        loss += 0.2 * (third in gone) + 0.3 * (fourth in gone) + 0.9 * (fifth in gone)
        # These two work against each other: without both, little is lost.
        loss -= 0.4 * (third in gone and fourth in gone)
        losses[tuple(index)] = loss + 0.01 * float(torch.rand((), generator=t.generator))
    return losses, order


def _part(t: Trial, which: int, losses: Tensor, n_spare: int) -> Tensor:
    got = t.values(t.call(losses, n_spare))
    H = losses.ndim
    value = t.a_tensor(got[which], (H,) if which == 0 else (H, H), exercise.returns[which])
    t.close(value, t.want(losses, n_spare)[which], exercise.returns[which])
    return value


def _heads(t: Trial, losses: Tensor, n_spare: int, note: str = "") -> None:
    got = t.values(t.call(losses, n_spare))
    want = t.want(losses, n_spare)[2]
    heads = got[2].tolist() if isinstance(got[2], Tensor) else got[2]
    if not isinstance(heads, (list, tuple, set)):
        raise Wrong(f"heads is {kind(heads)}, wanted a list")
    t.expect(
        sorted(heads) == want,
        f"{note + ': ' if note else ''}without heads {want} less is lost than without {heads}",
    )


@exercise.prop(
    "alone: how much the loss rises without one head, all others at work",
    points=1,
    hint="Index 0 means silenced. Which entry of `losses` belongs to the whole layer?",
)
def alone(t: Trial) -> None:
    _part(t, 0, _losses(t, t.integer(3, 5)), 1)


@exercise.prop(
    "excess: what a pair is worth beyond the worth of its two heads, 0 on the diagonal",
    points=1.5,
    hint="Three differences to the loss of the whole layer: of the pair, of the one, of the other.",
)
def excess(t: Trial) -> None:
    table = _part(t, 1, _losses(t, t.integer(3, 5)), 1)
    t.close(table, table.T.clone(), "excess and its transpose")


@exercise.prop(
    "one head: that without which least is lost",
    points=0.5,
    hint="The smallest of the losses with one index at 0.",
)
def one_head(t: Trial) -> None:
    _heads(t, _losses(t, 4), 1)
    # Even if that lowers the loss.
    losses = _losses(t, 4)
    losses[1, 1, 1, 1] = 9.0
    _heads(t, losses, 1, "every head does harm")


@exercise.prop(
    "several heads: those without which least is lost together",
    points=1.5,
    hint="Two heads that stand in for each other are each worth little. And both?",
)
def several_heads(t: Trial) -> None:
    losses, _ = _traps(t)
    for n in (2, 3):
        _heads(t, losses, n, f"{n} heads of 5")
    # Three that cover for each other in every pair, and not all at once; and three the other way.
    a, b, c, d = t.permutation(4).tolist()
    losses = torch.full((2,) * 4, 2.0)
    losses[(1,) * 4] = 1.0
    for gone, loss in ((b, c), 1.1), ((b, d), 1.1), ((c, d), 1.1), ((a, b), 3.0), ((a, c), 3.0):
        losses[tuple(int(h not in gone) for h in range(4))] = loss
    losses[tuple(int(h not in (b, c, d)) for h in range(4))] = 4.0
    losses[tuple(int(h not in (a, b, c)) for h in range(4))] = 1.5
    _heads(t, losses, 3, "3 heads of 4")


@exercise.prop(
    "no head, or all of them",
    points=0.5,
    hint="There is one way to remove none, and one to remove all.",
)
def ends(t: Trial) -> None:
    losses = _losses(t, 3)
    _heads(t, losses, 3)
    _heads(t, losses, 0)


@exercise.mistake("Twins: each can be spared. Both?")
def least_worth_first(losses, n_spare):
    """The heads that are worth least alone can be removed together."""
    H = losses.ndim

    def without(*heads):
        return losses[tuple(0 if h in heads else 1 for h in range(H))]

    alone = torch.stack([without(h) - without() for h in range(H)])
    excess = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            if i != j:
                excess[i, j] = without(i, j) - without() - alone[i] - alone[j]
    return alone, excess, sorted(alone.argsort()[:n_spare].tolist())


@exercise.mistake("You never take back a choice. Is the best pair always one with the best head?")
def one_after_another(losses, n_spare):
    """Removing the best head again and again ends at the best set."""
    H = losses.ndim

    def without(*heads):
        return losses[tuple(0 if h in heads else 1 for h in range(H))]

    alone = torch.stack([without(h) - without() for h in range(H)])
    excess = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            if i != j:
                excess[i, j] = without(i, j) - without() - alone[i] - alone[j]
    gone = []
    for _ in range(n_spare):
        rest = [h for h in range(H) if h not in gone]
        gone.append(min(rest, key=lambda h: float(without(*gone, h))))
    return alone, excess, sorted(gone)


@exercise.mistake("You compare with a layer without any heads. With what should you?")
def added_to_nothing(losses, n_spare):
    """A head's worth is what it achieves when all others are silent."""
    from itertools import combinations

    H = losses.ndim

    def only(*heads):
        return losses[tuple(1 if h in heads else 0 for h in range(H))]

    alone = torch.stack([only() - only(h) for h in range(H)])
    excess = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            if i != j:
                excess[i, j] = only() - only(i, j) - alone[i] - alone[j]
    everything = set(range(H))
    best = min(combinations(range(H), n_spare), key=lambda g: float(only(*(everything - set(g)))))
    return alone, excess, list(best)


@exercise.mistake("Index 1 means at work. Which entry is the whole layer?")
def ones_are_silent(losses, n_spare):
    """An index of 1 silences a head."""
    from itertools import combinations

    H = losses.ndim

    def without(*heads):
        return losses[tuple(1 if h in heads else 0 for h in range(H))]

    alone = torch.stack([without(h) - without() for h in range(H)])
    excess = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            if i != j:
                excess[i, j] = without(i, j) - without() - alone[i] - alone[j]
    best = min(combinations(range(H), n_spare), key=lambda g: float(without(*g)))
    return alone, excess, list(best)


@exercise.mistake("Your table says what a pair is worth. What was asked is how much more that is.")
def pairs_themselves(losses, n_spare):
    """How a pair interacts is how much is lost without both."""
    from itertools import combinations

    H = losses.ndim

    def without(*heads):
        return losses[tuple(0 if h in heads else 1 for h in range(H))]

    alone = torch.stack([without(h) - without() for h in range(H)])
    excess = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            if i != j:
                excess[i, j] = without(i, j) - without()
    best = min(combinations(range(H), n_spare), key=lambda g: float(without(*g)))
    return alone, excess, list(best)


@exercise.mistake(
    "Twins: together they are worth more than apart. Is your number for them above 0?"
)
def savings(losses, n_spare):
    """A pair's excess is what its heads are worth alone, less what they are worth together."""
    from itertools import combinations

    H = losses.ndim

    def without(*heads):
        return losses[tuple(0 if h in heads else 1 for h in range(H))]

    alone = torch.stack([without(h) - without() for h in range(H)])
    excess = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            if i != j:
                excess[i, j] = alone[i] + alone[j] - (without(i, j) - without())
    best = min(combinations(range(H), n_spare), key=lambda g: float(without(*g)))
    return alone, excess, list(best)


@exercise.mistake("If removing a head helps, is it worth more than 0?")
def size_of_change(losses, n_spare):
    """A head matters as much as the loss moves without it, to either side."""
    from itertools import combinations

    H = losses.ndim

    def without(*heads):
        return losses[tuple(0 if h in heads else 1 for h in range(H))]

    alone = torch.stack([(without(h) - without()).abs() for h in range(H)])
    excess = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            if i != j:
                excess[i, j] = (without(i, j) - without()).abs() - alone[i] - alone[j]
    best = min(
        combinations(range(H), n_spare), key=lambda g: float((without(*g) - without()).abs())
    )
    return alone, excess, list(best)


@exercise.alternative
def by_binary_numbers(losses, n_spare):
    """Reads the table as a list whose places are binary numbers; prints to stderr."""
    import sys

    H = losses.dim()
    flat = losses.reshape(-1)
    full = 2**H - 1
    print("binary", file=sys.stderr)
    bit = [1 << (H - 1 - h) for h in range(H)]
    gain = flat - flat[full]
    alone = gain[torch.tensor([full ^ b for b in bit])]
    both = gain[torch.tensor([[full ^ (a | b) for b in bit] for a in bit])]
    excess = (both - alone.unsqueeze(0) - alone.unsqueeze(1)).fill_diagonal_(0)
    sets = [n for n in range(2**H) if (full ^ n).bit_count() == n_spare]
    best = sets[int(flat[torch.tensor(sets)].argmin())]
    return alone, excess, [h for h in range(H) if not best & bit[h]]


@exercise.alternative
def by_selecting_axes(losses, n_spare):
    """Takes axes out of the table one by one."""
    H = losses.dim()

    def loss(gone):
        table = losses
        for h in reversed(range(H)):
            table = table.select(h, 0 if h in gone else 1)
        return table

    alone = torch.stack([loss({h}) for h in range(H)]) - loss(set())
    pairs = torch.stack([torch.stack([loss({i, j}) for j in range(H)]) for i in range(H)])
    excess = pairs - loss(set()) - alone[:, None] - alone[None, :]
    excess = excess * (1 - torch.eye(H))
    found = [set()]
    for _ in range(n_spare):
        found = [s | {h} for s in found for h in range(H) if not s or h > max(s)]
    return alone, excess, sorted(min(found, key=lambda s: loss(s).item()))
