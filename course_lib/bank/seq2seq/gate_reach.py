from course_lib.bank.prelude import Exercise, F, Tensor, Trial, math, torch

exercise = Exercise(
    id="seq2seq.gate_reach",
    points=4,
    minutes=15,
    difficulty=2,
    chapter="01_gradients.html#seq2seq-gates",
    outcomes=("seq2seq.gradient",),
    returns=("the share passed", "the reach"),
    example=lambda t: (torch.tensor([0.0, 2.0, 4.0]), 10, 0.1),
    severe={
        "lstm_never_vanishes": "nothing is lost, so both numbers are wrong for every gate",
        "cell_sums_gradients": "more is left after more steps, so both numbers are wrong",
    },
)


def _off_the_edge(t: Trial, low: float, high: float, count: int, share: float) -> Tensor:
    """Biases whose reach is no near miss: the number of steps is well between two whole ones."""
    found: list[float] = []
    while len(found) < count:
        bias = (t.randn(1) * (high - low) / 4 + (low + high) / 2).clamp(low, high)
        steps = math.log(share) / F.logsigmoid(bias.double()).item()
        if 0.1 < steps % 1 < 0.9:
            found.append(bias.item())
    return torch.tensor(found)


@exercise.prop(1, "A bias of 0 opens a gate half. What is left after one step, two steps, ten?")
def passed(t: Trial) -> None:
    """what is left of a gradient after some steps through a gate"""
    bias = _off_the_edge(t, -2.0, 4.0, 4, 0.1)
    for distance in (1, t.integer(2, 9), t.integer(20, 60)):
        got, want = (
            t.values(t.call(bias, distance, 0.1))[0],
            exercise.reference(bias, distance, 0.1)[0],
        )
        # Single precision is asked about further down.
        note = f"distance {distance}"
        t.close(got, want.float(), "the share passed", note=note)


@exercise.prop(0.5, "After zero steps the gate is raised to the power 0. What does that give?")
def no_step(t: Trial) -> None:
    """after no step at all everything is left"""
    bias = _off_the_edge(t, -2.0, 4.0, 3, 0.5)
    t.close(t.values(t.call(bias, 0, 0.5))[0], torch.ones(3), "the share passed")


@exercise.prop(1, "Half-open gates and a share of 0.2: 0.5, 0.25, 0.125. How many steps may it be?")
def reach(t: Trial) -> None:
    """the largest number of steps after which a share is still left"""
    # Of what the answer itself says is left: whether that is right is asked above.
    for share in (0.2, 0.01, t.integer(30, 70) / 100):
        bias = _off_the_edge(t, 0.5, 5.0, 4, share)
        steps = t.a_tensor(t.values(t.call(bias, 3, share))[1], (4,), "the reach")
        for gate, n in zip(bias.split(1), steps.long().tolist(), strict=True):
            t.expect(0 <= n < 10**6, f"the reach is {n} steps, which can't be")
            left, later = (
                float(t.values(t.call(gate, distance, share))[0]) for distance in (n, n + 1)
            )
            t.expect(
                left >= share * (1 - 1e-6) and later < share * (1 + 1e-6),
                f"the reach of a gate with bias {float(gate):.3g} is {n} steps for a share of"
                f" {share:g}; after that {left:.3g} is left, and one step later {later:.3g}",
            )
    t.usual(torch.zeros(1), 3, 0.2)
    t.same(torch.zeros(1), 3, 0.25, note="a quarter is just left after two steps")


@exercise.prop(0.5, "A reach of 0 is an honest answer. Can yours be negative, or one too many?")
def shut(t: Trial) -> None:
    """a gate that is nearly shut reaches no step at all"""
    bias = torch.tensor([-6.0, -3.0, -40.0]) - t.randn(3).abs().clamp(max=1)
    got = t.values(t.call(bias, 1, 0.5))[1]
    t.close(got, torch.zeros(3, dtype=torch.long), "the reach", exact=True)


@exercise.prop(
    1,
    "How near to 1 is the largest number below 1 that single precision has? Chapter 0 computed"
    " the logarithm of a softmax without the softmax.",
)
def open_gates(t: Trial) -> None:
    """gates that are as good as open are told apart"""
    share = t.integer(30, 60) / 100
    bias = torch.tensor([11.0, 14.0, 18.0, 22.0, 40.0]) + t.randn(5).clamp(-1, 1) / 2
    # Each reaches more than 10,000 steps, so that one more or less is nothing.
    got, want = t.values(t.call(bias, 1_000_000, share)), exercise.reference(bias, 1_000_000, share)
    t.close(got[0], want[0], "the share passed", note="after a million steps")
    steps = t.a_tensor(got[1], (5,), "the reach").double()
    t.expect(
        ((steps / want[1] - 1).abs() < 1e-4).all(),
        f"the reach is {steps.tolist()}, expected about {want[1].tolist()}",
    )
