from typing import Any

from course_lib.bank.prelude import Exercise, F, Tensor, Trial, torch
from grader.checks.compare import kind

BOS, EOS, PAD = 1, 2, 0


def next_word(tokens, state, decoder):
    """Scores (B, V) of the next words and the next state (B, D), given the last words (B,)."""
    words = decoder["embedding"][tokens]
    state = torch.tanh(words + state @ decoder["weight"].T)
    return state @ decoder["out"].T, state


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

    No choice of a word is a near tie, and no sentence contains the start or the padding. Whoever
    writes a shorter one on until the longest has ended finds at least one word more.
    """
    bos, eos, pad = ids
    for _ in range(1000):
        states, decoder = t.randn(200, 5), _decoder(t, 8, 5)
        state, last, good = states, torch.full((200,), bos), torch.ones(200).bool()
        columns, spoken = [torch.zeros(200).bool()], []
        for _ in range(max(lengths)):
            scores, state = next_word(last, state, decoder)
            top = scores.topk(2)
            last = top.indices[:, 0]
            going_on = ~torch.stack(columns).any(0)
            fair = (top.values[:, 0] - top.values[:, 1] > 1e-3) & (last != bos) & (last != pad)
            good &= fair | ~going_on
            columns.append(last == eos)
            spoken.append((last != eos) & (last != pad) & ~going_on)
        ended = torch.stack(columns[1:], 1).int()
        good &= torch.stack(spoken, 1).any(1) | (ended.argmax(1) + 1 == max(lengths))
        wrote = torch.where(ended.any(1) & good, ended.argmax(1) + 1, -1).tolist()
        if set(lengths) <= set(wrote):
            chosen = states[[wrote.index(n) for n in lengths]]
            return chosen, decoder, bos, eos, pad, max_len
    raise AssertionError("no decoder in a thousand writes sentences of these lengths")


def _padded(t: Trial, written: Any, pad: int, width: int = 12) -> Tensor:
    """Written words with padding up to one width: how many columns there are is asked apart."""
    two = isinstance(written, Tensor) and written.dim() == 2
    t.expect(two, f"the result is {kind(written)}, expected words (B, T)")
    t.expect(written.shape[1] <= width, f"{written.shape[1]} words, expected {width} at most")
    return F.pad(written, (0, width - written.shape[1]), value=pad)


exercise = Exercise(
    id="seq2seq.greedy_write",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="01_seq2seq.html#seq2seq-translate",
    outcomes=("seq2seq.forcing",),
    given=(next_word,),
    example=lambda t: (t.randn(2, 5), _decoder(t, 8, 5), BOS, EOS, PAD, 6),
)


@exercise.prop(
    1.5, "Which word goes in first, and which one at every later step? And what else has changed?"
)
def one_sentence(t: Trial) -> None:
    """one sentence: its words, the end token last, and nothing but padding after it"""
    for length in (3, t.integer(4, 6)):
        args = _sample(t, [length], 12)
        written = _padded(t, t.call(*args), PAD)
        t.close(written, _padded(t, t.want(*args), PAD), "what is written")


@exercise.prop(1.5, "A sentence that has ended has nothing to say any more. The others go on.")
def batch(t: Trial) -> None:
    """a batch: every sentence is written to its end, and then filled up with padding"""
    # The end token itself is asked about above.
    args = _sample(t, [2, t.integer(5, 7), 4], 12)
    written, want = (_padded(t, value, PAD) for value in (t.call(*args), t.want(*args)))
    for tokens in (written, want):
        tokens[tokens == EOS] = PAD
    t.close(written, want, "what is written, but for ends")


@exercise.prop(
    1,
    "How often may your loop run, and is there always an end token? How wide is the result when"
    " the longest sentence has three words, its end among them?",
)
def cut_off(t: Trial) -> None:
    """no word too many: the loop stops when all sentences have ended, or at `max_len` words"""
    # Judged by what was written: whether these are the right words is asked above.
    args = _sample(t, [2, t.integer(6, 7)], 12)
    # A word that the longer one says on its way may serve as padding: only the end ends.
    said = int(t.want(*args)[1, 2])
    for most, pad in ((12, PAD), (t.integer(3, 4), PAD), (1, PAD), (12, said)):
        got = t.call(*args[:-2], pad, most)
        _padded(t, got, 0)
        ended = got == EOS
        lengths = torch.where(ended.any(1), ended.int().argmax(1) + 1, most)
        t.expect(
            got.shape[1] == min(most, int(lengths.max())),
            f"max_len {most}: {got.shape[1]} words in the longest sentence, although its end, or"
            f" max_len, comes after {min(most, int(lengths.max()))}",
        )


@exercise.prop(0.5, "Is there a 0, 1 or 2 in your code that should be an argument?")
def other_ids(t: Trial) -> None:
    """other ids for start, end and padding"""
    # The same decoder with its words renumbered has to write the same, renumbered.
    state, decoder, *_ = _sample(t, [t.integer(3, 5)], 9)
    # Padding is neither the best word nor the worst one, so that something is written.
    decoder["out"][PAD] = 0
    ids = torch.tensor([5, 7, 4, 1, 0, 2, 6, 3])
    renumbered = {
        name: torch.empty_like(table).index_copy_(0, ids, table) if len(table) == 8 else table
        for name, table in decoder.items()
    }
    before = _padded(t, t.call(state, decoder, BOS, EOS, PAD, 9), PAD)
    after = _padded(t, t.call(state, renumbered, *ids[[BOS, EOS, PAD]].tolist(), 9), int(ids[PAD]))
    t.expect((before != PAD).any(), "nothing is written")
    t.close(after, ids[before.long()], "what is written with other ids", exact=True)


@exercise.prop(0.5, "The same sentence may be translated again, with a beam for instance.")
def no_side_effect(t: Trial) -> None:
    """the arguments are left as they were"""
    t.unchanged(*_sample(t, [4], 4))
