from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="senses.look_across",
    points=6,
    minutes=30,
    difficulty=3,
    chapter="19_looking.html#senses-fusion",
    outcomes=("senses.fusion",),
    forbidden=("attention",),
    example=lambda t: (
        t.randn(1, 3, 4),
        t.randn(1, 5, 4),
        torch.ones(1, 3, 5, dtype=torch.bool),
        torch.tensor(0.5),
    ),
)


def scene(t: Trial, *, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """Words, patches, and who may see which, nobody blind."""
    T, S, D = t.integer(3, 5), t.integer(5, 7), 4 * t.integer(1, 3)
    return t.randn(2, T, D, dtype=dtype), t.randn(2, S, D, dtype=dtype), t.keep_mask(2, T, S)


def found(t: Trial, x: Tensor, memory: Tensor, keep: Tensor, gate: float) -> Tensor:
    """What the answer adds to the words, with the factor taken out that its gate makes."""
    shape = x.shape
    # Words of 0 look at everything alike, and find ones everywhere.
    none, ones = torch.zeros_like(x), torch.ones_like(memory)
    factor = t.a_tensor(t.call(none, ones, torch.ones_like(keep), torch.tensor(gate)), shape)
    added = t.a_tensor(t.call(x, memory, keep, torch.tensor(gate)), shape) - x
    t.expect(bool((factor.abs() > 1e-3).all()), f"a gate of {gate:g} lets nothing through")
    return added / factor


@exercise.prop(1.5, "Queries are words, keys and values are patches. By what are scores divided?")
def values(t: Trial) -> None:
    """words find what they look for among the patches they may see, and it is added"""
    x, memory, keep = scene(t)
    for gate, mask, note in (
        (0.4, keep, "some patches hidden"),
        (1.0, torch.ones_like(keep), "none hidden"),
    ):
        want = t.want(x, memory, mask, torch.tensor(100.0)) - x
        t.close(found(t, x, memory, mask, gate), want, "what is found", note=note)


@exercise.prop(1, "Try a gate of 0: words must pass unchanged. Then -1, and then 3.")
def gates(t: Trial) -> None:
    """the gate is a tanh: 0 shuts it, below 0 it subtracts"""
    x, memory, keep = scene(t)
    # All patches alike: whatever the weights are, that is what is found.
    memory = memory[:, :1].expand_as(memory).contiguous()
    for gate in (0.0, -1.0, 3.0):
        t.same(x, memory, torch.ones_like(keep), torch.tensor(gate), note=f"gate {gate}")


@exercise.prop(1, "Its row of `keep` is empty. What does your softmax make of that row?")
def blind(t: Trial) -> None:
    """a word without any image passes unchanged"""
    x, memory, keep = scene(t)
    keep[0, 0] = False
    keep[1] = False
    got = t.a_tensor(t.call(x, memory, keep, torch.tensor(0.7)), x.shape)
    same = torch.equal(got[1], x[1]) and torch.equal(got[0, 0], x[0, 0])
    t.expect(same, "words that see nothing are not exactly what they were")
    t.expect(bool(got.isfinite().all()), "a word that sees something is not finite")
    t.expect(not torch.equal(got[0, 1:], x[0, 1:]), "words that see something find nothing")


@exercise.prop(0.5, "`memory` may be (B, 0, D). Which of your lines needs at least one key?")
def no_memory(t: Trial) -> None:
    """a memory of no patches at all is fine"""
    x, memory, keep = scene(t)
    t.same(x, memory[:, :0], keep[:, :, :0], torch.tensor(0.7), note="no patches")


@exercise.prop(0.5, "Does your fill value fit into a float16? Does exp overflow?")
def precision(t: Trial) -> None:
    """large scores do no harm, and half precision stays half"""
    x, memory, keep = scene(t)
    gate = torch.tensor(0.5)
    t.usual(x, memory, keep, gate)
    for sign in (1, -1):
        note = f"scores of 100 million with the sign of {sign}"
        t.same(sign * x.abs(), 1e8 * memory.abs(), keep, gate, note=note)
    low = t.call(x.half(), memory.half(), keep, gate.half())
    want, note = t.call(x, memory, keep, gate).half(), "float16, compared to float32"
    t.close(low, want, note=note, exact=True)


@exercise.prop(
    1, "Is anything taken out of the graph? And what is the slope of a row without a key?"
)
def gradients(t: Trial) -> None:
    """gradients are right and finite, also where nothing is seen"""
    x, memory, keep = scene(t, dtype=torch.float64)
    keep[0, 1] = False
    t.gradient(x, memory, keep, torch.tensor([0.6], dtype=torch.float64))


@exercise.prop(0.5, "`x += found` changes the caller's words.")
def no_side_effect(t: Trial) -> None:
    """words, patches and mask are left as they were"""
    x, memory, keep = scene(t)
    t.unchanged(x, memory, keep, torch.tensor(0.5))
