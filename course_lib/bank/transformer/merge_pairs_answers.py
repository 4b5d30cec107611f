from course_lib.bank.transformer.merge_pairs import exercise


@exercise.answer
def reference(words: list[list[int]], new: int) -> tuple[tuple[int, int] | None, list[list[int]]]:
    """Make one token of the most frequent pair of neighbours."""
    pairs = [(word[i], word[i + 1]) for word in words for i in range(len(word) - 1)]
    best = max(pairs, key=pairs.count, default=None)
    if best is None or pairs.count(best) < 2:
        return None, words
    merged: list[list[int]] = [[] for _ in words]
    for row, word in zip(merged, words, strict=True):
        for token in word:
            row[-1:] = [new] if (*row[-1:], token) == best else [*row[-1:], token]
    return best, merged


@exercise.mistake("Where does a word end in your list of pairs?")
def across_words(words, new):
    """The text is one row of tokens, and its words do not matter."""
    text = [token for word in words for token in word]
    pairs = [(text[i], text[i + 1]) for i in range(len(text) - 1)]
    best = max(pairs, key=pairs.count, default=None)
    if pairs.count(best) < 2:
        return None, words
    merged = [[] for _ in words]
    for row, word in zip(merged, words, strict=True):
        for token in word:
            row[-1:] = [new] if (*row[-1:], token) == best else [*row[-1:], token]
    return best, merged


@exercise.mistake("Which of two equally frequent pairs comes first in the text?")
def smallest_of_equals(words, new):
    """Of equally frequent pairs the one with the smaller numbers is merged."""
    pairs = [(word[i], word[i + 1]) for word in words for i in range(len(word) - 1)]
    best = max(sorted(pairs), key=pairs.count, default=None)
    if pairs.count(best) < 2:
        return None, words
    merged = [[] for _ in words]
    for row, word in zip(merged, words, strict=True):
        for token in word:
            row[-1:] = [new] if (*row[-1:], token) == best else [*row[-1:], token]
    return best, merged


@exercise.mistake("Search your result for the pair. Is there one left?")
def once_a_word(words, new):
    """A word has a pair at most once."""
    pairs = [(word[i], word[i + 1]) for word in words for i in range(len(word) - 1)]
    best = max(pairs, key=pairs.count, default=None)
    if pairs.count(best) < 2:
        return None, words
    rows = [list(word) for word in words]
    for row in rows:
        if (i := next((i for i in range(len(row)) if (*row[i : i + 2],) == best), -1)) >= 0:
            row[i : i + 2] = [new]
    return best, rows


@exercise.mistake("No pair occurs twice. What would you merge, and what would it save?")
def always(words, new):
    """There is always a pair to merge."""
    pairs = [(word[i], word[i + 1]) for word in words for i in range(len(word) - 1)]
    best = max(pairs, key=pairs.count, default=None)
    merged = [[] for _ in words]
    for row, word in zip(merged, words, strict=True):
        for token in word:
            row[-1:] = [new] if (*row[-1:], token) == best else [*row[-1:], token]
    return best, merged


@exercise.alternative
def place_by_place(words, new):
    """Replaces places of a copy, from the left; prints to stderr."""
    import sys

    pairs = [(word[i], word[i + 1]) for word in words for i in range(len(word) - 1)]
    best = max(pairs, key=pairs.count) if len({*pairs}) < len(pairs) else None
    print(best, file=sys.stderr)
    merged = [list(word) for word in words]
    for row in merged:
        for i in range(len(row)):
            if (*row[i : i + 2],) == best:
                row[i : i + 2] = [new]
    return best, merged
