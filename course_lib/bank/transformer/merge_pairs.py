from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="transformer.merge_pairs",
    points=4,
    minutes=15,
    difficulty=2,
    chapter="09_tokens.html#gpt-tokens",
    outcomes=("transformer.train",),
    example=lambda t: ([[3, 1, 2], [1, 2]], 9),
    returns=("the pair", "the words"),
)


def usual(t: Trial) -> tuple[list[list[int]], list[int]]:
    """Words with one most frequent pair that is not the first; their tokens, the smallest first."""
    a, b, c, d, e = tokens = sorted(t.permutation(40)[:5].tolist())
    return [[c, d, e], [a, b, c, d], [e, a, b], [d, a, b]], tokens


def part(t: Trial, index: int, *texts: list[list[int]]) -> None:
    """Compare the pairs or the words."""
    for words in texts:
        got, want = t.values(t.call(words, 99)), t.want(words, 99)
        t.close(got[index], want[index], exercise.returns[index], note=f"in {words}")


@exercise.prop(1, "Write down each pair of neighbours with its count. Which count is the largest?")
def most_frequent(t: Trial) -> None:
    """the pair is the most frequent one"""
    words, (a, b, c, d, _) = usual(t)
    part(t, 0, words, [[c, a], [b, a, d], [a, c, d, b, a]])


@exercise.prop(1, "How often does the pair occur in a word? Each of these places becomes a token.")
def joined(t: Trial) -> None:
    """all of its places become the new token, and everything else stays"""
    words, (a, b, c, d, _) = usual(t)
    part(t, 1, words, [[a, b, c, a, b, a], [d], [b, a, b], [a, b]])


@exercise.prop(0.5, "Two pairs are equally frequent. Which of them would a reader meet first?")
def ties(t: Trial) -> None:
    """of equally frequent pairs it is the one that occurs first"""
    words, (a, b, c, d, _) = usual(t)
    t.usual(words, 99)
    part(t, 0, [[c, d], [a, b], [a, b, c, d]], [[a, b], [c, d], [c, d, a, b]])


@exercise.prop(0.5, "At how many places of a a a does the pair a a begin? How often can it merge?")
def overlaps(t: Trial) -> None:
    """a pair counts wherever it begins, and overlapping places merge from the left"""
    words, (a, b, c, *_) = usual(t)
    t.usual(words, 99)
    part(t, 0, [[b, c], [a] * 4, [b, c]])
    part(t, 1, [[a] * 3, [b] + [a] * 5, [a, a]])


@exercise.prop(0.5, "Are the last token of a word and the first one of the next word neighbours?")
def within_words(t: Trial) -> None:
    """no pair extends over two words"""
    words, (a, b, c, d, e) = usual(t)
    t.usual(words, 99)
    part(t, 0, [[e, a], [b, c], [d, a], [b, e], [a], [b, d, a], [e, c, d, a]])


@exercise.prop(0.5, "What does a token save for a pair that occurs once?")
def nothing_to_merge(t: Trial) -> None:
    """two places are enough; without them the pair is None and the words are as they were"""
    words, (a, b, c, *_) = usual(t)
    t.usual(words, 99)
    for words in ([[a, b], [c, a, b]], [[a, b, c], [b, a]], [[a], [], [a]], []):
        t.same(words, 99)
