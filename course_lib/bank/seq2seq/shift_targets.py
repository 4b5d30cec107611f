"""Exercise ``seq2seq.shift_targets``."""

from typing import Any

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(sentences: list[list[int]], bos: int, eos: int, pad: int) -> tuple[Tensor, Tensor]:
    """What goes into a decoder, and what is asked of it."""
    width = max(map(len, sentences)) + 1
    going_in = torch.full((len(sentences), width), pad)
    wanted = going_in.clone()
    for row, words in enumerate(sentences):
        going_in[row, : len(words) + 1] = torch.tensor([bos, *words])
        wanted[row, : len(words) + 1] = torch.tensor([*words, eos])
    return going_in, wanted


def _sentences(t: Trial, *lengths: int) -> list[list[int]]:
    return [t.integers(10, 60, n).tolist() for n in lengths]


def _same_input(
    t: Trial, sentences: list[list[int]], bos: int, eos: int, pad: int, note: str
) -> list[Tensor]:
    """Expect the right tokens to go in; whether an end follows the last word is not asked."""
    got = t.parts(t.call(sentences, bos, eos, pad), *exercise.returns)
    want = reference(sentences, bos, eos, pad)[0]
    going_in = t.a_tensor(got[0], want.shape, "what goes in").clone()
    for row, words in enumerate(sentences):
        behind = going_in[row, len(words) + 1 : len(words) + 2]
        behind[behind == eos] = pad
    t.close(going_in, want, "what goes in", note=note)
    return got


exercise = Exercise(
    id="seq2seq.shift_targets",
    function="shift_targets",
    reference=reference,
    points=3,
    minutes=10,
    difficulty=2,
    chapter="01_bottleneck.html#seq2seq-translate",
    outcomes=("seq2seq.forcing",),
    returns=("what goes in", "what is asked for"),
    example=lambda t: ([[11, 12, 13], [14]], 1, 2, 0),
)


@exercise.prop(
    "what goes in: the start and all words, then padding on the right",
    points=1,
    hint="Write both rows below each other for three words. The model stands at one place and is"
    " asked for the next.",
)
def goes_in(t: Trial) -> None:
    for lengths in ((t.integer(3, 6),), (t.integer(2, 3), 5, 1), (4, 4, 2)):
        sentences = _sentences(t, *lengths)
        _same_input(t, sentences, 1, 2, 0, note=f"sentences of {lengths} words")


@exercise.prop(
    "what is asked for: all words and the end, then padding on the right",
    points=1,
    hint="Where does the end token of a *short* sentence stand: after its words, or after its"
    " padding? And what is asked after it?",
)
def is_asked(t: Trial) -> None:
    for lengths in ((t.integer(3, 6),), (t.integer(2, 3), 5, 1), (4, 4, 2)):
        sentences = _sentences(t, *lengths)
        _, wanted = t.parts(t.call(sentences, 1, 2, 0), *exercise.returns)
        want = reference(sentences, 1, 2, 0)[1]
        t.close(wanted, want, note=f"sentences of {lengths} words")


@exercise.prop(
    "any ids for start, end and padding",
    points=0.5,
    hint="Is there a 0, 1 or 2 in your code that should be an argument?",
)
def other_ids(t: Trial) -> None:
    # Against the answer's own tables: whether these are right is asked above.
    sentences = _sentences(t, 2, 4)
    ids = 70 + t.integer(0, 9), 80 + t.integer(0, 9), 90 + t.integer(0, 9)
    small = t.parts(t.call(sentences, 1, 2, 0), *exercise.returns)
    large = t.parts(t.call(sentences, *ids), *exercise.returns)
    for before, after, what in zip(small, large, exercise.returns, strict=True):
        moved = before.clone()
        for old, new in zip((1, 2, 0), ids, strict=True):
            moved[before == old] = new
        t.expect((moved != before).any(), f"{what} holds neither start, end nor padding")
        t.close(after, moved, what, note=f"bos, eos, pad = {ids}")


@exercise.prop(
    "an empty sentence: the end is asked for right after the start; the lists stay as they are",
    points=0.5,
    hint="How many places does a sentence of no words take? And does `insert` or `+=` change a"
    " sentence that belongs to your caller?",
)
def empty(t: Trial) -> None:
    sentences: Any
    for sentences in ([[]], [[], _sentences(t, 2)[0]]):
        got = _same_input(t, sentences, 1, 2, 0, note="an empty sentence")
        first = got[1][0, :1]
        t.close(first, torch.tensor([2]), "what is asked first of an empty sentence", exact=True)
    sentences = _sentences(t, 3, 1)
    after = t.reply(sentences, 1, 2, 0).after
    t.expect(after[0] == sentences, "the sentences are not what they were before the call")


@exercise.mistake("What is the model shown at the very place where it is asked for a word?")
def unshifted(sentences, bos, eos, pad):
    """What goes in is what is asked for."""
    width = max(map(len, sentences)) + 1
    rows = [[*words, eos] + [pad] * (width - len(words) - 1) for words in sentences]
    return torch.tensor(rows), torch.tensor(rows)


@exercise.mistake("At the first place the model has seen nothing but the start. Asked for what?")
def shifted_the_other_way(sentences, bos, eos, pad):
    """The targets begin one place earlier, with the start token, and the inputs with the words."""
    width = max(map(len, sentences)) + 1
    first = [[bos, *words] + [pad] * (width - len(words) - 1) for words in sentences]
    second = [[*words, eos] + [pad] * (width - len(words) - 1) for words in sentences]
    return torch.tensor(second), torch.tensor(first)


@exercise.mistake("Look at the shortest sentence of your batch: what is asked after its last word?")
def end_after_the_padding(sentences, bos, eos, pad):
    """The end token stands at the end of the row."""
    width = max(map(len, sentences))
    padded = [words + [pad] * (width - len(words)) for words in sentences]
    return torch.tensor([[bos, *p] for p in padded]), torch.tensor([[*p, eos] for p in padded])


@exercise.alternative
def end_goes_in(sentences, bos, eos, pad):
    """One padded tensor without its last column goes in, end tokens of short sentences and all."""
    width = max(map(len, sentences)) + 2
    rows = [[bos, *words, eos] + [pad] * (width - len(words) - 2) for words in sentences]
    return torch.tensor(rows)[:, :-1], torch.tensor(rows)[:, 1:]


@exercise.mistake("A loss ignores what equals `pad`. What is asked of the model after an end?")
def ends_for_padding(sentences, bos, eos, pad):
    """After the end come more ends."""
    width = max(map(len, sentences)) + 1
    first = [[bos, *words] + [pad] * (width - len(words) - 1) for words in sentences]
    second = [[*words] + [eos] * (width - len(words)) for words in sentences]
    return torch.tensor(first), torch.tensor(second)


@exercise.mistake("Call it with a padding id of 90 and look.")
def zeros_for_padding(sentences, bos, eos, pad):
    """Padding is 0."""
    width = max(map(len, sentences)) + 1
    first, second = torch.zeros(2, len(sentences), width, dtype=torch.long)
    for row, words in enumerate(sentences):
        first[row, : len(words) + 1] = torch.tensor([bos, *words])
        second[row, : len(words) + 1] = torch.tensor([*words, eos])
    return first, second


@exercise.mistake("Which word does a decoder read first in your short rows?")
def padded_on_the_left(sentences, bos, eos, pad):
    """All sentences should end at the same place, so padding comes first."""
    width = max(map(len, sentences)) + 1
    first = [[pad] * (width - len(words) - 1) + [bos, *words] for words in sentences]
    second = [[pad] * (width - len(words) - 1) + [*words, eos] for words in sentences]
    return torch.tensor(first), torch.tensor(second)


@exercise.alternative
def torch_pads(sentences, bos, eos, pad):
    """Lets torch pad both lists of rows, and warns."""
    import warnings

    from torch.nn.utils.rnn import pad_sequence

    warnings.warn("padded by torch", stacklevel=1)
    first = [torch.tensor([bos] + list(words)) for words in sentences]
    second = [torch.tensor(list(words) + [eos]) for words in sentences]
    return pad_sequence(first, True, pad), pad_sequence(second, True, pad)


@exercise.alternative
def by_masks(sentences, bos, eos, pad):
    """Fills one long vector and tells by lengths what each place holds."""
    lengths = torch.tensor([len(words) for words in sentences])
    places = torch.arange(int(lengths.max()) + 1).expand(len(sentences), -1)
    flat = torch.tensor([word for words in sentences for word in words], dtype=torch.long)
    wanted = torch.full(places.shape, pad)
    wanted[places < lengths[:, None]] = flat
    going_in = wanted.roll(1, dims=1)
    going_in[:, 0] = bos
    return going_in, wanted.masked_fill(places == lengths[:, None], eos)
