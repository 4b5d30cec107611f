"""The made corpus and its vocabulary."""

from collections import Counter
from hashlib import sha256
from random import Random

import pytest
import torch

from course_lib.data.translation import (
    KoreanEnglish,
    Vocabulary,
    batches,
    collate,
    generate,
    german_english,
    korean_english,
    split_of,
)
from course_lib.data.translation.german import _NOUNS, GermanEnglish
from course_lib.data.translation.pairs import Phrase, SentencePair
from course_tests.refusals import refusals


@pytest.mark.parametrize("corpus", [korean_english, german_english])
def test_same_seed_same_corpus(corpus):
    assert corpus(50, seed=1) == corpus(50, seed=1)
    assert corpus(50, seed=1) != corpus(50, seed=2)
    assert corpus(50, seed=1)[:20] == corpus(20, seed=1)


@pytest.mark.parametrize("corpus", [korean_english, german_english])
def test_splits_share_no_source_and_no_target(corpus):
    """Short sentences repeat often, so an overlap would show."""
    parts = [corpus(1500, 0, split, 3, 6) for split in ("train", "valid", "test")]
    sources = [{pair.source for pair in part} for part in parts]
    targets = [{pair.target for pair in part} for part in parts]
    for sets in (sources, targets):
        assert not sets[0] & sets[1] and not sets[0] & sets[2] and not sets[1] & sets[2]
    assert len(parts[0]) > len(sources[0])  # the control: within a split they do repeat


def test_a_source_has_one_translation():
    targets = {}
    for pair in korean_english(5000, seed=0, max_length=6):
        targets.setdefault(pair.source, set()).add(pair.target)
    assert all(len(found) == 1 for found in targets.values())


def test_split_sizes_are_eight_one_one():
    from random import Random

    grammar, rng = KoreanEnglish(), Random(0)
    counts = Counter(split_of(grammar.sample(rng, 10)) for _ in range(3000))
    assert counts["train"] / 3000 == pytest.approx(0.8, abs=0.03)
    assert counts["valid"] / 3000 == pytest.approx(0.1, abs=0.03)


def test_lengths_are_uniform_over_the_range():
    counts = Counter(
        len(pair.source) for pair in korean_english(3600, 0, min_length=3, max_length=20)
    )
    assert sorted(counts) == list(range(3, 21))
    assert min(counts.values()) > 130 and max(counts.values()) < 280


test_bad_arguments_are_refused = refusals(
    ({"n": 1, "seed": 0, "split": "dev"}, "'dev'"),
    ({"n": -1, "seed": 0}, "n is -1, wanted at least 0"),
    ({"n": 1, "seed": 0, "min_length": 2}, "min_length is 2 and max_length 20, wanted 3 <="),
    (
        {"n": 1, "seed": 0, "min_length": 9, "max_length": 8},
        "min_length is 9 and max_length 8, wanted 3 <=",
    ),
    by=lambda **arguments: generate(KoreanEnglish(), **arguments),
)


def sample(n=2000):
    grammar, rng = GermanEnglish(), Random(0)
    return [grammar.sample(rng, 3 + i % 20) for i in range(n)]


PAIRS = sample()


def test_alignments_are_complete_and_monotonic():
    for pair in PAIRS:
        assert {i for i, _ in pair.alignment} == set(range(len(pair.source))), pair
        assert {j for _, j in pair.alignment} == set(range(len(pair.target))), pair
        for i, j in pair.alignment:
            for k, m in pair.alignment:
                assert i >= k or j <= m, pair


def test_articles_agree_in_gender():
    articles = {"m": {"der", "den", "ein", "einen"}, "f": {"die", "eine"}, "n": {"das", "ein"}}
    seen = Counter()
    for pair in PAIRS:
        for article, word in zip(pair.source, pair.source[1:], strict=False):
            for noun in _NOUNS:
                if word == noun.german and article in set().union(*articles.values()):
                    seen[noun.gender] += 1
                    assert article in articles[noun.gender], pair
    assert min(seen[gender] for gender in "mfn") > 50


def test_a_thing_is_it_whatever_its_german_gender():
    seen = set()
    for pair in PAIRS:
        for i, j in pair.alignment:
            if pair.source[i] in ("er", "sie", "es"):
                seen.add((pair.source[i], pair.target[j]))
    assert seen == {("er", "he"), ("er", "it"), ("sie", "she"), ("sie", "it"), ("es", "it")}


def test_indefinite_article_before_a_vowel_is_an():
    for pair in PAIRS:
        for article, word in zip(pair.target, pair.target[1:], strict=False):
            if article in ("a", "an"):
                assert (article == "an") == (word[0] in "aeiou"), pair


def test_the_sentence_of_the_lecture_is_in_the_grammar():
    grammar, rng = GermanEnglish(), Random(0)
    drawn = {str(grammar.sample(rng, 3)) for _ in range(2000)}
    assert "guten abend . -> good evening ." in drawn


def test_impossible_length_is_refused():
    with pytest.raises(ValueError, match="length is 2, wanted at least 3"):
        GermanEnglish().sample(Random(0), 2)


def test_pairs_are_those_that_records_were_trained_on():
    pairs = korean_english(1000, seed=0) + korean_english(1000, seed=0, max_length=4)
    text = "\n".join(map(str, pairs))
    assert sha256(text.encode()).hexdigest()[:16] == "4b29dcc442e2bcc0"


SHORT = korean_english(100, seed=0)
SOURCE = Vocabulary.of(pair.source for pair in SHORT)
TARGET = Vocabulary.of(pair.target for pair in SHORT)


def test_special_tokens_come_first():
    assert SOURCE.tokens[:4] == ("<pad>", "<bos>", "<eos>", "<unk>")
    assert (SOURCE.pad, SOURCE.bos, SOURCE.eos, SOURCE.unk) == (0, 1, 2, 3)


def test_encode_and_decode_are_inverse():
    for pair in SHORT:
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
    (lambda: list(batches(SHORT, SOURCE, TARGET, 0)), "batch_size is 0, wanted at least 1"),
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
    batch = collate(SHORT[:8], SOURCE, TARGET)
    for row, pair in enumerate(SHORT[:8]):
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
        for batch in batches(SHORT, SOURCE, TARGET, 16, seed)
        for row in batch.source
    ]
    assert sorted(sentences) == sorted(pair.source for pair in SHORT)
    assert (sentences == [pair.source for pair in SHORT]) == (seed is None)


def test_batches_depend_on_the_seed_alone():
    first = [batch.source for batch in batches(SHORT, SOURCE, TARGET, 16, seed=1)]
    again = [batch.source for batch in batches(SHORT, SOURCE, TARGET, 16, seed=1)]
    other = [batch.source for batch in batches(SHORT, SOURCE, TARGET, 16, seed=2)]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(
        a.shape == b.shape and torch.equal(a, b) for a, b in zip(first, other, strict=True)
    )


def test_shuffled_batches_pad_less():
    def padding(seed):
        return sum(int((b.source == 0).sum()) for b in batches(SHORT, SOURCE, TARGET, 10, seed))

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
