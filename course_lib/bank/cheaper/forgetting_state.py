from course_lib.bank.prelude import Exercise, F, Tensor, Trial, torch
from grader.checks.protocol import Fixture, normal


def features(x):
    """Positive features, as many as channels."""
    return F.elu(x) + 1


exercise = Exercise(
    id="cheaper.forgetting_state",
    points=6,
    minutes=20,
    difficulty=3,
    chapter="14_state.html#cheaper-state-rules",
    outcomes=("cheaper.online",),
    example=lambda t: (*drawn(t, 3), *kept_of(t), 0.5),
    given=(features,),
    returns=("the output", "the state", "the total"),
)


def drawn(
    t: Trial,
    T: int,
    lead: tuple[int, ...] = (),
    Dh: int = 4,
    Dv: int = 4,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, ...]:
    """Queries, keys and values."""
    shapes = (*lead, T, Dh), (*lead, T, Dh), (*lead, T, Dv)
    return tuple(t.randn(*shape, dtype=dtype) for shape in shapes)


def nothing_yet(lead: tuple[int, ...] = (), Dh: int = 4, Dv: int = 4) -> tuple[Tensor, Tensor]:
    """State and total before the first token."""
    return torch.zeros(*lead, Dh, Dv), torch.zeros(*lead, Dh)


def kept_of(
    t: Trial,
    lead: tuple[int, ...] = (),
    Dh: int = 4,
    Dv: int = 4,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """State and total after three tokens."""
    _, k, v = drawn(t, 3, lead, Dh, Dv, dtype)
    phi = features(k)
    return phi.mT @ v, phi.sum(-2)


@exercise.prop(
    0.5, "What are the weights of one query divided by? Follow a single token on an empty state."
)
def averages(t: Trial) -> None:
    """where all values are alike, the output is that value"""
    for T in (1, t.integer(3, 5)):
        q, k, _ = drawn(t, T)
        want = t.randn(1, 4).expand(T, 4).contiguous()
        out, state, _ = t.parts(t.call(q, k, want, *nothing_yet(), 1.0))
        t.expect(state.any(), "the state that came back is 0: nothing has been written")
        t.close(out, want, "the output", note=f"{T} tokens on an empty state")


@exercise.prop(1, "Write out the weights of the second of two tokens. Which features meet in each?")
def as_a_table(t: Trial) -> None:
    """without a decay it is the table of weights with a causal mask"""
    for T in (2, t.integer(4, 7)):
        args = *drawn(t, T), *nothing_yet()
        note = f"{T} tokens on an empty state, no decay given"
        t.close(t.parts(t.call(*args))[0], t.want(*args)[0], "the output", note=note)


@exercise.prop(
    1,
    "A token that was written three steps ago: how often has it been multiplied by the decay, and"
    " where are its features used besides the numerator?",
)
def fading(t: Trial) -> None:
    """with a decay older tokens count less, those of earlier calls too"""
    for decay in (0.5, t.integer(80, 95) / 100):
        args = *drawn(t, t.integer(4, 7)), *nothing_yet(), decay
        t.close(t.parts(t.call(*args))[0], t.want(*args)[0], "the output", note=f"decay {decay:g}")
        args = *drawn(t, 3), *kept_of(t), decay
        note = f"decay {decay:g}, on a state of three tokens"
        t.close(t.parts(t.call(*args))[0], t.want(*args)[0], "the output", note=note)


@exercise.prop(
    0.5,
    "One key (1, 2) and one value (3, 5), as features already: which four numbers, and where?"
    " And by what has the newest token been multiplied when the call ends?",
)
def state_back(t: Trial) -> None:
    """the state comes back: a row for each feature, a column for each channel of the values"""
    for decay in (1.0, 0.5):
        args = *drawn(t, 3), *kept_of(t), decay
        t.close(t.parts(t.call(*args))[1], t.want(*args)[1], "the state", note=f"decay {decay:g}")


@exercise.prop(
    0.5, "The weights of a query sum to its features times the total. What must fade in it?"
)
def total_back(t: Trial) -> None:
    """the total comes back: one number for each feature"""
    for decay in (1.0, 0.5):
        args = *drawn(t, 3), *kept_of(t), decay
        t.close(t.parts(t.call(*args))[2], t.want(*args)[2], "the total", note=f"decay {decay:g}")


@exercise.prop(0.5, "Hand what came back to the next call. What does that call start from?")
def in_pieces(t: Trial) -> None:
    """a text read in pieces comes out as it does in one"""
    q, k, v = drawn(t, 6)
    for decay in (1.0, 0.7):
        seen = kept_of(t)
        # Against the answer's own reading at once: whether that is right is asked above.
        whole = t.a_tensor(t.parts(t.call(q, k, v, *seen, decay))[0], (6, 4), "the output")
        t.expect((whole[1:] - whole[:1]).abs().max() > 1e-3, "all tokens find the same")
        outs = []
        for a, b, c in zip(*(x.split([2, 1, 3]) for x in (q, k, v)), strict=True):
            out, *rest = t.parts(t.call(a, b, c, *seen, decay))
            seen = rest[0], rest[1]
            outs.append(out)
        t.close(torch.cat(outs), whole, "the output, read in pieces", note=f"decay {decay:g}")


@exercise.prop(0.5, "When the third token reads, what has been written into the state?")
def no_future(t: Trial) -> None:
    """no token learns anything of those that come after it"""
    q, k, v = drawn(t, 5)
    seen = kept_of(t)
    before = t.a_tensor(t.parts(t.call(q, k, v, *seen, 0.9))[0], (5, 4), "the output")
    # The value stays: a function that hands on the values would see nothing of this.
    q, k = (torch.cat([x[:-1], -2 * x[-1:]]) for x in (q, k))
    after = t.parts(t.call(q, k, v, *seen, 0.9))[0]
    t.close(after[:-1], before[:-1], "the output of those before the last", note="another last key")
    t.expect((after[-1] - before[-1]).abs().max() > 1e-4, "the last output has not changed")


@exercise.prop(
    0.5, "Count axes from the end. Does anything write into the state that it was given?"
)
def the_rest(t: Trial) -> None:
    """other widths of keys and values, any axes in front; gradients; nothing is changed in place"""
    for lead in ((2,), (2, 3)):
        args = *drawn(t, 3, lead, 5, 2), *kept_of(t, lead, 5, 2)
        both = t.parts(t.call(*args, 0.8))
        last = tuple(n - 1 for n in lead)
        alone = t.parts(t.call(*(x[last] for x in args), 0.8))
        for found, one, what in zip(both, alone, exercise.returns, strict=True):
            t.close(found[last], one, what, note=f"the last of {tuple(args[2].shape)}, and alone")
    double = torch.float64
    t.gradient(*drawn(t, 3, (), 3, 2, double), *kept_of(t, (), 3, 2, double), 0.8)
    t.unchanged(*drawn(t, 3), *kept_of(t), 0.8)


@exercise.prop(1, "How large is the largest tensor that you make, and does it grow with the text?")
def long_text(t: Trial) -> None:
    """16,000 tokens cost no table of 16,000 x 16,000"""
    T, last = 16_000, 200
    seeds = [t.integer(0, 10**6) for _ in range(3)]
    q, k, v = (normal([1, T, 4], seed) for seed in seeds)
    # With this decay only the last tokens count, and the answer's own reading of them is asked for.
    places, want = t.slices((1, 1), (T, 20)), []
    for _, at in places:
        near = slice(max(at.stop - last, 0), at.stop)
        short = t.parts(t.call(*(x[:, near] for x in (q, k, v)), *nothing_yet((1,)), 0.8))
        out = t.a_tensor(short[0], v[:, near].shape, "the output")[:, -20:]
        t.expect(bool(out.any()), "all outputs are 0")
        want.append([out, short[1][:, :0], short[2][:, :0]])
    t.size_probe(
        *(Fixture("normal", {"shape": [1, T, 4], "seed": seed}) for seed in seeds),
        *nothing_yet((1,)),
        0.8,
        want=want,
        keep=places,
        memory=100,  # all weights: 977 MiB
        cpu=20,
        why="16,000 tokens",
    )
