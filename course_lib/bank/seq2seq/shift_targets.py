from typing import Any

from course_lib.bank.prelude import Exercise, Tensor, Trial, torch


def _sentences(t: Trial, *lengths: int) -> list[list[int]]:
    return [t.integers(10, 60, n).tolist() for n in lengths]


def _same_input(
    t: Trial, sentences: list[list[int]], bos: int, eos: int, pad: int, note: str
) -> list[Tensor]:
    """Expect the right tokens to go in; whether an end follows the last word is not asked."""
    got = t.parts(t.call(sentences, bos, eos, pad))
    want = exercise.reference(sentences, bos, eos, pad)[0]
    going_in = t.a_tensor(got[0], want.shape, "what goes in").clone()
    for row, words in enumerate(sentences):
        behind = going_in[row, len(words) + 1 : len(words) + 2]
        behind[behind == eos] = pad
    t.close(going_in, want, "the inputs", note=note)
    return got


exercise = Exercise(
    id="seq2seq.shift_targets",
    points=3,
    minutes=10,
    difficulty=2,
    chapter="01_bottleneck.html#seq2seq-forcing",
    outcomes=("seq2seq.forcing",),
    returns=("the inputs", "the targets"),
    example=lambda t: ([[11, 12, 13], [14]], 1, 2, 0),
)


@exercise.prop(
    1,
    "Write both rows below each other for three words. The model is at one place and is asked"
    " for the next.",
)
def goes_in(t: Trial) -> None:
    """the inputs: the start and all words, then padding on the right"""
    for lengths in ((t.integer(3, 6),), (t.integer(2, 3), 5, 1), (4, 4, 2)):
        sentences = _sentences(t, *lengths)
        _same_input(t, sentences, 1, 2, 0, note=f"sentences of {lengths} words")


@exercise.prop(
    1,
    "Where is the end token of a *short* sentence: after its words, or after its padding?"
    " Which targets follow it?",
)
def is_asked(t: Trial) -> None:
    """the targets: all words and the end, then padding on the right"""
    for lengths in ((t.integer(3, 6),), (t.integer(2, 3), 5, 1), (4, 4, 2)):
        sentences = _sentences(t, *lengths)
        _, wanted = t.parts(t.call(sentences, 1, 2, 0))
        want = exercise.reference(sentences, 1, 2, 0)[1]
        t.close(wanted, want, note=f"sentences of {lengths} words")


@exercise.prop(0.5, "Is there a 0, 1 or 2 in your code that should be an argument?")
def other_ids(t: Trial) -> None:
    """any ids for start, end and padding"""
    # Against the answer's own tables: whether these are right is asked above.
    sentences = _sentences(t, 2, 4)
    ids = 70 + t.integer(0, 9), 80 + t.integer(0, 9), 90 + t.integer(0, 9)
    small = t.parts(t.call(sentences, 1, 2, 0))
    large = t.parts(t.call(sentences, *ids))
    for before, after, what in zip(small, large, exercise.returns, strict=True):
        moved = before.clone()
        for old, new in zip((1, 2, 0), ids, strict=True):
            moved[before == old] = new
        t.expect((moved != before).any(), f"{what} holds neither start, end nor padding")
        t.close(after, moved, what, note=f"bos, eos, pad = {ids}")


@exercise.prop(
    0.5,
    "How many places does a sentence of no words take? And does `insert` or `+=` change a"
    " sentence that belongs to your caller?",
)
def empty(t: Trial) -> None:
    """an empty sentence: the end is the target right after the start; the lists stay as they are"""
    sentences: Any
    for sentences in ([[]], [[], _sentences(t, 2)[0]]):
        got = _same_input(t, sentences, 1, 2, 0, note="an empty sentence")
        first = got[1][0, :1]
        t.close(first, torch.tensor([2]), "the first target of an empty sentence", exact=True)
    sentences = _sentences(t, 3, 1)
    after = t.reply(sentences, 1, 2, 0).after
    t.expect(after[0] == sentences, "the sentences are not what they were before the call")
