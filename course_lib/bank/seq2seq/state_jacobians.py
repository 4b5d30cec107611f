from course_lib.bank.prelude import Exercise, Tensor, Trial, torch


def _states(t: Trial, steps: int, width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """States as a network has them: strictly between -1 and 1, on both sides of 0."""
    return (0.7 * t.randn(steps, width, dtype=dtype)).tanh()


exercise = Exercise(
    id="seq2seq.state_jacobians",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="01_gradients.html#seq2seq-reach",
    outcomes=("seq2seq.gradient",),
    example=lambda t: (_states(t, 5, 3), t.randn(3, 3)),
    forbidden=("autograd",),
    severe={
        "one_factor_too_many": "every matrix is wrong, the identity of the last one included",
        "sum_of_factors": "every matrix but the last has the identity added to it",
    },
)


@exercise.prop(
    2,
    "h' = tanh(U h + ...). Differentiate h'_i with respect to h_j: which state appears in it?",
)
def one_step(t: Trial) -> None:
    """one step back: a single factor"""
    width = t.integer(2, 5)
    t.same(_states(t, 2, width), t.randn(width, width))


@exercise.prop(1, "Three states: h_3 depends on h_2, and h_2 on h_1. Which factor is on the left?")
def several_steps(t: Trial) -> None:
    """several steps back: the product of the factors, in the order of the chain rule"""
    # The factors are the answer's own: whether they are right is asked above.
    width, steps = t.integer(3, 5), t.integer(3, 5)
    states, weight = _states(t, steps + 1, width), t.randn(width, width)
    product = torch.eye(width)
    for s in range(steps):
        pair = t.a_tensor(t.call(states[s : s + 2], weight), (2, width, width))
        product = pair[0].to(product) @ product
    t.expect(not torch.allclose(product, torch.eye(width)), "a step changes nothing")
    t.expect((product != 0).any(), "nothing is left after a few steps")
    got = t.a_tensor(t.call(states, weight), (steps + 1, width, width))
    t.close(got[0], product, "the product of the single factors")


@exercise.prop(0.5, "The product of no factors at all: what is it?")
def last(t: Trial) -> None:
    """the last state depends on itself by the identity"""
    width = t.integer(2, 4)
    t.same(_states(t, 1, width), t.randn(width, width), note="a single state")
    got = t.a_tensor(t.call(_states(t, 3, width), t.randn(width, width)), (3, width, width))
    t.close(got[-1], torch.eye(width), "the last matrix")


@exercise.prop(0.5, "Multiply the factors by hand for three states of one unit each.")
def numbers(t: Trial) -> None:
    """a state of width 1, where all matrices are numbers"""
    t.same(_states(t, t.integer(3, 6), 1), t.randn(1, 1))


@exercise.prop(0.5, "At h = 1 the tanh is flat. And which dtype does your identity have?")
def saturated(t: Trial) -> None:
    """a saturated unit passes nothing on, and long products stay exact in double precision"""
    states, weight = _states(t, 5, 3), t.randn(3, 3)
    after = t.integer(1, 3)
    states[after] = torch.tensor([1.0, -1.0, 1.0])
    got = t.a_tensor(t.call(states, weight), (5, 3, 3))
    t.expect((got[:after] == 0).all(), "something passes a step with all units saturated")
    t.expect((got[after:] != 0).any(), "nothing passes where no unit is saturated")
    turn = torch.linalg.qr(t.randn(4, 4, dtype=torch.float64)).Q
    states = 0.3 * _states(t, 60, 4, torch.float64)
    whole = t.a_tensor(t.call(states, 1.1 * turn), (60, 4, 4))
    late = t.a_tensor(t.call(states[30:], 1.1 * turn), (30, 4, 4))
    early = t.a_tensor(t.call(states[:31], 1.1 * turn), (31, 4, 4))
    product = late[0].double() @ early[0].double()
    t.close(whole[0], product, "60 steps, against 30 times 30", exact=True)


@exercise.prop(0.5, "Look for operations that end in an underscore, and for `*=` on an argument.")
def no_side_effect(t: Trial) -> None:
    """states and matrix are left as they were"""
    t.unchanged(_states(t, 4, 3), t.randn(3, 3))
