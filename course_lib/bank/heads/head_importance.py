from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="heads.head_importance",
    points=5,
    minutes=25,
    difficulty=3,
    chapter="04_worth.html#heads-pruning",
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
    1, "The error with all heads, the error with all but one. Which is subtracted from which?"
)
def alone(t: Trial) -> None:
    """without one head: how much the error rises"""
    args = _sample(t, 20, t.integer(3, 5), 3)
    t.close(_two(t, *args)[0], exercise.reference(*args)[0], "alone")


@exercise.prop(0.75, "Take both away and compute the error again.")
def pairs(t: Trial) -> None:
    """without two heads at once"""
    H = t.integer(3, 5)
    args = _sample(t, 20, H, 3)
    off = ~torch.eye(H, dtype=torch.bool)
    t.close(_two(t, *args)[1][off], exercise.reference(*args)[1][off], "pairs, off the diagonal")


@exercise.prop(1.25, "Taking away head 2 and head 2 is taking away head 2.")
def diagonal(t: Trial) -> None:
    """pairs are symmetric and hold on their diagonal what one head alone is worth"""
    got, table = _two(t, *_sample(t, 15, 4, 2))
    t.expect((got != 0).any() and (table != got).any(), "every importance is the same")
    t.close(table.diagonal(), got, "the diagonal of pairs, against alone")
    t.close(table, table.T.clone(), "pairs and their transpose")


@exercise.prop(
    0.75, "Twins a and a: what is missing without one, and what without both? And a with -a?"
)
def twins(t: Trial) -> None:
    """two heads that do the same work, and two that undo each other's"""
    other, part = t.randn(16, 3) + 1, t.randn(16, 3) + 2
    for sign, note in ((1, "twins"), (-1, "opposites")):
        parts = torch.stack([part, sign * part, other], dim=1)
        target = parts.sum(1) + 0.1 * t.randn(16, 3)
        t.close(_two(t, parts, target)[1], exercise.reference(parts, target)[1], "pairs", note=note)


@exercise.prop(0.75, "What happens to the error when a head that only adds noise is taken away?")
def harmful(t: Trial) -> None:
    """a head that does harm has a negative importance, a useful one a positive"""
    # Far off the target, so that no scale of the useful head misses it by as much.
    useful, noise = t.randn(16, 3) + 2, 0.5 * t.randn(16, 3) - 4
    parts = torch.stack([useful, noise], dim=1)
    got, _ = _two(t, parts, useful + 0.1 * t.randn(16, 3))
    t.expect(got[1] < 0 < got[0], "the noisy head is not below 0, or the useful one not above")


@exercise.prop(
    0.5, "Which of your lines changes a head in place, and puts it back later or not at all?"
)
def no_side_effect(t: Trial) -> None:
    """the arguments are left as they were"""
    t.unchanged(*_sample(t, 9, 3, 2))
