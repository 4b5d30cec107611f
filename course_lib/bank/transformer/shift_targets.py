from typing import Any

from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="transformer.shift_targets",
    points=4,
    minutes=10,
    difficulty=1,
    chapter="09_transformer.html#transformer-shift",
    outcomes=("transformer.train",),
    example=lambda t: ([[5, 6, 7], [8, 9]], 1, 2, 0),
    returns=("the inputs", "the labels"),
)


def sentences(t: Trial, *lengths: int) -> list[list[int]]:
    """Sentences of these lengths whose words are numbered from 10."""
    return [t.integers(10, 60, length).tolist() for length in lengths]


@exercise.prop(1, "For the words 5, 6, 7, write two rows: the inputs, and below, the labels.")
def given(t: Trial) -> None:
    """the inputs: the start token and all words"""
    n = t.integer(2, 5)
    cases = (sentences(t, n, n), 1, 2, 0), (sentences(t, 1), t.integer(3, 5), 9, 0)
    for case in cases:
        t.close(t.parts(t.call(*case))[0], t.want(*case)[0], "the inputs")


@exercise.prop(
    1,
    "Which words may a decoder have read when it predicts the third one? And what must it"
    " say after the last word?",
)
def asked(t: Trial) -> None:
    """the labels: all words, each one place before it is an input, and then the end token"""
    n = t.integer(3, 6)
    cases = (sentences(t, n, n), 1, 2, 0), (sentences(t, 1), 3, t.integer(6, 9), 0)
    for case in cases:
        t.close(t.parts(t.call(*case))[1], t.want(*case)[1], "the labels")


@exercise.prop(1, "`F.cross_entropy` leaves out places labelled -100. Which should it leave out?")
def filled_up(t: Trial) -> None:
    """short sentences are filled up on the right, and there is no label there"""
    # Labels before the filling are asked above.
    lengths = torch.tensor([t.integer(4, 6), 1, t.integer(2, 3)])
    for pad, ignore in ((0, -100), (t.integer(3, 9), -t.integer(1, 9))):
        case = sentences(t, *lengths.tolist()), 1, 2, pad, ignore
        filling = torch.arange(int(lengths.max()) + 1) > lengths[:, None]
        for got, want, what in zip(
            t.parts(t.call(*case)), t.want(*case), exercise.returns, strict=True
        ):
            t.a_tensor(got, want.shape, what)
            note = f"after the sentences, pad = {pad}, ignore = {ignore}"
            t.close(got[filling], want[filling], what, note=note)
            t.expect((got[~filling] >= 1).any(), f"{what} are filling and nothing else")


@exercise.prop(
    0.5, "Many models pad with their end token. Can you then tell by its number what to leave out?"
)
def one_number_for_both(t: Trial) -> None:
    """the end token, or a word, may have the number of the padding"""
    cases = (sentences(t, 4, t.integer(1, 3)), 1, 2, 2), ([[7, 3, 7], [3]], 1, 2, 3)
    for case in cases:
        places = torch.tensor([len(words) + 1 for words in case[0]])
        labels = t.parts(t.call(*case))[1]
        t.a_tensor(labels, t.want(*case)[1].shape, "the labels")
        asked = (labels != -100).sum(dim=1)
        t.close(asked, places, "the number of places with a label", note=f"pad = {case[3]}")


@exercise.prop(
    0.5,
    "Nothing is to be written. How does the decoder learn to stop at once? And does `insert` or"
    " `+=` change a sentence that belongs to your caller?",
)
def no_words(t: Trial) -> None:
    """an empty sentence has one label, its end; the lists are left as they were"""
    lists: Any
    for lists in ([[], *sentences(t, t.integer(1, 3))], [[]]):
        labels = t.parts(t.call(lists, 1, 2, 0))[1]
        t.close(labels[:1], t.want(lists, 1, 2, 0)[1][:1], "the labels of no words")
    lists = sentences(t, 2, 3)
    t.parts(t.call(lists, 1, 2, 0))
    after = t.reply(lists, 1, 2, 0).after
    t.expect(after[0] == lists, "the sentences are not what they were before the call")
