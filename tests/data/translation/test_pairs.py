import pytest
import torch

from course_lib.data.translation.pairs import Phrase, SentencePair


def test_matrix_has_target_rows_and_source_columns() -> None:
    pair = SentencePair(("a", "b"), ("x", "y", "z"), ((0, 2), (1, 0), (1, 1)))
    expected = torch.tensor([[0, 1], [0, 1], [1, 0]], dtype=torch.bool)
    assert torch.equal(pair.alignment_matrix(), expected)


@pytest.mark.parametrize("link", [(2, 0), (0, 1), (-1, 0)])
def test_link_outside_the_sentences_is_refused(link: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="outside a sentence of 2 source and 1 target"):
        SentencePair(("a", "b"), ("x",), (link,))


def test_join_reorders_the_target_and_keeps_the_links() -> None:
    subject, verb, object_ = Phrase.of("S", "s"), Phrase.of("V", "v"), Phrase.of("O", "the o")
    pair = Phrase.join([subject, object_, verb], [subject, verb, object_]).pair()
    assert pair.source == ("S", "O", "V")
    assert pair.target == ("s", "v", "the", "o")
    assert pair.alignment == ((0, 0), (1, 2), (1, 3), (2, 1))


def test_equal_words_keep_links_of_their_own() -> None:
    pair = Phrase.join([Phrase.of("x", "a"), Phrase.of("x", "b")]).pair()
    assert pair.alignment == ((0, 0), (1, 1))
