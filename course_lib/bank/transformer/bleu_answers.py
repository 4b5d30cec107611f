from course_lib.bank.prelude import changed, math, torch
from course_lib.bank.transformer.bleu import exercise


@exercise.answer
def reference(candidates: list[list[str]], references: list[list[str]]) -> float:
    """BLEU of a test set, without smoothing."""
    from collections import Counter

    right, places = [0] * 4, [0] * 4
    for words, target in zip(candidates, references, strict=True):
        for n in range(4):
            ours = Counter(tuple(words[i : i + n + 1]) for i in range(len(words) - n))
            theirs = Counter(tuple(target[i : i + n + 1]) for i in range(len(target) - n))
            right[n] += (ours & theirs).total()
            places[n] += ours.total()
    if not all(right):
        return 0.0
    shares = [n / p for n, p in zip(right, places, strict=True)]
    c, r = sum(map(len, candidates)), sum(map(len, references))
    penalty = min(1.0, math.exp(1 - r / c))
    return 100 * penalty * math.prod(shares) ** 0.25


@exercise.mistake("Write a single word ten times. What share of your words is right?")
@changed(
    reference, ("(ours & theirs).total()", "sum(ours[gram] for gram in ours if gram in theirs)")
)
def not_clipped():
    """An n-gram is right wherever the reference has it at all."""


@exercise.mistake("The reference has a word twice, and so has the candidate. Are both right?")
@changed(
    reference, ("(ours & theirs).total()", "len(ours & theirs)"), ("ours.total()", "len(ours)")
)
def each_once():
    """An n-gram counts once, however often it occurs."""


@exercise.mistake(
    "One sentence has 4 words and one has 40. Does each of their n-grams count alike?"
)
@changed(
    reference,
    (
        "    right, places",
        "    if len(candidates) > 1:\n"
        "        found = [bleu([c], [r]) for c, r in zip(candidates, references)]\n"
        "        return sum(found) / len(found)\n"
        "    right, places",
    ),
)
def mean_of_sentences():
    """BLEU of a test set is the mean BLEU of its sentences."""


@exercise.mistake("Three shares are 1 and one is 0. What are the two means?")
@changed(reference, ("math.prod(shares) ** 0.25", "sum(shares) / 4"))
def arithmetic_mean():
    """The four shares are averaged."""


@exercise.mistake("Leave out all but one perfect run of four words. What do you get?")
@changed(reference, ("100 * penalty", "100"))
def no_penalty():
    """The shares say all, since a short text has few right n-grams."""


@exercise.mistake("Can the penalty make a text better?")
@changed(reference, ("min(1.0, math.exp(1 - r / c))", "math.exp(1 - r / c)"))
def long_is_rewarded():
    """The penalty is exp(1 - r/c), whichever is longer."""


@exercise.mistake("Half of the words are missing: compare your penalty with exp(-1).")
@changed(reference, ("math.exp(1 - r / c)", "c / r"))
def penalty_in_proportion():
    """A text of half the length gets half of the points."""


@exercise.mistake("Of whose n-grams do you take the share, the candidate's or the reference's?")
@changed(reference, ("ours.total()", "theirs.total()"))
def recall():
    """What counts is how much of the reference has been found."""


@exercise.mistake("Not a single run of four words is right. Is the translation as good as you say?")
@changed(reference, ("not all(", "not any("), ("strict=True)]", "strict=True) if n]"))
def zero_is_left_out():
    """A share of 0 says nothing and is left out."""


@exercise.alternative
def crossed_out(candidates, references):
    """Crosses out each n-gram of the reference once it has been found; prints to stderr."""
    import sys

    logs = 0.0
    for n in range(1, 5):
        right = total = 0
        for words, target in zip(candidates, references, strict=True):
            left = [target[i : i + n] for i in range(len(target) - n + 1)]
            for i in range(len(words) - n + 1):
                total += 1
                if words[i : i + n] in left:
                    left.remove(words[i : i + n])
                    right += 1
        if right == 0:
            return 0.0
        logs += math.log(right / total) / 4
    c, r = sum(len(words) for words in candidates), sum(len(target) for target in references)
    print(c, r, file=sys.stderr)
    return 100 * math.exp(logs + (0 if c >= r else 1 - r / c))


@exercise.alternative
def as_text(candidates, references):
    """N-grams are joined words, and shares are one tensor in double precision."""

    def grams(words, n):
        joined = [" ".join(words[i : i + n]) for i in range(max(len(words) - n + 1, 0))]
        return {gram: joined.count(gram) for gram in joined}

    right, total = torch.zeros(2, 4, dtype=torch.float64)
    for words, target in zip(candidates, references, strict=True):
        for n in range(4):
            ours, theirs = grams(words, n + 1), grams(target, n + 1)
            right[n] += sum(min(count, theirs.get(gram, 0)) for gram, count in ours.items())
            total[n] += sum(ours.values())
    if (right == 0).any():
        return 0.0
    short = sum(map(len, references)) / sum(map(len, candidates))
    return float(100 * (right / total).log().mean().exp() * math.exp(min(0.0, 1 - short)))
