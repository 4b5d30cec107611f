"""Exercise ``seq2seq.greedy_write``."""

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.decoding import greedy

BOS, EOS, PAD = 1, 2, 0


def next_word(tokens, state, decoder):
    """Scores (B, V) of the next words and the next state (B, D), given the last words (B,)."""
    words = decoder["embedding"][tokens]
    state = torch.tanh(words + state @ decoder["weight"].T)
    return state @ decoder["out"].T, state


def reference(
    state: Tensor, decoder: dict[str, Tensor], bos: int, eos: int, pad: int, max_len: int
) -> Tensor:
    """The library's greedy decoding of the given decoder."""

    def step(tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        scores, state = next_word(tokens, state, decoder)
        return scores.log_softmax(-1), state

    start = torch.full((len(state),), bos)
    return greedy(step, start, state, max_len=max_len, end=eos, pad=pad).tokens


def _decoder(t: Trial, words: int, width: int) -> dict[str, Tensor]:
    return {
        "embedding": t.randn(words, width),
        "weight": t.randn(width, width),
        "out": t.randn(words, width),
    }


def _sample(
    t: Trial, lengths: list[int], max_len: int, ids: tuple[int, int, int] = (BOS, EOS, PAD)
) -> tuple[Tensor, dict[str, Tensor], int, int, int, int]:
    """A random decoder, and states from which it writes sentences of these lengths, ends included.

    No choice of a word is a near tie, and no sentence contains the start or the padding.
    """
    bos, eos, pad = ids
    for _ in range(1000):
        states, decoder = t.randn(200, 5), _decoder(t, 8, 5)
        state, last, good = states, torch.full((200,), bos), torch.ones(200).bool()
        columns = [torch.zeros(200).bool()]
        for _ in range(max(lengths)):
            scores, state = next_word(last, state, decoder)
            top = scores.topk(2)
            last = top.indices[:, 0]
            going_on = ~torch.stack(columns).any(0)
            fair = (top.values[:, 0] - top.values[:, 1] > 1e-3) & (last != bos) & (last != pad)
            good &= fair | ~going_on
            columns.append(last == eos)
        ended = torch.stack(columns[1:], 1).int()
        wrote = torch.where(ended.any(1) & good, ended.argmax(1) + 1, -1).tolist()
        if set(lengths) <= set(wrote):
            chosen = states[[wrote.index(n) for n in lengths]]
            return chosen, decoder, bos, eos, pad, max_len
    raise AssertionError("no decoder in a thousand writes sentences of these lengths")


exercise = Exercise(
    id="seq2seq.greedy_write",
    function="greedy_write",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=3,
    chapter="01_seq2seq.html#seq2seq-translate",
    outcomes=("seq2seq.forcing",),
    given=(next_word,),
    example=lambda t: (t.randn(2, 5), _decoder(t, 8, 5), BOS, EOS, PAD, 6),
)


@exercise.prop(
    "one sentence: its words, the end token last, and nothing after it",
    points=1.5,
    hint="Which word goes in first, and which one at every later step? And what else has changed?",
)
def one_sentence(t: Trial) -> None:
    for length in (3, t.integer(4, 6)):
        t.same(*_sample(t, [length], 12), dtype="exact")


@exercise.prop(
    "a batch: padding after the end of each sentence, until the last one has ended",
    points=1.5,
    hint="A sentence that has ended has nothing to say any more. And when is the whole batch done?",
)
def batch(t: Trial) -> None:
    t.same(*_sample(t, [2, t.integer(5, 7), 4], 12), note="several sentences")


@exercise.prop(
    "at most `max_len` words, with or without an end",
    points=1,
    hint="How often may your loop run, and is there always an end token?",
)
def cut_off(t: Trial) -> None:
    args = _sample(t, [2, t.integer(6, 7)], 12)
    t.same(*args[:-1], t.integer(3, 4), note="cut off")
    t.same(*args[:-1], 1, note="max_len 1")


@exercise.prop(
    "other ids for start, end and padding",
    points=0.5,
    hint="Is there a 0, 1 or 2 in your code that should be an argument?",
)
def other_ids(t: Trial) -> None:
    t.same(*_sample(t, [2, t.integer(4, 5)], 9, (7, 4, 5)))


@exercise.prop(
    "the state that was handed over is left as it was",
    points=0.5,
    hint="Somebody may want to translate the same sentence again, with a beam for instance.",
)
def no_side_effect(t: Trial) -> None:
    t.unchanged(*_sample(t, [2, 4], 9))


@exercise.mistake("What does the decoder read at its second step? Print it.")
def always_the_start(state, decoder, bos, eos, pad, max_len):
    """The decoder gets the start token, and the state does the rest."""
    start = torch.full((len(state),), bos)
    done = torch.zeros(len(state), dtype=torch.bool)
    written = []
    while len(written) < max_len and not done.all():
        scores, state = next_word(start, state, decoder)
        word = scores.argmax(-1).masked_fill(done, pad)
        done = done | (word == eos)
        written.append(word)
    return torch.stack(written, 1)


@exercise.mistake("`next_word` returns two things. What becomes of the second?")
def state_forgotten(state, decoder, bos, eos, pad, max_len):
    """The last word and the context vector say all that is needed for the next word."""
    word = torch.full((len(state),), bos)
    done = torch.zeros(len(state), dtype=torch.bool)
    written = []
    while len(written) < max_len and not done.all():
        word = next_word(word, state, decoder)[0].argmax(-1).masked_fill(done, pad)
        done = done | (word == eos)
        written.append(word)
    return torch.stack(written, 1)


@exercise.mistake("The first sentence of a batch has ended. What about the others?")
def stops_with_the_first(state, decoder, bos, eos, pad, max_len):
    """Decoding is over as soon as an end token has been written."""
    word = torch.full((len(state),), bos)
    written = []
    while len(written) < max_len and not (word == eos).any():
        scores, state = next_word(word, state, decoder)
        word = scores.argmax(-1)
        written.append(word)
    return torch.stack(written, 1)


@exercise.mistake("What do your sentences say after their end token?")
def writes_on(state, decoder, bos, eos, pad, max_len):
    """It is enough to stop when all have ended; what stands behind an end does no harm."""
    word = torch.full((len(state),), bos)
    done = torch.zeros(len(state), dtype=torch.bool)
    written = []
    while len(written) < max_len and not done.all():
        scores, state = next_word(word, state, decoder)
        word = scores.argmax(-1)
        done = done | (word == eos)
        written.append(word)
    return torch.stack(written, 1)


@exercise.mistake("How many columns has your result when all sentences have ended after two words?")
def always_max_len(state, decoder, bos, eos, pad, max_len):
    """The result is always max_len wide, with padding at the end."""
    word = torch.full((len(state),), bos)
    done = torch.zeros(len(state), dtype=torch.bool)
    written = []
    for _ in range(max_len):
        scores, state = next_word(word, state, decoder)
        word = scores.argmax(-1).masked_fill(done, pad)
        done = done | (word == eos)
        written.append(word)
    return torch.stack(written, 1)


@exercise.mistake("Is the end token part of what was written? Read the docstring once more.")
def end_is_left_out(state, decoder, bos, eos, pad, max_len):
    """The end token is a signal to stop and no part of the sentence."""
    word = torch.full((len(state),), bos)
    done = torch.zeros(len(state), dtype=torch.bool)
    written = []
    while len(written) < max_len and not done.all():
        scores, state = next_word(word, state, decoder)
        word = scores.argmax(-1)
        done = done | (word == eos)
        word = word.masked_fill(done, pad)
        written.append(word)
    return torch.stack(written, 1)


@exercise.mistake("After how many steps does a sentence of one word and an end stop? Count yours.")
def notices_late(state, decoder, bos, eos, pad, max_len):
    """Whether all have ended shows one step later, when padding comes out."""
    word = torch.full((len(state),), bos)
    done = torch.zeros(len(state), dtype=torch.bool)
    written = []
    while len(written) < max_len:
        scores, state = next_word(word, state, decoder)
        word = scores.argmax(-1).masked_fill(done, pad)
        written.append(word)
        if done.all():
            break
        done = done | (word == eos)
    return torch.stack(written, 1)


@exercise.mistake(
    "`argmax` of scores (B, V): over which axis do the words of one sentence compete?"
)
def least_probable(state, decoder, bos, eos, pad, max_len):
    """Scores are costs, and the best word has the smallest."""
    word = torch.full((len(state),), bos)
    done = torch.zeros(len(state), dtype=torch.bool)
    written = []
    while len(written) < max_len and not done.all():
        scores, state = next_word(word, state, decoder)
        word = scores.argmin(-1).masked_fill(done, pad)
        done = done | (word == eos)
        written.append(word)
    return torch.stack(written, 1)


@exercise.alternative
def one_sentence_at_a_time(state, decoder, bos, eos, pad, max_len):
    """Each sentence alone, in a Python list, padded afterwards; warns."""
    import warnings

    warnings.warn("no batch", stacklevel=1)
    rows = []
    for h in state.split(1):
        row = [bos]
        while row[-1] != eos and len(row) <= max_len:
            scores, h = next_word(torch.tensor(row[-1:]), h, decoder)
            row.append(int(torch.softmax(scores, -1).argmax()))
        rows.append(row[1:])
    width = max(len(row) for row in rows)
    return torch.tensor([row + [pad] * (width - len(row)) for row in rows])


@exercise.alternative
def cut_afterwards(state, decoder, bos, eos, pad, max_len):
    """Writes as much as is allowed and then clears what comes after the first end."""
    tokens = torch.empty(len(state), max_len, dtype=torch.long)
    last = torch.full((len(state),), bos)
    for column in range(max_len):
        scores, state = next_word(last, state, decoder)
        tokens[:, column] = last = scores.max(dim=1).indices
    ends = (tokens == eos).long()
    tokens[ends.cumsum(1) - ends > 0] = pad
    lengths = torch.where(ends.any(1), ends.argmax(1) + 1, max_len)
    return tokens[:, : lengths.max()]
