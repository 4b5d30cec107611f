"""Tokens that a text teaches: the commonest pair of neighbours becomes one, again and again.

Source: Sennrich et al., Neural Machine Translation of Rare Words (2016), algorithm 1.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["BytePairs", "learn_byte_pairs"]

Pair = tuple[str, str]
WORD = re.compile(r" ?[A-Za-z]+|[^A-Za-z ]+| ")
"""A word with the space before it, or what is between words; no token reaches across."""


class BytePairs:
    """A tokenizer: characters, and the merges that join them, in the order of learning.

    Args:
        alphabet: The characters of a text; without merges they are all tokens that there are.

    Example:
        >>> tokenizer = BytePairs("eht ", [("t", "h"), ("th", "e")])
        >>> tokenizer.tokens, tokenizer.encode("the tehthe")
        (['e', 'h', 't', ' ', 'th', 'the'], [5, 3, 2, 0, 1, 5])
    """

    def __init__(self, alphabet: str, merges: Sequence[Pair] = ()) -> None:
        self.alphabet, self.merges = alphabet, list(merges)
        self.tokens = list(dict.fromkeys([*alphabet, *map("".join, merges)]))
        self._ids = {token: n for n, token in enumerate(self.tokens)}
        self._rank = {pair: n for n, pair in enumerate(merges)}
        self._known: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Numbers of the tokens of a text."""
        if strange := set(text) - set(self.alphabet):
            raise ValueError(f"text has {''.join(sorted(strange))!r}, which no token holds")
        return [n for word in WORD.findall(text) for n in self._word(word)]

    def _word(self, word: str) -> list[int]:
        if word not in self._known:
            parts = list(word)
            while known := [pair for pair in pairwise(parts) if pair in self._rank]:
                parts = join(parts, min(known, key=self._rank.__getitem__))
            self._known[word] = [self._ids[part] for part in parts]
        return self._known[word]

    def decode(self, numbers: Sequence[int]) -> str:
        """Text of the tokens with these numbers."""
        return "".join(self.tokens[n] for n in numbers)


def join(parts: list[str], pair: Pair) -> list[str]:
    """Make one token of every such pair of neighbours, from the left.

    Example:
        >>> join(["b", "a", "n", "a", "n", "a"], ("a", "n"))
        ['b', 'an', 'an', 'a']
    """
    joined: list[str] = []
    for part in parts:
        if joined and (joined[-1], part) == pair:
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def learn_byte_pairs(text: str, n_merges: int) -> BytePairs:
    """Join the most common pair of neighbouring tokens, at most ``n_merges`` times.

    Of pairs that are equally common it takes the one whose tokens are older.

    Example:
        >>> learn_byte_pairs("the cat sat on the mat with the hat", 3).merges
        [('a', 't'), ('t', 'h'), ('th', 'e')]
    """
    words = Counter(WORD.findall(text))
    parts = {word: list(word) for word in words}
    age = {letter: n for n, letter in enumerate(sorted(set(text)))}
    alphabet = "".join(age)
    counts: Counter[Pair] = Counter()
    for word, n in words.items():
        for pair in pairwise(word):
            counts[pair] += n
    merges: list[Pair] = []
    while len(merges) < n_merges and any(counts.values()):
        best = max(counts, key=lambda pair: (counts[pair], -age[pair[0]], -age[pair[1]]))
        merges.append(best)
        age.setdefault("".join(best), len(age))
        for word, n in words.items():
            if "".join(best) in word:  # most words are left alone
                for pair in pairwise(parts[word]):
                    counts[pair] -= n
                parts[word] = join(parts[word], best)
                for pair in pairwise(parts[word]):
                    counts[pair] += n
    return BytePairs(alphabet, merges)
