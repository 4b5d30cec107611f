"""What every module keeps: its generator draws its weights, and dropout belongs to training."""

import pytest
import torch
from torch import randn

from course_lib.attention import MultiHeadAttention
from course_lib.efficient import (
    LinformerAttention,
    LongformerAttention,
    PerformerAttention,
)
from course_lib.favit import FaViT, FaViTConfig
from course_lib.hybrid import Hybrid, HybridConfig
from course_lib.layers import DecoderBlock, EncoderBlock
from course_lib.multimodal import DualEncoder, DualEncoderConfig
from course_lib.positions import LearnedPositions, WindowBias
from course_lib.resnet import ResNet, ResNetConfig
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.swin import Swin, SwinConfig, WindowAttention
from course_lib.transformer import DecoderOnly, DecoderOnlyConfig, EncoderDecoder, TransformerConfig
from course_lib.vit import ViT, ViTConfig

SMALL = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 2}
DRAWN = {
    "vit": lambda g: ViT(ViTConfig(**SMALL, image_size=12, positions="learned"), generator=g),
    "hybrid": lambda g: Hybrid(HybridConfig(image_size=8, widths=(8,) * 3, d_head=8), generator=g),
    "resnet": lambda g: ResNet(ResNetConfig(widths=(8, 16), n_blocks=(1, 1)), generator=g),
    "swin": lambda g: Swin(SwinConfig(image_size=16, patch_size=2, d_model=8, depths=(2,),
                                      n_heads=(1,), window=4), generator=g),
    "favit": lambda g: FaViT(FaViTConfig(image_size=32, depths=(1, 1, 1, 1)), generator=g),
    "seq2seq": lambda g: Seq2Seq(
        Seq2SeqConfig(12, 11, d_model=6, attention="additive", cell="lstm"), generator=g
    ),
    "decoder only": lambda g: DecoderOnly(DecoderOnlyConfig(vocab_size=9, **SMALL), generator=g),
    "encoder and decoder": lambda g: EncoderDecoder(
        TransformerConfig(9, 9, positions="learned", **SMALL), generator=g
    ),
    "dual encoder": lambda g: DualEncoder(
        DualEncoderConfig(image_size=8, patch_size=4, n_words=12, max_len=6, end=11), generator=g
    ),
    "learned positions": lambda g: LearnedPositions(3, 4, generator=g),
    "window bias": lambda g: WindowBias(4, 7, 7, generator=g),
    "performer": lambda g: PerformerAttention(8, 2, 10, generator=g).attend,
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_weights_depend_on_the_generator_alone(name):
    def drawn(seed):
        torch.manual_seed(len(made))
        made.append(DRAWN[name](torch.Generator().manual_seed(seed)))
        return {**dict(made[-1].named_parameters()), **dict(made[-1].named_buffers())}

    made = []
    first, again, other = drawn(0), drawn(0), drawn(1)
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not all(torch.equal(first[key], other[key]) for key in first)


def TOKENS():
    return (randn(2, 8, 16),)


DROPPED = {
    "attention, fused": (lambda p: MultiHeadAttention(16, 2, dropout=p), TOKENS),
    "attention": (lambda p: MultiHeadAttention(16, 2, dropout=p, fused=False), TOKENS),
    "encoder block": (lambda p: EncoderBlock(16, 2, 32, dropout=p), TOKENS),
    "decoder block": (lambda p: DecoderBlock(16, 2, 32, dropout=p), lambda: TOKENS() * 2),
    "linformer, fused": (lambda p: LinformerAttention(16, 2, 8, 4, dropout=p), TOKENS),
    "linformer": (lambda p: LinformerAttention(16, 2, 8, 4, dropout=p, fused=False), TOKENS),
    "longformer": (
        lambda p: LongformerAttention(16, 2, 2, dropout=p),
        lambda: (*TOKENS(), torch.tensor([0])),
    ),
    "window, fused": (lambda p: WindowAttention(16, 2, (2, 4), dropout=p), TOKENS),
    "window": (lambda p: WindowAttention(16, 2, (2, 4), dropout=p, fused=False), TOKENS),
}


@pytest.mark.parametrize("name", DROPPED)
def test_weights_are_dropped_in_training_only(name):
    def out():
        found = module(*inputs)
        return found[0] if isinstance(found, tuple) else found

    make, draw = DROPPED[name]
    torch.manual_seed(0)
    module, inputs = make(0.5), draw()
    assert not torch.equal(out(), out())
    module.eval()
    assert torch.equal(out(), out())
