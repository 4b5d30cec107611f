from course_lib.bank.prelude import Exercise, F, Tensor, Trial, torch

exercise = Exercise(
    id="cheaper.correcting_state",
    points=6,
    minutes=20,
    difficulty=3,
    chapter="14_state.html#cheaper-state-rules",
    outcomes=("cheaper.online",),
    example=lambda t: (*drawn(t, 3), kept_of(t), *shares(t, 3)),
    returns=("the output", "the state"),
    severe={"all_written_then_read": "every output but the last knows the future"},
)


def drawn(
    t: Trial,
    T: int,
    lead: tuple[int, ...] = (),
    Dh: int = 4,
    Dv: int = 4,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys of length 1, and values."""
    q, k = (t.randn(*lead, T, Dh, dtype=dtype) for _ in range(2))
    return q, F.normalize(k, dim=-1), t.randn(*lead, T, Dv, dtype=dtype)


def shares(
    t: Trial, T: int, lead: tuple[int, ...] = (), dtype: torch.dtype = torch.float32
) -> tuple[Tensor, ...]:
    """What is kept and how far a correction goes, between 0.2 and 0.8."""
    return tuple(0.2 + 0.6 * t.randn(*lead, T, dtype=dtype).sigmoid() for _ in range(2))


def kept_of(
    t: Trial,
    lead: tuple[int, ...] = (),
    Dh: int = 4,
    Dv: int = 4,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """A state that something has been written into."""
    return t.randn(*lead, Dh, Dv, dtype=dtype)


def both(t: Trial, *args: object) -> list[Tensor]:
    """What the answer returns, as two tensors."""
    return t.parts(t.call(*args), *exercise.returns)


@exercise.prop(1, "Before you write: what does the state return for this key? That has to go.")
def overwritten(t: Trial) -> None:
    """with a rate of 1 a key returns its new value, whatever was there"""
    for keep in (1.0, 0.5):
        T = t.integer(2, 4)
        _, k, v = drawn(t, T)
        args = k, k, v, kept_of(t), torch.full((T,), keep), torch.ones(T)
        t.close(both(t, *args)[0], v, "the output", note=f"queries are the keys, {keep:g} is kept")


@exercise.prop(
    1,
    "A state returns 4 for a key whose value is 8, and the rate is 1/4. What does it return"
    " afterwards?",
)
def part_of_the_way(t: Trial) -> None:
    """a rate below 1 corrects part of the way"""
    T = t.integer(2, 5)
    _, rate = shares(t, T)
    args = *drawn(t, T), kept_of(t), torch.ones(T), rate
    t.close(both(t, *args)[0], t.want(*args)[0], "the output", note="all is kept")


@exercise.prop(1, "What must be subtracted is what the state returns *when* it is corrected.")
def fades_first(t: Trial) -> None:
    """first the state fades, then it is corrected"""
    for T in (1, t.integer(3, 6)):
        args = *drawn(t, T), kept_of(t), *shares(t, T)
        t.close(both(t, *args)[0], t.want(*args)[0], "the output", note=f"{T} tokens")


@exercise.prop(
    0.5, "Key (0, 1), value (3, 5, 7), an empty state, a rate of 1: which row is written?"
)
def state_back(t: Trial) -> None:
    """the state comes back: a row for each channel of a key, a column for each of a value"""
    args = *drawn(t, 3, (), 4, 2), kept_of(t, (), 4, 2), *shares(t, 3)
    t.close(both(t, *args)[1], t.want(*args)[1], "the state", note="keys of 4, values of 2")


@exercise.prop(0.5, "Hand what came back to the next call. What does that call start from?")
def in_pieces(t: Trial) -> None:
    """a text read in pieces comes out as it does in one"""
    inputs, state = (*drawn(t, 6), *shares(t, 6)), kept_of(t)
    # Against the answer's own reading at once: whether that is right is asked above.
    whole = t.a_tensor(both(t, *inputs[:3], state, *inputs[3:])[0], (6, 4), "the output")
    t.expect((whole[1:] - whole[:1]).abs().max() > 1e-3, "all tokens find the same")
    outs = []
    for piece in (slice(0, 2), slice(2, 3), slice(3, 6)):
        q, k, v, keep, rate = (x[piece] for x in inputs)
        out, state = both(t, q, k, v, state, keep, rate)
        outs.append(out)
    t.close(torch.cat(outs), whole, "the output, read in pieces")


@exercise.prop(1, "When the third token reads, what has been written into the state?")
def no_future(t: Trial) -> None:
    """no token learns anything of those that come after it"""
    (q, k, v), state, (keep, rate) = drawn(t, 5), kept_of(t), shares(t, 5)
    before = t.a_tensor(both(t, q, k, v, state, keep, rate)[0], (5, 4), "the output")
    # Another last query, key (of length 1 as before) and value.
    q, k, v = (torch.cat([x[:-1], by * x[-1:].flip(-1)]) for x, by in ((q, 1), (k, -1), (v, 2)))
    after = both(t, q, k, v, state, keep, rate)[0]
    t.close(
        after[:-1], before[:-1], "the output of those before the last", note="another last token"
    )


@exercise.prop(1, "Count axes from the end. Does anything write into the state that it was given?")
def the_rest(t: Trial) -> None:
    """other widths of keys and values, any axes in front; gradients; nothing is changed in place"""
    for lead in ((2,), (2, 3)):
        args = *drawn(t, 3, lead, 5, 2), kept_of(t, lead, 5, 2), *shares(t, 3, lead)
        many = both(t, *args)
        last = tuple(n - 1 for n in lead)
        alone = both(t, *(x[last] for x in args))
        for found, one, what in zip(many, alone, exercise.returns, strict=True):
            t.close(found[last], one, what, note=f"the last of {tuple(args[2].shape)}, and alone")
    double = torch.float64
    t.gradient(
        *drawn(t, 3, (), 3, 2, double), kept_of(t, (), 3, 2, double), *shares(t, 3, (), double)
    )
    t.unchanged(*drawn(t, 3), kept_of(t), *shares(t, 3))
