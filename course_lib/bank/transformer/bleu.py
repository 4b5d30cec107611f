from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="transformer.bleu",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="09_translator.html#transformer-real",
    outcomes=("transformer.decode",),
    example=lambda t: (
        ["a b c d e".split(), "f g h".split()],
        ["a b c d f".split(), "f g h".split()],
    ),
)


def sentences(t: Trial, *texts: str) -> list[list[str]]:
    """Sentences of letters, with another word for each letter."""
    words = [f"w{n}" for n in t.permutation(60)[:26].tolist()]
    return [[words[ord(letter) - ord("a")] for letter in text] for text in texts]


def equal(t: Trial, *pairs: tuple[str, str]) -> None:
    """Compare the BLEU of these candidates, each with its reference."""
    found = sentences(t, *(text for pair in pairs for text in pair))
    t.same(found[::2], found[1::2])


def usual(t: Trial) -> None:
    """What the first requirement asks."""
    candidate, target = sentences(t, "abcdexgh", "abcdefgh")
    t.usual([candidate], [target])


@exercise.prop(2, "How many neighbouring pairs are in a sentence of 8 words? How many are right?")
def shares(t: Trial) -> None:
    """the geometric mean of the shares of n-grams that the reference has, too"""
    for pair in (("abcdexgh", "abcdefgh"), ("xabcdef", "abcdefy")):
        equal(t, pair)


@exercise.prop(
    1, "The candidate is `the` five times, the reference has it twice. How many are right?"
)
def clipped(t: Trial) -> None:
    """an n-gram is right at most as often as its reference has it"""
    for pair in (("aaabcdea", "abcdefgh"), ("abababcd", "abcdabef"), ("abcdabcd", "abcdabce")):
        equal(t, pair)


@exercise.prop(0.75, "Two sentences, of 4 and of 12 words. Which sums does a single division need?")
def whole_corpus(t: Trial) -> None:
    """counts and lengths of all sentences are added before anything is divided"""
    usual(t)
    equal(t, ("abcdefghijkl", "abcdefghijkl"), ("mnxp", "mnop"))
    equal(t, ("abcdef", "abcdefgh"), ("mnopqrst", "mnopqr"))
    equal(t, ("abcdmn", "abcdop"), ("opqrst", "mnqrst"))


@exercise.prop(
    0.75, "r = 8 words in the reference and c = 4 in the candidate: what is exp(1 - r/c)?"
)
def brevity(t: Trial) -> None:
    """a shorter text is penalised by exp(1 - r/c), and a longer one is not rewarded"""
    usual(t)
    equal(t, ("abcde", "abcdefgh"))
    equal(t, ("abcdefghij", "abcdefgh"))


@exercise.prop(0.5, "Which n-grams have three words? What is the geometric mean if one share is 0?")
def nothing_right(t: Trial) -> None:
    """it is 0 where no n-gram of one length is right, or there is none of it"""
    usual(t)
    for pair in (("abcxdef", "abcdefg"), ("abc", "abc"), ("", "abcd"), ("xyxy", "abcd")):
        equal(t, pair)
