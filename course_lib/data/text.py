"""Generated English sentences that say what belongs to what in them.

    the dogs near the old house are very tired , because they see anna .

Every sentence comes with the links that head roles are defined by: which verb agrees with which
noun, whom a pronoun means, what an intensifier strengthens; and with marks on punctuation and on
names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from course_lib.data.translation import SentencePair, Split, Vocabulary, split_of

Relation = Literal["agreement", "coreference", "emphasis"]
Mark = Literal["separators", "names", "rare"]
RELATIONS: tuple[Relation, ...] = ("agreement", "coreference", "emphasis")
MARKS: tuple[Mark, ...] = ("separators", "names", "rare")


class _Noun(NamedTuple):
    singular: str
    plural: str
    pronoun: str  # of the singular, as a subject


_NOUNS = (
    _Noun("man", "men", "he"),
    _Noun("boy", "boys", "he"),
    _Noun("king", "kings", "he"),
    _Noun("woman", "women", "she"),
    _Noun("girl", "girls", "she"),
    _Noun("queen", "queens", "she"),
    _Noun("dog", "dogs", "it"),
    _Noun("cat", "cats", "it"),
    _Noun("horse", "horses", "it"),
    _Noun("bird", "birds", "it"),
    _Noun("house", "houses", "it"),
    _Noun("garden", "gardens", "it"),
    _Noun("tree", "trees", "it"),
    _Noun("river", "rivers", "it"),
    _Noun("table", "tables", "it"),
    _Noun("street", "streets", "it"),
)
NOUN_FORMS = tuple((noun.singular, noun.plural) for noun in _NOUNS)
"""All nouns: the singular, and the plural."""
# The first names are frequent; those of the second half count as rare.
_NAMES = (
    *(("anna", "she"), ("paul", "he"), ("emma", "she"), ("max", "he"), ("lena", "she")),
    *(("felix", "he"), ("ida", "she"), ("oscar", "he"), ("hedwig", "she"), ("ignaz", "he")),
    *(("thekla", "she"), ("veit", "he"), ("wilma", "she"), ("quirin", "he"), ("xenia", "she")),
    *(("zeno", "he"),),
)
_NAME_WEIGHTS = tuple(1.0 / (rank + 1) for rank in range(len(_NAMES)))
_FIRST_RARE = len(_NAMES) // 2
_TRANSITIVE = tuple((verb, verb + "s") for verb in "see like find follow know seek".split())
_INTRANSITIVE = tuple((verb, verb + "s") for verb in "sleep run sing wait rest dream".split())
VERB_FORMS = (("are", "is"), *_TRANSITIVE, *_INTRANSITIVE)
"""All verbs: the form that goes with a plural, and with a singular."""
_ADJECTIVES = "old young small big white black quiet".split()
_STATES = "tired happy hungry calm lost cold".split()
_INTENSIFIERS = "very really quite".split()
_PREPOSITIONS = "near behind beside above".split()
_JOINTS = ("because", "but", "and", "while")


@dataclass(frozen=True)
class TextSentence:
    """A sentence and what belongs to what in it.

    Args:
        tokens: T words and signs.
        relations: By name, pairs (from, to): ``agreement`` from a verb to its subject,
            ``coreference`` from a pronoun to the noun it means, of all that the clause
            before speaks of the only one that fits, ``emphasis`` from an intensifier to the
            adjective.
        marks: By name, positions: ``separators`` are signs, ``names`` names, ``rare`` the rare ones
            among them.
        clauses: Number of the clause of each token.

    Example:
        >>> sentence = draw_sentence(Random(1))
        >>> print(*sentence.tokens)
        ignaz sees the tables , while they rest .
        >>> sentence.relations["agreement"], sentence.relations["coreference"]
        (((1, 0), (7, 6)), ((6, 3),))
    """

    tokens: tuple[str, ...]
    relations: dict[Relation, tuple[tuple[int, int], ...]]
    marks: dict[Mark, tuple[int, ...]]
    clauses: tuple[int, ...]

    def links(self, relation: Relation) -> Tensor:
        """A relation as boolean ``(T, T)``, as weights are: rows ask, columns are found."""
        links = torch.zeros(len(self.tokens), len(self.tokens), dtype=torch.bool)
        for start, end in self.relations[relation]:
            links[start, end] = True
        return links


@dataclass
class _Writer:
    """A sentence that is being written."""

    tokens: list[str] = field(default_factory=list)
    clauses: list[int] = field(default_factory=list)
    relations: dict[Relation, list[tuple[int, int]]] = field(
        default_factory=lambda: {name: [] for name in RELATIONS}
    )
    marks: dict[Mark, list[int]] = field(default_factory=lambda: {name: [] for name in MARKS})
    clause: int = 0

    def write(self, word: str) -> int:
        self.tokens.append(word)
        self.clauses.append(self.clause)
        return len(self.tokens) - 1

    def separate(self, sign: str) -> None:
        self.marks["separators"].append(self.write(sign))

    def describe(self, rng: Random, adjectives: Sequence[str], emphasis: float) -> None:
        strong = self.write(rng.choice(_INTENSIFIERS)) if rng.random() < emphasis else None
        adjective = self.write(rng.choice(adjectives))
        if strong is not None:
            self.relations["emphasis"].append((strong, adjective))

    def finish(self) -> TextSentence:
        return TextSentence(
            tuple(self.tokens),
            {name: tuple(pairs) for name, pairs in self.relations.items()},
            {name: tuple(places) for name, places in self.marks.items()},
            tuple(self.clauses),
        )


class _Referent(NamedTuple):
    """Something that was spoken of: where, and which pronoun means it."""

    place: int
    pronoun: str

    @property
    def plural(self) -> bool:
        return self.pronoun == "they"


def draw_sentence(rng: Random, max_clauses: int = 3) -> TextSentence:
    """Draw one sentence, a full stop at its end."""
    if max_clauses < 1:
        raise ValueError(f"max_clauses is {max_clauses}, wanted at least 1")
    writer = _Writer()
    spoken_of = _clause(rng, writer, None)
    while writer.clause + 1 < max_clauses and rng.random() < 0.6:
        writer.separate(",")
        writer.clause += 1
        writer.write(rng.choice(_JOINTS))
        # A pronoun that could mean two things would mean neither.
        pronouns = [referent.pronoun for referent in spoken_of]
        clear = [referent for referent in spoken_of if pronouns.count(referent.pronoun) == 1]
        meant = rng.choice(clear) if clear and rng.random() < 0.8 else None
        spoken_of = _clause(rng, writer, meant)
    writer.separate(".")
    return writer.finish()


def _clause(rng: Random, writer: _Writer, meant: _Referent | None) -> list[_Referent]:
    """Write a clause, about ``meant`` if that is given; return what it speaks of."""
    if meant is None:
        subject = _noun_phrase(rng, writer)
    else:
        place = writer.write(meant.pronoun)
        writer.relations["coreference"].append((place, meant.place))
        subject = _Referent(place, meant.pronoun)
    spoken_of = [meant or subject]
    if meant is None and rng.random() < 0.6:
        writer.write(rng.choice(_PREPOSITIONS))
        spoken_of.append(_noun_phrase(rng, writer, other_than=subject))
    kind = rng.choice(("be", "transitive", "transitive", "intransitive"))
    if kind == "be":
        verb = writer.write("are" if subject.plural else "is")
        writer.describe(rng, _STATES, emphasis=0.5)
    else:
        forms = rng.choice(_TRANSITIVE if kind == "transitive" else _INTRANSITIVE)
        verb = writer.write(forms[0] if subject.plural else forms[1])
        if kind == "transitive":
            spoken_of.append(_noun_phrase(rng, writer))
    writer.relations["agreement"].append((verb, subject.place))
    return spoken_of


def _noun_phrase(rng: Random, writer: _Writer, *, other_than: _Referent | None = None) -> _Referent:
    """Write a noun phrase; next to ``other_than`` it is mostly of the other number."""
    if other_than is None and rng.random() < 0.25:
        rank = rng.choices(range(len(_NAMES)), _NAME_WEIGHTS)[0]
        name, pronoun = _NAMES[rank]
        place = writer.write(name)
        writer.marks["names"].append(place)
        if rank >= _FIRST_RARE:
            writer.marks["rare"].append(place)
        return _Referent(place, pronoun)
    noun = rng.choice(_NOUNS)
    plural = rng.random() < 0.5
    if other_than is not None and rng.random() < 0.7:
        plural = not other_than.plural
    writer.write("the")
    if rng.random() < 0.3:
        writer.describe(rng, _ADJECTIVES, emphasis=0.3)
    place = writer.write(noun.plural if plural else noun.singular)
    return _Referent(place, "they" if plural else noun.pronoun)


def annotated_text(
    n: int, seed: int, split: Split = "train", max_clauses: int = 3
) -> list[TextSentence]:
    """Draw n sentences of one split; the three splits share none, and some are alike."""
    if n < 0:
        raise ValueError(f"n is {n}, wanted at least 0")
    if split not in ("train", "valid", "test"):
        raise ValueError(f"split is {split!r}, wanted 'train', 'valid' or 'test'")
    rng = Random(f"text/{split}/{seed}")
    sentences: list[TextSentence] = []
    while len(sentences) < n:
        sentence = draw_sentence(rng, max_clauses)
        if split_of(SentencePair((), sentence.tokens, ())) == split:
            sentences.append(sentence)
    return sentences


@dataclass(frozen=True)
class TextBatch:
    """Sentences as padded tensors, a token at each end included.

    ``tokens``, ``keep`` (``False`` for padding) and ``clauses`` (-1 there) are ``(B, T)``;
    relations and marks are, by name, boolean ``(B, T, T)`` and ``(B, T)``.
    """

    tokens: Tensor
    keep: Tensor
    relations: dict[Relation, Tensor]
    marks: dict[Mark, Tensor]
    clauses: Tensor

    def __len__(self) -> int:
        return len(self.tokens)


def collate_text(sentences: Sequence[TextSentence], vocabulary: Vocabulary) -> TextBatch:
    """Encode and pad sentences between ``bos`` and ``eos``; links and marks move along."""
    if not sentences:
        raise ValueError("sentences is empty, wanted at least one")
    length = 2 + max(len(sentence.tokens) for sentence in sentences)
    shape = (len(sentences), length)
    tokens = torch.full(shape, vocabulary.pad)
    clauses = torch.full(shape, -1)
    relations = {name: torch.zeros(*shape, length, dtype=torch.bool) for name in RELATIONS}
    marks = {name: torch.zeros(shape, dtype=torch.bool) for name in MARKS}
    for row, sentence in enumerate(sentences):
        ids = torch.tensor(vocabulary.encode(sentence.tokens, bos=True, eos=True))
        tokens[row, : len(ids)] = ids
        clauses[row, 1 : len(ids) - 1] = torch.tensor(sentence.clauses)
        for relation, pairs in sentence.relations.items():
            for start, end in pairs:
                relations[relation][row, start + 1, end + 1] = True
        for mark, places in sentence.marks.items():
            for place in places:
                marks[mark][row, place + 1] = True
    return TextBatch(tokens, tokens != vocabulary.pad, relations, marks, clauses)
