"""Corpora of generated sentence pairs: deterministic, of chosen lengths, with disjoint splits."""

from hashlib import sha256
from random import Random
from typing import Literal, Protocol

from course_lib.data.translation.german import GermanEnglish
from course_lib.data.translation.korean import KoreanEnglish
from course_lib.data.translation.pairs import SentencePair

Split = Literal["train", "valid", "test"]
_SPLITS = ("train", "valid", "test")


class Grammar(Protocol):
    """Protocol of a translation grammar: sentence pairs of an exact source length."""

    min_length: int

    def sample(self, rng: Random, length: int) -> SentencePair:
        """Draw one pair whose source has ``length`` tokens."""


def split_of(pair: SentencePair) -> Split:
    """The split that a pair belongs to: a function of its translation alone.

    Eight tenths of all translations are train, one tenth valid, one tenth test, whatever the seed
    and however many are drawn. A source has one translation, so no source is in two splits either.
    """
    fold = sha256(" ".join(pair.target).encode()).digest()[0] * 10 // 256
    return "test" if fold == 0 else "valid" if fold == 1 else "train"


def generate(
    grammar: Grammar,
    n: int,
    seed: int,
    split: Split = "train",
    min_length: int = 3,
    max_length: int = 20,
) -> list[SentencePair]:
    """Draw ``n`` pairs of one split, with source lengths uniform between the bounds.

    Both bounds are included, and lengths count the punctuation. Short sentences are few, so a large
    corpus repeats some of them, as real ones do.
    """
    if split not in _SPLITS:
        raise ValueError(f"split is {split!r}, wanted one of {', '.join(_SPLITS)}")
    if n < 0:
        raise ValueError(f"n is {n}, wanted at least 0")
    if not grammar.min_length <= min_length <= max_length:
        raise ValueError(
            f"min_length is {min_length} and max_length {max_length}, wanted "
            f"{grammar.min_length} <= min_length <= max_length"
        )
    rng = Random(f"{split}/{seed}")
    pairs: list[SentencePair] = []
    while len(pairs) < n:
        length = rng.randint(min_length, max_length)
        while split_of(pair := grammar.sample(rng, length)) != split:
            pass
        pairs.append(pair)
    return pairs


def korean_english(
    n: int,
    seed: int,
    split: Split = "train",
    min_length: int = 3,
    max_length: int = 20,
    script: str = "roman",
) -> list[SentencePair]:
    """Korean-English pairs, whose word order differs, in ``"roman"`` or ``"hangul"`` letters.

    Arguments as for :func:`generate`.

    Example:
        >>> print(korean_english(1, seed=0, min_length=5, max_length=5)[0])
        geuneun ppalri geudeuleul bobnida . -> he sees them quickly .
    """
    return generate(KoreanEnglish(script), n, seed, split, min_length, max_length)


def german_english(
    n: int, seed: int, split: Split = "train", min_length: int = 3, max_length: int = 20
) -> list[SentencePair]:
    """German-English pairs, whose word order is the same; arguments as for :func:`generate`.

    Example:
        >>> print(german_english(1, seed=0, min_length=5, max_length=5)[0])
        ein kind malt paul . -> a child paints paul .
    """
    return generate(GermanEnglish(), n, seed, split, min_length, max_length)
