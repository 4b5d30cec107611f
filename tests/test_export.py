"""Whole models leave Python by `torch.export` with a batch of any size."""

import pytest
import torch
from torch import randn
from torch.export import Dim, export

from course_lib.favit import FaViT, FaViTConfig
from course_lib.informer import Informer, InformerConfig
from course_lib.multimodal import DualEncoder, DualEncoderConfig
from course_lib.swin import Swin, SwinConfig
from course_lib.vit import ViT, ViTConfig

SMALL = InformerConfig(seq_len=24, label_len=12, pred_len=6, d_model=32, n_heads=4, d_ff=32)
SHIFTED = SwinConfig(
    image_size=32, patch_size=2, window=4, n_classes=10, depths=(2, 2), n_heads=(2, 4), d_model=16
)


def image(batch):
    return (randn(batch, 3, 32, 32),)


def texts(batch):
    ids = torch.randint(3, 100, (batch, 16))
    ids[:, batch] = 2  # the token that ends a text
    return (ids,)


def window(batch):
    return randn(batch, 24, 7), torch.rand(batch, 24, 4) - 0.5, torch.rand(batch, 6, 4) - 0.5


@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (lambda: ViT(ViTConfig()), image),
        (lambda: Swin(SHIFTED), image),
        (lambda: FaViT(FaViTConfig(image_size=32, depths=(1, 1, 1, 1))), image),
        (lambda: DualEncoder(DualEncoderConfig()).image_tower, image),
        (lambda: DualEncoder(DualEncoderConfig()).text_tower, texts),
        (lambda: Informer(SMALL), window),
    ],
    ids=["vit", "swin", "favit", "image tower", "text tower", "informer"],
)
def test_a_model_exported_with_two_takes_five(model, inputs):
    model, example = model().eval(), inputs(2)
    batch = Dim("batch", min=1, max=64)
    exported = export(model, example, dynamic_shapes=tuple({0: batch} for _ in example))
    five = inputs(5)
    torch.testing.assert_close(exported.module()(*five), model(*five))
