from typing import Any

from course_lib.bank.prelude import Exercise, Tensor, Trial, torch


def read(x, weight_ih, weight_hh, bias):
    """States (B, S, D) of a plain recurrent network that reads x (B, S, Dx) from left to right."""
    h = x.new_zeros(x.shape[0], weight_hh.shape[0])
    states = []
    for word in x.unbind(1):
        h = torch.tanh(word @ weight_ih.T + h @ weight_hh.T + bias)
        states.append(h)
    return torch.stack(states, dim=1)


def _direction(
    t: Trial, width_in: int, width: int, dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    return [
        t.randn(width, width_in, dtype=dtype),
        t.randn(width, width, dtype=dtype) / 2,
        t.randn(width, dtype=dtype),
    ]


def _two(
    t: Trial, width_in: int = 3, width: int = 4, dtype: torch.dtype = torch.float32
) -> tuple[list[Tensor], list[Tensor]]:
    return _direction(t, width_in, width, dtype), _direction(t, width_in, width, dtype)


def _pair(t: Trial, *args: Any) -> list[Tensor]:
    return t.parts(t.call(*args), "the memory", "the last states")


exercise = Exercise(
    id="seq2seq.read_both_ways",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="01_seq2seq.html#seq2seq-translate",
    outcomes=("seq2seq.cells",),
    returns=("the memory", "the last states"),
    given=(read,),
    example=lambda t: (t.randn(2, 5, 3), torch.tensor([5, 3]), *_two(t)),
)


@exercise.prop(
    1.5, "What has the backward direction read when it is at the first word of the sentence?"
)
def without_padding(t: Trial) -> None:
    """without padding: the states of both directions, side by side at their words"""
    words = t.integer(3, 6)
    args = t.randn(2, words, 3), torch.tensor([words, words]), *_two(t)
    t.close(_pair(t, *args)[0], t.want(*args)[0], "the memory")


@exercise.prop(1, "Which words does the backward direction read first in a short sentence?")
def padding(t: Trial) -> None:
    """padding changes nothing at the words of a sentence"""
    # Against the answer's own reading of each sentence alone.
    lengths = torch.tensor([6, t.integer(2, 4), 1])
    x = t.randn(3, 6, 3)
    words = torch.arange(6) < lengths[:, None]
    x = torch.where(words[..., None], x, 5.0)
    parameters = _two(t)
    memory = t.a_tensor(_pair(t, x, lengths, *parameters)[0], (3, 6, 8), "the memory")
    for row, length in enumerate(lengths.tolist()):
        alone = _pair(t, x[row : row + 1, :length], lengths[row : row + 1], *parameters)[0]
        t.expect((alone != 0).any(), "a word has no state")
        t.close(memory[row : row + 1, :length], alone, "the memory at the words")


@exercise.prop(
    0.5,
    "Whoever looks back at the memory should find nothing there that looks like a word. And how"
    " wide is it, if even the longest sentence ends before the last place of x?",
)
def after_the_end(t: Trial) -> None:
    """after the end of a sentence the memory is exactly 0, up to the width of x"""
    short = t.integer(1, 3)
    for lengths in (torch.tensor([short, 5]), torch.tensor([short, 3])):
        words = torch.arange(5) < lengths[:, None]
        # 0 times NaN is not 0.
        x = t.randn(2, 5, 3).masked_fill(~words[..., None], torch.nan)
        memory = t.a_tensor(_pair(t, x, lengths, *_two(t))[0], (2, 5, 8), "memory")
        t.expect((memory[~words] == 0).all(), "something is left after the last word")
        t.expect((memory[words] != 0).all(), "a word has no state")


@exercise.prop(
    1.5,
    "Where does the forward direction end, and where does the backward one? Not at the same word.",
)
def last_states(t: Trial) -> None:
    """the last state of each direction: after its last real word"""
    for lengths in ([4, 4], [2, 5], [5, 1]):
        args = t.randn(2, max(lengths), 3), torch.tensor(lengths), *_two(t)
        t.close(_pair(t, *args)[1], t.want(*args)[1], "the last states", note=f"lengths {lengths}")


@exercise.prop(
    0.5,
    "Padding that is multiplied by 0 has still been read. Is yours? And do you write into x?",
)
def gradients(t: Trial) -> None:
    """gradients reach the words, and never the padding; nothing is changed in place"""
    f64 = torch.float64
    lengths = torch.tensor([2, 4])
    x = t.randn(2, 4, 2, dtype=f64)
    parameters = _two(t, 2, 2, f64)
    # Parameters come in lists; the words are what is differentiated here.
    t.gradient(x, lengths, *parameters)
    memory = t.a_tensor(t.call(x, lengths, *parameters)[0], (2, 4, 4), "the memory")
    last = t.randn(2, 4, dtype=f64)
    gradient = t.vjp((x, lengths, *parameters), [t.randn(*memory.shape, dtype=f64), last])
    words = t.a_tensor(gradient.inputs[0], x.shape, "the gradient of the words")
    t.expect((words[0, 2:] == 0).all(), "a gradient reaches the padding")
    t.unchanged(t.randn(2, 4, 3), lengths, *_two(t))


def colleagues_read_both_ways(x, lengths, forward, backward):
    """A reversed input is all that the other direction needs."""
    ahead = read(x, *forward)
    back = read(x.flip(1), *backward)
    memory = torch.cat([ahead, back], dim=-1)
    return memory, memory[:, -1]
