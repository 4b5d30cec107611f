"""BERT: counts, padding, both directions, and masking as the paper says."""

import pytest
import torch

from course_lib.multimodal import BertText, BertTextConfig, bert_base, mask_words

CONFIG = BertTextConfig(n_words=20, max_len=8, d_model=16, n_heads=2, d_ff=32, dropout=0.1)


def model():
    return BertText(CONFIG, generator=torch.Generator().manual_seed(0)).eval()


def test_counts():
    with torch.device("meta"):
        assert sum(p.numel() for p in bert_base().parameters()) == 109_482_240


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


def test_masking_hides_changes_and_leaves_in_the_right_shares():
    tokens = torch.full((50, 400), 7)
    keep = torch.ones_like(tokens, dtype=torch.bool)
    keep[:, 0] = False
    hidden, asked = mask_words(
        tokens, torch.Generator().manual_seed(0), mask_id=3, n_words=1000, keep=keep
    )
    assert not asked[:, 0].any() and torch.equal(hidden[~asked], tokens[~asked])
    assert asked[:, 1:].float().mean().item() == pytest.approx(0.15, abs=0.01)
    chosen = hidden[asked]
    assert (chosen == 3).float().mean().item() == pytest.approx(0.8, abs=0.02)
    assert (chosen == 7).float().mean().item() == pytest.approx(0.1, abs=0.02)
    assert (tokens == 7).all()
    none = mask_words(tokens, torch.Generator(), mask_id=3, n_words=9, share=0.0)[1]
    assert not none.any()


def test_wrong_input_is_named():
    tokens = torch.ones(1, 4).long()
    cases = [
        (lambda: model()(tokens[0]), r"wanted \(B, T\) with T at most 8"),
        (lambda: model()(torch.ones(1, 9).long()), "T at most 8"),
        (lambda: model()(tokens, torch.zeros(1, 3).long()), "segments have shape"),
        (lambda: BertTextConfig(d_model=10), "n_heads is 4"),
        (lambda: mask_words(tokens, torch.Generator(), mask_id=3, n_words=9, share=2), "share is"),
        (
            lambda: mask_words(tokens, torch.Generator(), mask_id=3, n_words=9, keep=tokens),
            "wanted boolean",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
