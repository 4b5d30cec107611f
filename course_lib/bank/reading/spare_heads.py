from course_lib.bank.prelude import Exercise, Tensor, Trial, Wrong, torch
from grader.checks.compare import kind

exercise = Exercise(
    id="reading.spare_heads",
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
        # The work of one of the twins must be done by one of them.
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
        raise Wrong(f"heads is {kind(heads)}, expected a list")
    t.expect(
        sorted(heads) == want,
        f"{note + ': ' if note else ''}removed are heads {heads}, expected {want}",
    )


@exercise.prop(1, "Index 0 means silenced. Which entry of `losses` belongs to the whole layer?")
def alone(t: Trial) -> None:
    """alone: how much the loss rises without one head, all others at work"""
    _part(t, 0, _losses(t, t.integer(3, 5)), 1)


@exercise.prop(
    1.5, "Three differences from the whole layer's loss: of the pair, of the one, of the other."
)
def excess(t: Trial) -> None:
    """excess: what a pair is worth beyond the worth of its two heads, 0 on the diagonal"""
    table = _part(t, 1, _losses(t, t.integer(3, 5)), 1)
    t.close(table, table.T.clone(), "excess and its transpose")


@exercise.prop(0.5, "Which entries of `losses` have one head silenced?")
def one_head(t: Trial) -> None:
    """one head: removing it costs least"""
    _heads(t, _losses(t, 4), 1)
    # Even if that lowers the loss.
    losses = _losses(t, 4)
    losses[1, 1, 1, 1] = 9.0
    _heads(t, losses, 1, "every head does harm")


@exercise.prop(1.5, "Two heads that stand in for each other are each worth little. And both?")
def several_heads(t: Trial) -> None:
    """several heads: removing them together costs least"""
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


@exercise.prop(0.5, "There is one way to remove none, and one to remove all.")
def ends(t: Trial) -> None:
    """no head, or all of them"""
    losses = _losses(t, 3)
    _heads(t, losses, 3)
    _heads(t, losses, 0)
