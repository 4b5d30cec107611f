import itertools

from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def _arguments(
    t: Trial,
    cell: str,
    batch: int = 3,
    width: int = 4,
    width_in: int = 5,
    dtype: torch.dtype = torch.float32,
) -> tuple[str, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    rows = GATES[cell] * width
    return (
        cell,
        t.randn(batch, width_in, dtype=dtype),
        t.randn(2 if cell == "lstm" else 1, batch, width, dtype=dtype),
        t.randn(rows, width_in, dtype=dtype),
        t.randn(rows, width, dtype=dtype),
        t.randn(rows, dtype=dtype),
        t.randn(rows, dtype=dtype),
    )


exercise = Exercise(
    id="seq2seq.recurrent_step",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="01_gradients.html#seq2seq-gates",
    outcomes=("seq2seq.cells",),
    example=lambda t: _arguments(t, "gru"),
    forbidden=("recurrence",),
)


@exercise.prop(
    0.5,
    "One matrix for the input, one for the state, two biases that are added, one tanh. The result"
    " keeps the state's leading axis.",
)
def plain(t: Trial) -> None:
    """a step of the plain network, `"rnn"`"""
    *arguments, bias = _arguments(t, "rnn")
    t.same(*arguments, torch.zeros_like(bias), note="rnn")


@exercise.prop(
    1.5, "Set all weights and biases to 0: what must come out? Then open one gate by its bias."
)
def gated(t: Trial) -> None:
    """a step of the GRU, `"gru"`"""
    t.same(*_arguments(t, "gru", width=t.integer(3, 6)), note="gru")


@exercise.prop(1.5, "Compute the new cell first. Which block of D rows makes which gate?")
def with_cell(t: Trial) -> None:
    """a step of the LSTM, `"lstm"`: state and cell"""
    *arguments, bias = _arguments(t, "lstm", width=t.integer(3, 6))
    t.same(*arguments, torch.zeros_like(bias), note="lstm")


@exercise.prop(
    0.5,
    "Count axes from the end, and cut the rows by the state's width, not by the input's. An input"
    " of 0 must count as no input.",
)
def widths(t: Trial) -> None:
    """sentences don't see each other, and inputs may be narrower or wider than the state"""
    pairs = (t.integer(2, 3), t.integer(6, 8)), (t.integer(5, 6), 3)
    for cell, (width, wide) in itertools.product(GATES, pairs):
        _, x, state, weight, *rest = _arguments(t, cell, 2, width, wide)
        both = t.a_tensor(t.call(cell, x, state, weight, *rest), state.shape)
        t.expect((both[:, 0] != both[:, 1]).any(), "two sentences come out alike")
        alone = t.call(cell, x[1:], state[:, 1:], weight, *rest)
        t.close(alone, both[:, 1:], "the second sentence alone", note=cell)
        x[:, 1:] = 0
        narrow = t.call(cell, x[:, :1], state, weight[:, :1], *rest)
        all_of_it = t.call(cell, x, state, weight, *rest)
        t.close(narrow, all_of_it, note=f"{cell}, inputs of width 1 and the same with zeros")


@exercise.prop(0.5, "Is anything detached, or written into the state in place?")
def gradients(t: Trial) -> None:
    """gradients reach the input, the state and all parameters"""
    for cell in GATES:
        t.gradient(*_arguments(t, cell, 2, 3, 2, torch.float64))


@exercise.prop(
    0.5, "Whoever calls you may need the state before the step again: a beam search does."
)
def no_side_effect(t: Trial) -> None:
    """the arguments are left as they were"""
    for cell in GATES:
        t.unchanged(*_arguments(t, cell))
