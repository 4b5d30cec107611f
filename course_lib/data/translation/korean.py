"""Korean to English: the verb comes last, particles mark the roles, so the word order changes.

    개가 큰 고양이를 봅니다 .   (dog-subject big cat-object sees)
    the dog sees the big cat .

What the grammar carries, because later chapters look for it in attention weights: particles
(one word to several), counters and light verbs (several words to one), agreement in number and
tense in English and in honorifics in Korean, pronouns and 자기 ("one's own", which takes its
gender from the subject), questions with "do", relative clauses, lists, names that get rarer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

from course_lib.data.translation import korean_words as words
from course_lib.data.translation.hangul import attach, romanise
from course_lib.data.translation.korean_words import Noun, Pronoun, Verb
from course_lib.data.translation.pairs import Phrase, SentencePair, Word

SUBJECT, OBJECT, AND = "이/가", "을/를", "과/와"
_NOT_OWNED = tuple(noun for noun in words.PEOPLE if noun.english in ("woman", "man"))

MIN_LENGTH = 3


@dataclass
class _NounPhrase:
    """A noun phrase that can still grow; ``items`` are further nouns of a list."""

    head: Noun
    plural: bool = False
    number: tuple[str, str] | None = None
    own: bool = False
    adjectives: list[list[tuple[str, str]]] = field(default_factory=list)
    relative: tuple[Noun, Verb] | None = None
    items: list[Noun] = field(default_factory=list)

    @property
    def is_plural(self) -> bool:
        return self.plural or self.number is not None or bool(self.items)


@dataclass
class _Clause:
    subject: _NounPhrase | Pronoun
    verb: Verb
    object: _NounPhrase | Pronoun | None = None
    adverb: tuple[str, str] | None = None
    place: tuple[str, str] | None = None
    time: tuple[str, str, str | None] | None = None

    @property
    def honorific(self) -> bool:
        subject = self.subject
        return isinstance(subject, _NounPhrase) and any(
            noun.honorific for noun in (subject.head, *subject.items)
        )

    @property
    def third_singular(self) -> bool:
        if isinstance(self.subject, Pronoun):
            return self.subject.third_singular
        return not self.subject.is_plural

    @property
    def possessive(self) -> str:
        if isinstance(self.subject, Pronoun):
            return self.subject.possessive
        return "their" if self.subject.is_plural else self.subject.head.gender


class KoreanEnglish:
    """Draws sentences of an exact source length.

    The ``script`` ``"roman"`` writes the Korean side in Latin letters (for figures and fonts),
    ``"hangul"`` as it is.
    """

    min_length = MIN_LENGTH

    def __init__(self, script: str = "roman") -> None:
        if script not in ("roman", "hangul"):
            raise ValueError(f"script is {script!r}, wanted 'roman' or 'hangul'")
        self.script = script
        self._name_weights = [1.0 / (rank + 1) for rank in range(len(words.NAMES))]

    def sample(self, rng: Random, length: int) -> SentencePair:
        """Draw one sentence of ``length`` source tokens, final punctuation included; at least 3."""
        if length < MIN_LENGTH:
            raise ValueError(f"length is {length}, wanted at least {MIN_LENGTH}")
        if length == 3 and rng.random() < 0.02:
            phrase = Phrase.of(*rng.choice(words.GREETINGS))
            # "good" and "evening" have a word each of their own.
            korean, english = phrase.source, [text for text, _ in phrase.target]
            phrase.target = [(text, (word,)) for text, word in zip(english, korean, strict=True)]
            phrase = Phrase.join([phrase, Phrase.of(".", ".")])
        else:
            # A clause of pronouns, say, cannot grow much: then another sentence is drawn.
            sentence = None
            while sentence is None:
                sentence = self._sentence(rng, length)
            phrase = sentence
        if self.script == "roman":
            for word in phrase.source:
                word.text = romanise(word.text)
        return phrase.pair()

    # Growing: a plan is given one option after the other until its length is exact.

    def _sentence(self, rng: Random, length: int) -> Phrase | None:
        """A sentence of ``length`` tokens, or None if a clause ran out of ways to grow."""
        question = rng.random() < 0.15
        past = rng.random() < 0.5
        budget = length - 1
        joints: list[str] = []
        # A clause gets at least 4 tokens, and one more for the comma after "but".
        while budget >= 9 and not question and rng.random() < budget / 20:
            joints.append(rng.choice(("고", "지만")))
            budget -= 4 + (joints[-1] == "지만")
        shares = [4] * len(joints) + [budget]
        for _ in range(budget - 4 if joints else 0):
            shares[-1] -= 1
            shares[rng.randrange(len(shares))] += 1
        clauses = [self._clause(rng, share, past) for share in shares]
        parts: list[Phrase] = []
        for clause, joint in zip(clauses, [*joints, "?" if question else ""], strict=True):
            if clause is None:
                return None
            parts.extend(_realise(clause, past, joint))
        mark = "?" if question else "."
        return Phrase.join([*parts, Phrase.of(mark, mark)])

    def _noun(self, rng: Random, kinds: Sequence[tuple[Noun, ...]], used: list[Noun]) -> Noun:
        """Draw a kind, then a noun of it that the clause does not hold yet."""
        kind = rng.choice(kinds)
        while True:
            noun = (
                rng.choices(kind, self._name_weights)[0]
                if kind is words.NAMES
                else rng.choice(kind)
            )
            if noun not in used:
                used.append(noun)
                return noun

    def _clause(self, rng: Random, length: int, past: bool) -> _Clause | None:
        used: list[Noun] = []

        def noun_phrase(*kinds: tuple[Noun, ...]) -> _NounPhrase:
            noun = self._noun(rng, kinds, used)
            return _NounPhrase(noun, plural=noun.plural is not None and rng.random() < 0.25)

        transitive = length >= 3 and rng.random() < 0.8
        verb = rng.choice(
            [v for v in words.VERBS if v.transitive == transitive and (not v.light or length >= 3)]
        )
        clause = _Clause(noun_phrase(words.PEOPLE, words.ANIMALS, words.NAMES), verb)
        if rng.random() < 0.2:
            clause.subject = rng.choice(words.PRONOUNS)
        if "p" in verb.objects and rng.random() < 0.15:
            clause.object = rng.choice([p for p in words.PRONOUNS if p is not clause.subject])
        elif transitive:
            clause.object = noun_phrase(*_objects(verb))
        room = length - 2 - transitive - bool(verb.light)
        while room:
            options = self._options(rng, clause, past, used)
            options = [option for option in options if option[0] <= room]
            if not options:
                return None
            cost, grow = rng.choice(options)
            grow()
            room -= cost
        return clause

    def _options(
        self, rng: Random, clause: _Clause, past: bool, used: list[Noun]
    ) -> list[tuple[int, Callable[[], object]]]:
        """Ways in which the clause can grow: what it costs in tokens, and the growing itself."""
        options: list[tuple[int, Callable[[], object]]] = []
        if clause.adverb is None:
            options.append((1, partial(setattr, clause, "adverb", rng.choice(words.ADVERBS))))
        if clause.place is None:
            options.append((1, partial(setattr, clause, "place", rng.choice(words.PLACES))))
        if clause.time is None:
            time = rng.choice([t for t in words.TIMES if past or not t[2]])
            options.append((len(time[0].split()), partial(setattr, clause, "time", time)))
        for phrase in (clause.subject, clause.object):
            if not isinstance(phrase, _NounPhrase):
                continue
            single = not (phrase.number or phrase.own or phrase.items)
            if not phrase.head.name:
                options.extend(_describe(rng, phrase))
                if single and phrase.head.plural and not phrase.plural:
                    number = rng.choice(words.NUMBERS)
                    options.append((2, partial(setattr, phrase, "number", number)))
                if single and phrase is clause.object and phrase.head not in _NOT_OWNED:
                    options.append((1, partial(setattr, phrase, "own", True)))
            # Without the dice lists would be everywhere: for a name they are the only way to grow.
            listing = len(phrase.items) < 3 and rng.random() < 0.4
            if listing and not (phrase.number or phrase.own):
                subject = phrase is clause.subject
                kinds = (words.PEOPLE, words.NAMES) if subject else _objects(clause.verb)
                options.append((1, partial(self._add_item, rng, phrase, kinds, used)))
        return options

    def _add_item(
        self, rng: Random, phrase: _NounPhrase, kinds: Sequence[tuple[Noun, ...]], used: list[Noun]
    ) -> None:
        phrase.items.append(self._noun(rng, kinds, used))


def _objects(verb: Verb) -> list[tuple[Noun, ...]]:
    kinds = {"p": (words.PEOPLE, words.NAMES), "a": (words.ANIMALS,), "t": (words.THINGS,) * 2}
    return [nouns for letter in verb.objects for nouns in kinds[letter]]


def _describe(rng: Random, phrase: _NounPhrase) -> list[tuple[int, Callable[[], object]]]:
    """Adjectives, an intensifier on each, and a relative clause for what can act."""
    options: list[tuple[int, Callable[[], object]]] = []
    if len(phrase.adjectives) < 2:
        taken = [adjective[0][0] for adjective in phrase.adjectives]
        fitting = [a for a in words.ADJECTIVES if phrase.head.kind in a[2] and a[0] not in taken]
        options.append((1, partial(phrase.adjectives.append, [rng.choice(fitting)[:2]])))
    for adjective in phrase.adjectives:
        if len(adjective) == 1:
            options.append((1, partial(adjective.append, rng.choice(words.INTENSIFIERS))))
    if phrase.relative is None and phrase.head.kind != "t":
        verb = rng.choice([v for v in words.VERBS if "t" in v.objects])
        relative = (rng.choice(words.THINGS), verb)
        options.append((2, partial(setattr, phrase, "relative", relative)))
    return options


# Realising: from a finished plan to words in both orders.


def _noun_phrase(plan: _NounPhrase, particle: str, possessive: str) -> Phrase:
    before: list[Phrase] = []
    own = Phrase.of("자기", possessive) if plan.own else None
    relative: Phrase | None = None
    if plan.relative is not None:
        thing, verb = plan.relative
        patient = _bare_noun(thing, OBJECT)
        acted = Phrase.of(verb.relative(), f"that {verb.english_past}")
        before.append(Phrase.join([patient, acted]))
        relative = Phrase.join([acted, patient])
    adjectives = [
        Phrase.join(Phrase.of(*word) for word in reversed(adjective))  # the intensifier first
        for adjective in plan.adjectives
    ]
    if own is not None:
        before.append(own)
    before.extend(adjectives)

    head = plan.head
    last = head.korean + ("들" if plan.plural else "")
    english = str(head.plural) if plan.plural or plan.number else head.english
    list_particle = AND if plan.items else particle
    if plan.number is not None:
        number, counter = (
            Word(plan.number[0]),
            Word(_with_particle(head, head.counter, list_particle)),
        )
        noun = Word(head.korean)
        source = Phrase([noun, number, counter])
        determiner = Phrase([], [(plan.number[1], (number, counter))])
    else:
        noun = Word(_with_particle(head, last, list_particle))
        source = Phrase([noun])
        determiner = Phrase([], [] if head.name or own else [("the", (noun,))])
    noun_target = Phrase([], [(english, (noun,))])
    target = [determiner, *([own] if own else []), *adjectives, noun_target]
    if relative is not None:
        target.append(relative)
    phrases = [Phrase.join([*before, source], target)]
    for i, item in enumerate(plan.items):
        last_item = i == len(plan.items) - 1
        # The particle on the noun before is what "and", or the comma, translates.
        joint = phrases[-1].source[-1]
        phrases[-1].target.append(("and" if last_item else ",", (joint,)))
        phrases.append(_bare_noun(item, particle if last_item else AND))
    return Phrase.join(phrases)


def _with_particle(noun: Noun, korean: str, particle: str) -> str:
    if particle == SUBJECT and noun.honorific:
        return korean + "께서"
    return attach(korean, particle)


def _bare_noun(noun: Noun, particle: str) -> Phrase:
    """A noun and its particle in one word, article and noun in two: 1 to n."""
    text = noun.english if noun.name else f"the {noun.english}"
    return Phrase.of(_with_particle(noun, noun.korean, particle), text)


def _realise(clause: _Clause, past: bool, joint: str) -> list[Phrase]:
    """The clause, and the word that joins it to the next one, as phrases in sentence order."""
    if isinstance(clause.subject, Pronoun):
        subject = Phrase.of(clause.subject.topic, clause.subject.english)
    else:
        subject = _noun_phrase(clause.subject, SUBJECT, "")
    if clause.object is None:
        object_ = Phrase()
    elif isinstance(clause.object, Pronoun):
        object_ = Phrase.of(clause.object.object, clause.object.english_object)
    else:
        object_ = _noun_phrase(clause.object, OBJECT, clause.possessive)

    verb = clause.verb
    if joint == "고":
        form = verb.joining(clause.honorific)
    else:
        form = verb.finite(
            past, clause.honorific, "지만" if joint == "지만" else "?" if joint else ""
        )
    if joint == "?":
        english = verb.english
    elif past:
        english = verb.english_past
    else:
        english = verb.third if clause.third_singular else verb.english
    action = Phrase.of(f"{verb.light} {form}".strip(), english)

    adverb = Phrase.of(*clause.adverb) if clause.adverb else Phrase()
    place = Phrase.of(*clause.place) if clause.place else Phrase()
    time = Phrase.of(*clause.time[:2]) if clause.time else Phrase()
    if clause.time and len(clause.time[0].split()) > 1:
        time.target = [
            (text, (word,)) for (text, _), word in zip(time.target, time.source, strict=True)
        ]
    source = [time, subject, place, adverb, object_, action]
    target = [subject, action, object_, adverb, place, time]
    finite = action.source[-1]
    if joint == "?":
        did = "did" if past else "does" if clause.third_singular else "do"
        target.insert(0, Phrase([], [(did, (finite,))]))
    parts = [Phrase.join(source, target)]
    if joint == "고":
        parts.append(Phrase([], [("and", (finite,))]))
    elif joint == "지만":
        parts.append(Phrase.join([Phrase.of(",", ","), Phrase([], [("but", (finite,))])]))
    return parts
