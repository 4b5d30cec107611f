"""Words with their places on a page, beside LayoutLM."""

from typing import Any

import torch
from torch import Generator, nn

from course_lib.multimodal import LayoutEmbedding
from course_tests.parity.peers.contract import Mechanism, Reference
from course_tests.parity.peers.copying import copy_weights
from course_tests.parity.peers.multimodal.shared import Inputs


def _layout(*, fast: bool, length: int, d_model: int, n_words: int, **sizes: int) -> nn.Module:
    return LayoutEmbedding(n_words, length, d_model)


def _page(generator: Generator, *, batch: int, length: int, n_words: int, **sizes: int) -> Inputs:
    tokens = torch.randint(n_words, (batch, length), generator=generator)
    corners = torch.randint(1001, (2, batch, length, 2), generator=generator).sort(dim=0).values
    return tokens, corners.permute(1, 2, 0, 3).flatten(2)


def _layoutlm(module: LayoutEmbedding, inputs: Inputs) -> Reference:
    from transformers import LayoutLMConfig
    from transformers.models.layoutlm.modeling_layoutlm import LayoutLMEmbeddings

    n_words, d_model = module.words.weight.shape
    peer: Any = LayoutLMEmbeddings(
        LayoutLMConfig(
            vocab_size=n_words,
            hidden_size=d_model,
            max_position_embeddings=len(module.positions),
            max_2d_position_embeddings=len(module.x.weight),
            layer_norm_eps=module.norm.eps,
            type_vocab_size=1,
        )
    )
    with torch.no_grad():
        peer.position_embeddings.weight.copy_(module.positions)
        # Kinds of text are no part of the layout.
        peer.token_type_embeddings.weight.zero_()
        peer.word_embeddings.weight.copy_(module.words.weight)
        for name in ("x", "y", "h", "w"):
            ours = {"h": "height", "w": "width"}.get(name, name)
            table = getattr(peer, f"{name}_position_embeddings").weight
            table.copy_(getattr(module, ours).weight)
    copy_weights(peer.LayerNorm, module.norm)
    tokens, boxes = inputs
    return Reference(peer.to(module.positions).eval(), (tokens, boxes, torch.zeros_like(tokens)))


MECHANISMS = (
    Mechanism(
        name="layout_embedding",
        source="Xu et al. (2020), section 2.2",
        build=_layout,
        inputs=_page,
        tiny={"batch": 2, "length": 5, "d_model": 8, "n_words": 20},
        small=dict(batch=4, length=32, d_model=64, n_words=100),
        large=dict(batch=4, length=256, d_model=256, n_words=1000),
        peer=_layoutlm,
        peer_name="transformers.models.layoutlm.modeling_layoutlm.LayoutLMEmbeddings",
        fast=False,
    ),
)
