"""BERT: padding, both directions, dropout."""

import torch

from course_lib.multimodal import BertText, BertTextConfig
from course_tests.refusals import refusals

CONFIG = BertTextConfig(n_words=20, max_len=8, d_model=16, n_heads=2, d_ff=32, dropout=0.1)


def model():
    return BertText(CONFIG, generator=torch.Generator().manual_seed(0)).eval()


def test_padding_changes_nothing():
    tokens = torch.tensor([[1, 5, 6, 7]])
    padded = torch.tensor([[1, 5, 6, 7, 0, 0, 0]])
    hidden, summary = model()(tokens)
    hidden_padded, summary_padded = model()(padded)
    torch.testing.assert_close(hidden_padded[:, :4], hidden)
    torch.testing.assert_close(summary_padded, summary)


def test_every_word_sees_every_other_and_its_segment_and_place():
    tokens = torch.tensor([[1, 5, 6, 7]])
    hidden, _ = model()(tokens)
    for place in range(4):
        other = tokens.clone()
        other[0, place] = 9
        assert (model()(other)[0] - hidden).abs().amax(-1).min() > 1e-5
    swapped = torch.tensor([[1, 6, 5, 7]])
    assert not torch.allclose(model()(swapped)[0][:, 3], hidden[:, 3], atol=1e-4)
    second = model()(tokens, torch.tensor([[0, 0, 1, 1]]))[0]
    assert not torch.allclose(second, hidden, atol=1e-3)
    torch.testing.assert_close(model()(tokens, torch.zeros(1, 4).long())[0], hidden)


TOKENS = torch.ones(1, 4).long()
test_wrong_input_is_named = refusals(
    (lambda: model()(TOKENS[0]), "wanted \\(B, T\\) with T at most 8"),
    (lambda: model()(torch.ones(1, 9).long()), "T at most 8"),
    (lambda: model()(TOKENS, torch.zeros(1, 3).long()), "segments have shape"),
    (lambda: BertTextConfig(d_model=10), "n_heads is 4"),
)
