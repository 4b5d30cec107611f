"""Whole models leave Python by `torch.export` with a batch of any size."""

import math

import pytest
import torch
from torch import randn
from torch.export import Dim, export
from torch.func import vmap

from course_lib.favit import FaViT, FaViTConfig
from course_lib.informer import Informer, InformerConfig
from course_lib.masks import from_additive, from_integers, padding_mask, to_lengths
from course_lib.multimodal import DualEncoder, DualEncoderConfig
from course_lib.swin import Swin, SwinConfig
from course_lib.transformer import DecoderOnly, DecoderOnlyConfig, EncoderDecoder, TransformerConfig
from course_lib.vit import ViT, ViTConfig

SMALL = InformerConfig(seq_len=24, label_len=12, pred_len=6, d_model=32, n_heads=4, d_ff=32)
SHIFTED = SwinConfig(
    image_size=32, patch_size=2, window=4, n_classes=10, depths=(2, 2), n_heads=(2, 4), d_model=16
)
GPT = DecoderOnlyConfig(vocab_size=100, d_model=16, n_heads=2, d_ff=32, n_layers=1)
PAIR = TransformerConfig(
    source_vocab_size=20, target_vocab_size=20, d_model=16, n_heads=2, d_ff=32, n_layers=1
)


def image(batch):
    return (randn(batch, 3, 32, 32),)


def texts(batch):
    ids = torch.randint(3, 100, (batch, 16))
    ids[:, batch] = 2  # the token that ends a text
    return (ids,)


def pairs(batch):
    ids = torch.randint(3, 20, (batch, 8))
    return ids, torch.randint(3, 9, (batch,)), ids.flip(1)


def window(batch):
    return randn(batch, 24, 7), torch.rand(batch, 24, 4) - 0.5, torch.rand(batch, 6, 4) - 0.5


MODELS = {
    "vit": (lambda: ViT(ViTConfig()), image),
    "swin": (lambda: Swin(SHIFTED), image),
    "favit": (lambda: FaViT(FaViTConfig(image_size=32, depths=(1, 1, 1, 1))), image),
    "image tower": (lambda: DualEncoder(DualEncoderConfig()).image_tower, image),
    "text tower": (lambda: DualEncoder(DualEncoderConfig()).text_tower, texts),
    "informer": (lambda: Informer(SMALL), window),
    "gpt": (lambda: DecoderOnly(GPT), texts),
    "transformer": (lambda: EncoderDecoder(PAIR), pairs),
}


@pytest.mark.parametrize("name", list(MODELS)[:6])
def test_a_model_exported_with_two_takes_five(name):
    make, inputs = MODELS[name]
    model, example = make().eval(), inputs(2)
    batch = Dim("batch", min=1, max=64)
    exported = export(model, example, dynamic_shapes=tuple({0: batch} for _ in example))
    five = inputs(5)
    torch.testing.assert_close(exported.module()(*five), model(*five))


# How many queries an Informer ranks depends on what it reads.
@pytest.mark.parametrize("name", sorted(MODELS.keys() - {"informer"}))
def test_a_model_gives_what_it_gives_under_vmap(name):
    make, inputs = MODELS[name]
    model, two = make().eval(), inputs(2)

    def alone(*example):
        return model(*(x[None] for x in example))[0]

    torch.testing.assert_close(vmap(alone)(*two), model(*two), atol=1e-5, rtol=1e-4)


def test_what_reads_tensors_reads_none_under_vmap():
    blocked = torch.tensor([[0.0, -math.inf], [0.0, 0.0]])
    lengths = vmap(lambda n: padding_mask(n[None], 4)[0])(torch.tensor([1, 3]))
    assert torch.equal(lengths, padding_mask(torch.tensor([1, 3]), 4))
    assert vmap(from_additive)(blocked).equal(blocked == 0)
    assert vmap(from_integers)(blocked.isfinite().long()).equal(blocked == 0)
    assert vmap(lambda mask: to_lengths(mask[None])[0])(lengths).tolist() == [1, 3]
