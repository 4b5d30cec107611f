from course_lib.bank.prelude import Tensor, changed, torch
from course_lib.bank.seq2seq.greedy_write import exercise, next_word
from course_lib.decoding import greedy


@exercise.answer
def reference(
    state: Tensor, decoder: dict[str, Tensor], bos: int, eos: int, pad: int, max_len: int
) -> Tensor:
    """The library's greedy decoding of the given decoder."""

    def step(tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        scores, state = next_word(tokens, state, decoder)
        return scores.log_softmax(-1), state

    start = torch.full((len(state),), bos)
    return greedy(step, start, state, max_len=max_len, end=eos, pad=pad).tokens


def right(state, decoder, bos, eos, pad, max_len):
    """Base of the mistakes, itself right."""
    word = torch.full((len(state),), bos)
    done = torch.zeros(len(state), dtype=torch.bool)
    written = []
    while len(written) < max_len and not done.all():
        scores, state = next_word(word, state, decoder)
        word = scores.argmax(-1).masked_fill(done, pad)
        done = done | (word == eos)
        written.append(word)
    return torch.stack(written, 1)


@exercise.mistake("What does the decoder read at its second step? Print it.")
@changed(right, ("word = torch", "start = torch"), ("word, state", "start, state"))
def always_the_start():
    """The decoder gets the start token, and the state does the rest."""


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
@changed(right, (").masked_fill(done, pad)", ")"))
def writes_on():
    """It is enough to stop when all have ended; what comes after an end does no harm."""


@exercise.mistake(
    "All sentences have ended after two words: how many columns does your result have?"
)
@changed(right, ("while len(written) < max_len and not done.all(", "for _ in range(max_len"))
def always_max_len():
    """The result is always max_len wide, with padding at the end."""


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
    "What would a softmax of the scores make most probable: the largest or the smallest?"
)
@changed(right, ("argmax(", "argmin("))
def least_probable():
    """Scores are costs, and the best word has the smallest."""


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
