"""German to English in the same word order: the pair on which attention is a diagonal.

    der alte mann sieht einen kleinen hund .
    the old man sees a small dog .

Only constructions with the same order in both languages are drawn (main clauses, no verb bracket,
adverbials at the end), so every alignment is monotonic. German articles, adjectives and pronouns
agree with the noun in gender and case: "er", "sie" and "es" are all "it" for a thing. Two words
meet one ("noch einmal" - "again"), and one meets two ("im" - "in the", "apfelbaum" - "apple tree").
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import NamedTuple

from course_lib.data.translation.pairs import Phrase, SentencePair

MIN_LENGTH = 3


class _Noun(NamedTuple):
    german: str
    english: str
    gender: str  # m, f or n
    kind: str  # p(erson), a(nimal) or t(hing)
    name: bool = False


_NOUNS = (
    _Noun("mann", "man", "m", "p"),
    _Noun("frau", "woman", "f", "p"),
    _Noun("kind", "child", "n", "p"),
    _Noun("lehrer", "teacher", "m", "p"),
    _Noun("ärztin", "doctor", "f", "p"),
    _Noun("hund", "dog", "m", "a"),
    _Noun("katze", "cat", "f", "a"),
    _Noun("pferd", "horse", "n", "a"),
    _Noun("vogel", "bird", "m", "a"),
    _Noun("tisch", "table", "m", "t"),
    _Noun("lampe", "lamp", "f", "t"),
    _Noun("buch", "book", "n", "t"),
    _Noun("stuhl", "chair", "m", "t"),
    _Noun("tasche", "bag", "f", "t"),
    _Noun("bild", "picture", "n", "t"),
    _Noun("apfelbaum", "apple tree", "m", "t"),
    _Noun("haustür", "front door", "f", "t"),
)
_NAMES = tuple(
    _Noun(name, name, gender, "p", name=True)
    for names, gender in (
        ("anna lena marie julia eva klara ida frieda hedwig notburga", "f"),
        ("paul felix jonas emil anton karl otto bruno veit ignaz", "m"),
    )
    for name in names.split()
)
# The first names of both lists are frequent, the last ones rare.
_NAME_WEIGHTS = tuple(1.0 / (rank % (len(_NAMES) // 2) + 1) for rank in range(len(_NAMES)))
_SURNAMES = "müller schmidt weber fischer wagner becker".split()
# (German, English, kinds of noun that it fits)
_ADJECTIVES = (
    ("alt", "old", "pat"),
    ("klein", "small", "pat"),
    ("schön", "beautiful", "pat"),
    ("jung", "young", "pa"),
    ("rot", "red", "t"),
    ("neu", "new", "t"),
    ("schwarz", "black", "at"),
)
_INTENSIFIERS = (("sehr", "very"), ("wirklich", "really"), ("ganz", "quite"))
_TRANSITIVE = (
    ("sieht", "sees"),
    ("findet", "finds"),
    ("malt", "paints"),
    ("sucht", "seeks"),
    ("kennt", "knows"),
    ("mag", "likes"),
)
_INTRANSITIVE = (("schläft", "sleeps"), ("lacht", "laughs"), ("singt", "sings"))
_BE = ("ist", "is")
# Each adverbial as the (German, English) segments that translate each other.
_ADVERBIALS = (
    (("heute", "today"),),
    (("jetzt", "now"),),
    (("hier", "here"),),
    (("oben", "upstairs"),),
    (("im", "in the"), ("park", "park")),
    (("im", "in the"), ("garten", "garden")),
    (("zu", "at"), ("hause", "home")),
    (("noch einmal", "again"),),
)
_GREETINGS = (("morgen", "morning"), ("tag", "day"), ("abend", "evening"))
# Nominative and accusative; only the masculine tells them apart.
_DEFINITE = {"m": ("der", "den"), "f": ("die", "die"), "n": ("das", "das")}
_INDEFINITE = {"m": ("ein", "einen"), "f": ("eine", "eine"), "n": ("ein", "ein")}
_AFTER_DEFINITE = {"m": ("e", "en"), "f": ("e", "e"), "n": ("e", "e")}
_AFTER_INDEFINITE = {"m": ("er", "en"), "f": ("e", "e"), "n": ("es", "es")}
_GERMAN_PRONOUN = {"m": "er", "f": "sie", "n": "es"}
_ENGLISH_PRONOUN = {"m": "he", "f": "she", "n": "it"}


@dataclass
class _NounPhrase:
    """A name, a pronoun for ``noun``, or article, adjectives and noun.

    An adjective is ``[(German, English)]``, with an intensifier ``[(…), (…)]``.
    """

    noun: _Noun
    definite: bool = True
    pronoun: bool = False
    adjectives: list[list[tuple[str, str]]] = field(default_factory=list)

    @property
    def full(self) -> bool:
        return not (self.noun.name or self.pronoun)

    def __len__(self) -> int:
        return 1 + self.full + sum(len(adjective) for adjective in self.adjectives)

    def realise(self, case: int) -> Phrase:
        """The phrase as a subject (case 0) or as an object (case 1)."""
        gender = self.noun.gender
        if self.pronoun:
            english = _ENGLISH_PRONOUN[gender] if self.noun.kind == "p" else "it"
            return Phrase.of(_GERMAN_PRONOUN[gender], english)
        noun = Phrase.of(self.noun.german, self.noun.english)
        if self.noun.name:
            return noun
        article = (_DEFINITE if self.definite else _INDEFINITE)[gender][case]
        ending = (_AFTER_DEFINITE if self.definite else _AFTER_INDEFINITE)[gender][case]
        words: list[Phrase] = []
        for (german, english), *intensifier in self.adjectives:
            words += [Phrase.of(*word) for word in intensifier]
            words.append(Phrase.of(german + ending, english))
        words.append(noun)
        next_letter = words[0].target[0][0][0]
        indefinite = "an" if next_letter in "aeiou" else "a"
        return Phrase.join([Phrase.of(article, "the" if self.definite else indefinite), *words])


@dataclass
class _Clause:
    """Subject, verb, and an object, a predicate adjective, or neither; then adverbials."""

    subject: _NounPhrase
    verb: tuple[str, str]
    object: _NounPhrase | None = None
    predicate: list[tuple[str, str]] = field(default_factory=list)
    adverbials: list[tuple[tuple[str, str], ...]] = field(default_factory=list)

    def __len__(self) -> int:
        object_ = 0 if self.object is None else len(self.object)
        adverbials = sum(_n_words(adverbial) for adverbial in self.adverbials)
        return len(self.subject) + 1 + object_ + len(self.predicate) + adverbials

    def realise(self, question: bool) -> Phrase:
        subject, verb = self.subject.realise(case=0), Phrase.of(*self.verb)
        phrases = [verb, subject] if question else [subject, verb]
        if self.object is not None:
            phrases.append(self.object.realise(case=1))
        phrases += [Phrase.of(*word) for word in reversed(self.predicate)]
        phrases += [Phrase.of(*part) for adverbial in self.adverbials for part in adverbial]
        return Phrase.join(phrases)


def _n_words(adverbial: tuple[tuple[str, str], ...]) -> int:
    return sum(len(german.split()) for german, _ in adverbial)


class GermanEnglish:
    """Draws sentences of an exact source length, with monotonic alignments."""

    min_length = MIN_LENGTH

    def sample(self, rng: Random, length: int) -> SentencePair:
        """Draw one sentence of ``length`` source tokens, final punctuation included; at least 3."""
        if length < MIN_LENGTH:
            raise ValueError(f"length is {length}, wanted at least {MIN_LENGTH}")
        if length in (3, 5, 6) and rng.random() < 0.1:
            return _greeting(rng, length).pair()
        while (sentence := _sentence(rng, length)) is None:
            pass  # a clause of a name and a verb cannot grow much: draw another
        return sentence.pair()


def _greeting(rng: Random, length: int) -> Phrase:
    phrases = [Phrase.of("guten", "good"), Phrase.of(*rng.choice(_GREETINGS))]
    if length > 3:
        phrases.append(Phrase.of(",", ","))
    if length == 5:
        name = _name(rng)
        phrases.append(Phrase.of(name.german, name.english))
    if length == 6:
        surname = rng.choice(_SURNAMES)
        phrases += [Phrase.of(*rng.choice((("herr", "mr"), ("frau", "ms"))))]
        phrases += [Phrase.of(surname, surname)]
    mark = rng.choice(".!")
    return Phrase.join([*phrases, Phrase.of(mark, mark)])


def _sentence(rng: Random, length: int) -> Phrase | None:
    """Clauses of ``length`` tokens in all, or None if one of them ran out of ways to grow."""
    question = length >= 4 and rng.random() < 0.1
    phrases: list[Phrase] = []
    antecedent: _Noun | None = None
    room = length - 1
    # Another clause needs a comma, a conjunction and 3 tokens.
    while room >= 8 and not question and rng.random() < room / 14:
        share = rng.randint(3, min(room - 5, 9))
        clause = _clause(rng, share, antecedent)
        if clause is None:
            return None
        conjunction = rng.choice((("und", "and"), ("aber", "but")))
        phrases += [clause.realise(False), Phrase.of(",", ","), Phrase.of(*conjunction)]
        antecedent = clause.subject.noun
        room -= share + 2
    clause = _clause(rng, room, antecedent, question)
    if clause is None:
        return None
    mark = "?" if question else "."
    return Phrase.join([*phrases, clause.realise(question), Phrase.of(mark, mark)])


def _noun_phrase(rng: Random, exclude: _Noun | None = None) -> _NounPhrase:
    named = rng.random() < 0.3
    noun = _name(rng) if named else rng.choice(_NOUNS)
    while noun is exclude:
        noun = _name(rng) if named else rng.choice(_NOUNS)
    return _NounPhrase(noun, definite=rng.random() < 0.6)


def _name(rng: Random) -> _Noun:
    return rng.choices(_NAMES, _NAME_WEIGHTS)[0]


def _clause(
    rng: Random, length: int, antecedent: _Noun | None, question: bool = False
) -> _Clause | None:
    """A clause of ``length`` tokens; with an ``antecedent`` its subject may be a pronoun."""
    subject = _noun_phrase(rng)
    if antecedent is not None and rng.random() < 0.5:
        subject = _NounPhrase(antecedent, pronoun=True)
    if question or subject.noun.kind == "t" or rng.random() < 0.2:
        fitting = [a for a in _ADJECTIVES if subject.noun.kind in a[2]]
        clause = _Clause(subject, _BE, predicate=[rng.choice(fitting)[:2]])
    elif rng.random() < 0.8 and length > 2:
        object_ = _noun_phrase(rng, exclude=subject.noun)
        clause = _Clause(subject, rng.choice(_TRANSITIVE), object_)
    else:
        clause = _Clause(subject, rng.choice(_INTRANSITIVE))
    while len(clause) < length:
        room = length - len(clause)
        options = [grow for cost, grow in _options(rng, clause, question) if cost <= room]
        if not options:
            return None
        rng.choice(options)()
    return clause if len(clause) == length else None


def _options(
    rng: Random, clause: _Clause, question: bool
) -> list[tuple[int, Callable[[], object]]]:
    """Ways in which the clause can grow: what it costs in tokens, and the growing itself."""
    options: list[tuple[int, Callable[[], object]]] = []
    for phrase in (clause.subject, clause.object):
        if phrase is None or not phrase.full:
            continue
        if len(phrase.adjectives) < 2:
            taken = [adjective[0] for adjective in phrase.adjectives]
            fitting = [a[:2] for a in _ADJECTIVES if phrase.noun.kind in a[2]]
            adjective = [rng.choice([a for a in fitting if a not in taken])]
            options.append((1, partial(phrase.adjectives.append, adjective)))
        for adjective in phrase.adjectives:
            if len(adjective) == 1:
                options.append((1, partial(adjective.append, rng.choice(_INTENSIFIERS))))
    if len(clause.predicate) == 1:
        options.append((1, partial(clause.predicate.append, rng.choice(_INTENSIFIERS))))
    if len(clause.adverbials) < 3 and not question and not clause.predicate:
        adverbial = rng.choice([a for a in _ADVERBIALS if a not in clause.adverbials])
        options.append((_n_words(adverbial), partial(clause.adverbials.append, adverbial)))
    return options
