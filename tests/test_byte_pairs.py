import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from course_lib.byte_pairs import WORD, BytePairs, join, learn_byte_pairs
from course_lib.data import load_shakespeare

TEXT = "the cat sat on the mat; the hat that the cat had sat on, sat on it.\n" * 2


def of_the_library(text: str, n_merges: int) -> Tokenizer:
    """Byte pairs of the same words, as the `tokenizers` package learns them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(WORD.pattern), "isolated")
    size = len(set(text)) + n_merges
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer


def test_tokens_of_shakespeare_are_those_of_the_library(course_data: object) -> None:
    train, valid = load_shakespeare()
    ours, theirs = learn_byte_pairs(train, 1024), of_the_library(train, 1024)
    assert {token: n for n, token in enumerate(ours.tokens)} == theirs.get_vocab()
    assert ours.encode(valid) == theirs.encode(valid).ids
    assert ours.decode(ours.encode(valid)) == valid


def test_without_merges_tokens_are_characters() -> None:
    tokenizer = learn_byte_pairs(TEXT, 0)
    assert tokenizer.tokens == sorted(set(TEXT))
    assert [tokenizer.tokens[n] for n in tokenizer.encode("that hat")] == list("that hat")


def test_no_token_reaches_across_words() -> None:
    tokenizer = learn_byte_pairs(TEXT, 30)
    assert "".join(WORD.findall(TEXT)) == TEXT
    assert all(WORD.fullmatch(token) for token in tokenizer.tokens)
    assert " that" in tokenizer.tokens


def test_a_merge_takes_pairs_from_the_left() -> None:
    assert join(list("aaaa"), ("a", "a")) == ["aa", "aa"]
    assert join(list("aaa"), ("a", "a")) == ["aa", "a"]


def test_the_oldest_merge_comes_first() -> None:
    tokenizer = BytePairs("abc", [("b", "c"), ("a", "b"), ("a", "bc")])
    assert [tokenizer.tokens[n] for n in tokenizer.encode("abcab")] == ["abc", "ab"]


def test_a_character_without_a_token_is_named() -> None:
    with pytest.raises(ValueError, match="'é'"):
        learn_byte_pairs(TEXT, 3).encode("thé")
