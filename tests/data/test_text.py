"""The annotated sentences: links that are right, and that counting words does not find."""

from random import Random

import torch

from course_lib.data import Vocabulary, annotated_text, collate_text
from course_lib.data import text as grammar
from course_lib.data.text import MARKS, RELATIONS, draw_sentence
from course_tests.refusals import refusals

SENTENCES = annotated_text(600, seed=0)
SINGULAR = {noun.singular: noun.pronoun for noun in grammar._NOUNS} | dict(grammar._NAMES)
PLURAL = {noun.plural: "they" for noun in grammar._NOUNS}
FITS = SINGULAR | PLURAL | {p: p for p in ("he", "she", "it", "they")}


def test_every_verb_agrees_with_the_subject_it_is_linked_to():
    third = {forms[1] for forms in grammar._TRANSITIVE + grammar._INTRANSITIVE} | {"is"}
    base = {forms[0] for forms in grammar._TRANSITIVE + grammar._INTRANSITIVE} | {"are"}
    for sentence in SENTENCES:
        verbs = {start for start, _ in sentence.relations["agreement"]}
        assert verbs == {i for i, word in enumerate(sentence.tokens) if word in third | base}
        for verb, subject in sentence.relations["agreement"]:
            plural = FITS[sentence.tokens[subject]] == "they"
            assert (sentence.tokens[verb] in base) is plural
            assert sentence.clauses[verb] == sentence.clauses[subject]


def test_every_pronoun_means_an_earlier_noun_that_fits():
    pronouns = {"he", "she", "it", "they"}
    for sentence in SENTENCES:
        found = {start for start, _ in sentence.relations["coreference"]}
        assert found == {i for i, word in enumerate(sentence.tokens) if word in pronouns}
        for pronoun, noun in sentence.relations["coreference"]:
            assert noun < pronoun and sentence.tokens[noun] not in pronouns
            assert FITS[sentence.tokens[noun]] == sentence.tokens[pronoun]
            assert sentence.clauses[noun] < sentence.clauses[pronoun]


def test_a_pronoun_fits_only_one_thing_that_the_clause_before_speaks_of():
    for sentence in SENTENCES:
        for pronoun, _ in sentence.relations["coreference"]:
            before = sentence.clauses[pronoun] - 1
            spoken_of = [
                FITS[word]
                for word, clause in zip(sentence.tokens, sentence.clauses, strict=True)
                if clause == before and word in FITS
            ]
            assert spoken_of.count(sentence.tokens[pronoun]) == 1


def test_marks_and_emphasis_are_where_the_words_are():
    names = [name for name, _ in grammar._NAMES]
    for sentence in SENTENCES:
        words = sentence.tokens
        signs = {i for i, word in enumerate(words) if word in ".,"}
        assert set(sentence.marks["separators"]) == signs
        assert set(sentence.marks["names"]) == {i for i, word in enumerate(words) if word in names}
        assert set(sentence.marks["rare"]) == {
            i for i, word in enumerate(words) if word in names[len(names) // 2 :]
        }
        for strong, adjective in sentence.relations["emphasis"]:
            assert words[strong] in grammar._INTENSIFIERS and adjective == strong + 1
    rare = sum(len(s.marks["rare"]) for s in SENTENCES)
    assert 0.05 < rare / sum(len(s.marks["names"]) for s in SENTENCES) < 0.35


def test_splits_share_nothing_and_a_seed_repeats():
    train, test = annotated_text(200, 0, "train"), annotated_text(200, 0, "test")
    assert not {s.tokens for s in train} & {s.tokens for s in test}
    assert annotated_text(5, 3) == annotated_text(5, 3) != annotated_text(5, 4)
    assert max(max(s.clauses) for s in annotated_text(50, 0, max_clauses=1)) == 0


def test_a_batch_moves_links_and_marks_behind_the_first_token():
    sentences = SENTENCES[:8]
    vocabulary = Vocabulary.of(s.tokens for s in sentences)
    batch = collate_text(sentences, vocabulary)
    assert len(batch) == 8
    for row, sentence in enumerate(sentences):
        n = len(sentence.tokens)
        assert vocabulary.decode(batch.tokens[row]) == list(sentence.tokens)
        assert batch.keep[row].sum() == n + 2
        inner = slice(1, n + 1)
        for name in RELATIONS:
            assert torch.equal(batch.relations[name][row, inner, inner], sentence.links(name))
            assert batch.relations[name][row].sum() == len(sentence.relations[name])
        for name in MARKS:
            places = batch.marks[name][row, inner].nonzero().flatten().tolist()
            assert places == list(sentence.marks[name])
        assert batch.clauses[row, inner].tolist() == list(sentence.clauses)
        assert batch.clauses[row, 0] == batch.clauses[row, n + 1] == -1


test_wrong_input_is_named = refusals(
    (lambda: annotated_text(-1, 0), "n is -1"),
    (lambda: annotated_text(1, 0, "dev"), "split is 'dev'"),
    (lambda: draw_sentence(Random(0), 0), "max_clauses is 0"),
    (lambda: collate_text([], Vocabulary([])), "empty"),
)
