"""Words as numbers, and pairs of sentences with their links."""

import pytest
import torch

from course_lib.data.translation import Vocabulary, batches, collate, korean_english
from course_lib.data.translation.pairs import Phrase, SentencePair
from course_tests.refusals import refusals

PAIRS = korean_english(100, seed=0)
SOURCE = Vocabulary.of(pair.source for pair in PAIRS)
TARGET = Vocabulary.of(pair.target for pair in PAIRS)


def test_special_tokens_come_first():
    assert SOURCE.tokens[:4] == ("<pad>", "<bos>", "<eos>", "<unk>")
    assert (SOURCE.pad, SOURCE.bos, SOURCE.eos, SOURCE.unk) == (0, 1, 2, 3)


def test_encode_and_decode_are_inverse():
    for pair in PAIRS:
        ids = TARGET.encode(pair.target, bos=True, eos=True)
        assert TARGET.decode(ids) == list(pair.target)
        assert TARGET.decode(torch.tensor([*ids, 0, 0])) == list(pair.target)


def test_unknown_words_become_unk_and_show_when_decoded():
    assert TARGET.decode(TARGET.encode(["zebra"])) == ["<unk>"]


def test_order_is_by_frequency_then_alphabet():
    vocabulary = Vocabulary.of([["b", "a", "c"], ["c"]])
    assert vocabulary.tokens[4:] == ("c", "a", "b")
    assert Vocabulary.of([["b", "a", "c"], ["c"]], min_count=2).tokens[4:] == ("c",)


test_what_does_not_fit_is_refused = refusals(
    (lambda: Vocabulary(["a"]).decode([99]), "is 99, wanted 0 to 4"),
    (lambda: collate([], SOURCE, TARGET), "pairs is empty, wanted at least one"),
    (lambda: list(batches(PAIRS, SOURCE, TARGET, 0)), "batch_size is 0, wanted at least 1"),
    (lambda: Vocabulary(["a", "a"]), "wanted each once and none of"),
    (lambda: Vocabulary(["<pad>"]), "wanted each once and none of"),
    (
        lambda: SentencePair(("a", "b"), ("x",), ((2, 0),)),
        "outside a sentence of 2 source and 1 target",
    ),
    (
        lambda: SentencePair(("a", "b"), ("x",), ((0, 1),)),
        "outside a sentence of 2 source and 1 target",
    ),
    (
        lambda: SentencePair(("a", "b"), ("x",), ((-1, 0),)),
        "outside a sentence of 2 source and 1 target",
    ),
)


def test_collate_pads_behind_and_counts_lengths():
    batch = collate(PAIRS[:8], SOURCE, TARGET)
    for row, pair in enumerate(PAIRS[:8]):
        n, m = len(pair.source), len(pair.target)
        assert batch.source_lengths[row] == n and batch.target_lengths[row] == m + 2
        assert (batch.source[row, n:] == 0).all() and (batch.source[row, :n] > 3).all()
        assert batch.target[row, 0] == TARGET.bos and batch.target[row, m + 1] == TARGET.eos
        assert (batch.target[row, m + 2 :] == 0).all()
    assert torch.equal(batch.target_in[:, 1:], batch.target_out[:, :-1])


@pytest.mark.parametrize("seed", [None, 3])
def test_batches_hold_every_pair_once(seed):
    sentences = [
        tuple(SOURCE.decode(row))
        for batch in batches(PAIRS, SOURCE, TARGET, 16, seed)
        for row in batch.source
    ]
    assert sorted(sentences) == sorted(pair.source for pair in PAIRS)
    assert (sentences == [pair.source for pair in PAIRS]) == (seed is None)


def test_batches_depend_on_the_seed_alone():
    first = [batch.source for batch in batches(PAIRS, SOURCE, TARGET, 16, seed=1)]
    again = [batch.source for batch in batches(PAIRS, SOURCE, TARGET, 16, seed=1)]
    other = [batch.source for batch in batches(PAIRS, SOURCE, TARGET, 16, seed=2)]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(
        a.shape == b.shape and torch.equal(a, b) for a, b in zip(first, other, strict=True)
    )


def test_shuffled_batches_pad_less():
    def padding(seed):
        return sum(int((b.source == 0).sum()) for b in batches(PAIRS, SOURCE, TARGET, 10, seed))

    assert padding(0) < 0.5 * padding(None)


def test_matrix_has_target_rows_and_source_columns():
    pair = SentencePair(("a", "b"), ("x", "y", "z"), ((0, 2), (1, 0), (1, 1)))
    expected = torch.tensor([[0, 1], [0, 1], [1, 0]], dtype=torch.bool)
    assert torch.equal(pair.alignment_matrix(), expected)


def test_join_reorders_the_target_and_keeps_the_links():
    subject, verb, object_ = Phrase.of("S", "s"), Phrase.of("V", "v"), Phrase.of("O", "the o")
    pair = Phrase.join([subject, object_, verb], [subject, verb, object_]).pair()
    assert pair.source == ("S", "O", "V")
    assert pair.target == ("s", "v", "the", "o")
    assert pair.alignment == ((0, 0), (1, 2), (1, 3), (2, 1))


def test_equal_words_keep_links_of_their_own():
    pair = Phrase.join([Phrase.of("x", "a"), Phrase.of("x", "b")]).pair()
    assert pair.alignment == ((0, 0), (1, 1))
