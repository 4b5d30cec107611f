from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="reading.induction_head",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="10_induction.html#reading-induction",
    outcomes=("reading.metrics",),
    example=lambda t: (maps(t, 3, 7), torch.tensor([4, 7, 1, 4, 7, 1, 4])),
    returns=("the scores", "the head"),
)


def maps(t: Trial, H: int, T: int) -> Tensor:
    """Maps of H heads of a decoder that reads T tokens."""
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    return t.randn(H, T, T).masked_fill(later, -torch.inf).softmax(-1)


def text(t: Trial, letters: str) -> Tensor:
    """A number for each letter, none twice."""
    numbers = t.permutation(90)[:26]
    return torch.stack([numbers[ord(letter) - ord("a")] for letter in letters])


def scores(t: Trial, letters: str) -> None:
    """Compare the scores of four heads on a text."""
    given = maps(t, 4, len(letters)), text(t, letters)
    t.close(t.values(t.call(*given))[0], t.want(*given)[0], "the scores", note=f"tokens {letters}")


@exercise.prop(
    2.5, "Write a b c a b c. At which place does the second a look, at which the second b?"
)
def repeated(t: Trial) -> None:
    """in a text that repeats, the mean weight on the token after the earlier occurrence"""
    for letters in ("abcdabcd", "abcdefgabcdefg", "abcab"):
        scores(t, letters)


@exercise.prop(1, "Which queries have met their token before? By how many do you divide?")
def some_queries(t: Trial) -> None:
    """the mean is over the queries whose token has occurred before, wherever that was"""
    t.usual(maps(t, 4, 8), text(t, "abcdabcd"))
    for letters in ("abcdebfgah", "xabcyzbcwa"):
        scores(t, letters)


@exercise.prop(0.5, "A token occurs a third time. Which of its two earlier occurrences is meant?")
def latest(t: Trial) -> None:
    """of several earlier occurrences the latest one counts"""
    t.usual(maps(t, 4, 8), text(t, "abcdabcd"))
    for letters in ("abcabcabc", "abcadaebab"):
        scores(t, letters)


@exercise.prop(0.5, "Which head has the largest score? Its number is asked for.")
def head(t: Trial) -> None:
    """the head is the one with the largest score"""
    given, tokens = maps(t, 5, 10), text(t, "abcdeabcde")
    for shift in range(5):
        found, best = t.values(t.call(given.roll(shift, 0), tokens))
        t.expect(t.a_tensor(found, (5,), "the scores").any(), "all scores are 0")
        t.close(best, int(found.argmax()), "the head")


@exercise.prop(0.5, "No token occurs twice. Over how many queries is your mean?")
def nothing_repeated(t: Trial) -> None:
    """without a token that occurs twice, scores are 0 and the head is None"""
    t.usual(maps(t, 4, 8), text(t, "abcdabcd"))
    for letters in ("abcde", "a"):
        t.same(maps(t, 3, len(letters)), text(t, letters))
