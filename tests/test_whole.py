"""The models on one page compute what the library's do, with its weights."""

import pytest
import torch

from course_lib.transformer import DecoderOnly, DecoderOnlyConfig
from course_lib.vit import ViT, ViTConfig
from course_lib.whole import GPT, VisionTransformer, load

SIZES = {"d_model": 16, "n_heads": 4, "d_ff": 24, "n_layers": 3}


@pytest.fixture
def texts():
    config = DecoderOnlyConfig(vocab_size=11, max_len=20, dropout=0.0, **SIZES)
    theirs = DecoderOnly(config, generator=torch.Generator().manual_seed(0)).eval()
    ours = GPT(11, 20, **SIZES)
    load(ours, theirs.state_dict())
    return theirs, ours, torch.randint(11, (3, 9), generator=torch.Generator().manual_seed(1))


def test_gpt_predicts_what_the_library_predicts(texts):
    theirs, ours, tokens = texts
    torch.testing.assert_close(ours(tokens), theirs(tokens))
    torch.testing.assert_close(ours.loss(tokens), theirs.loss(tokens))


def test_gpt_writes_what_the_library_writes(texts):
    theirs, ours, tokens = texts
    written = ours.generate(tokens, 8, temperature=0)
    assert written[:, :9].equal(tokens)
    assert written[:, 9:].equal(theirs.generate(tokens, max_len=8).tokens)


def test_gpt_with_kept_keys_predicts_as_without(texts):
    _, ours, tokens = texts
    pasts = [[] for _ in ours.blocks]
    parts = [ours(tokens[:, a:b], pasts) for a, b in ((0, 4), (4, 5), (5, 9))]
    torch.testing.assert_close(torch.cat(parts, dim=1), ours(tokens))


def test_vision_transformer_classifies_as_the_library_does():
    config = ViTConfig(image_size=8, patch_size=2, dropout=0.0, positions="learned", **SIZES)
    theirs = ViT(config, generator=torch.Generator().manual_seed(0)).eval()
    ours = VisionTransformer(8, 2, 10, **SIZES)
    load(ours, theirs.state_dict())
    images = torch.randn(5, 3, 8, 8)
    torch.testing.assert_close(ours(images), theirs(images))


def test_weights_of_another_kind_are_refused(texts):
    theirs, _, _ = texts
    with pytest.raises(RuntimeError, match="Missing key"):
        load(VisionTransformer(8, 2, 10, **SIZES), theirs.state_dict())
