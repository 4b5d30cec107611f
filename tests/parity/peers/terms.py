"""Positions inside of scores and values: Legendre, the four terms, TUPE, DeBERTa."""

from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.positions.legendre import legendre_polynomials
from course_lib.positions.terms import (
    DisentangledAttention,
    FourTermAttention,
    TupeAttention,
    TupePositions,
)
from course_tests.parity.peers.contract import TOKENS, Lambda, Mechanism, Reference, built, drawn
from course_tests.parity.peers.copying import copy_submodules, copy_weights


def _points(generator: Generator, *, d_model: int, **sizes: int) -> tuple[Tensor, ...]:
    return (torch.rand(d_model, generator=generator) * 2 - 1,)


def _numpy_legendre(module: Any, inputs: tuple[Any, ...]) -> Reference:
    from numpy.polynomial.legendre import legvander

    degree: int = module.fixed["degree"]
    # It computes in the precision that it is given; the course computes in double.
    points = inputs[0].double().numpy()
    return Reference(lambda x: torch.from_numpy(legvander(x, degree)).T, (points,))


class _Tupe(nn.Module):
    """One layer and its positions."""

    def __init__(self, d_model: int, n_heads: int, max_len: int, fused: bool) -> None:
        super().__init__()
        self.positions = TupePositions(d_model, n_heads, max_len)
        self.attention = TupeAttention(d_model, n_heads, fused=fused)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, self.positions(x.shape[1]))


def _deberta(*, fast: bool, length: int, d_model: int, n_heads: int, **sizes: int) -> nn.Module:
    return DisentangledAttention(d_model, n_heads, span=_span(length), fused=fast)


def _span(length: int) -> int:
    """Less than the longest distance, so that some pairs share a row."""
    return max(1, length // 2)


def _tokens_and_table(
    generator: Generator, *, length: int, d_model: int, **sizes: int
) -> tuple[Tensor, ...]:
    tokens = TOKENS(generator, length=length, d_model=d_model, **sizes)
    return (*tokens, torch.randn(2 * _span(length), d_model, generator=generator))


def _deberta_peer(module: Any, inputs: tuple[Any, ...]) -> Reference:
    from transformers import DebertaV2Config
    from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention

    config = DebertaV2Config(
        hidden_size=module.d_model,
        num_attention_heads=module.n_heads,
        relative_attention=True,
        max_relative_positions=module.span,
        pos_att_type=["c2p", "p2c"],
    )
    peer = DisentangledSelfAttention(config).to(inputs[0]).eval()
    copy_submodules(
        peer,
        module,
        "query_proj=q_proj key_proj=k_proj value_proj=v_proj"
        " pos_query_proj=position_q_proj pos_key_proj=position_k_proj",
    )
    # There the last projection belongs to the next module, together with a norm.
    out_proj = nn.Linear(module.d_model, module.d_model).to(inputs[0])
    copy_weights(out_proj, module.out_proj)
    B, T, _ = inputs[0].shape
    mask = torch.ones(B, 1, T, T, dtype=torch.bool)

    def call(x: Tensor, table: Tensor) -> Tensor:
        return out_proj(peer(x, mask, rel_embeddings=table)[0])

    return Reference(call, inputs)


MECHANISMS = (
    Mechanism(
        name="legendre",
        source="Aggarwal (2024), equations 14 and 15",
        build=built(partial(Lambda, legendre_polynomials), "degree=length"),
        inputs=_points,
        tiny={"length": 12, "d_model": 9},
        small=dict(length=64, d_model=64),
        large=dict(length=512, d_model=512),
        peer=_numpy_legendre,
        peer_name="numpy.polynomial.legendre.legvander",
        trains=False,
        note="a table of positions, nothing of which is trained",
    ),
    Mechanism(
        name="four_terms",
        home=__name__,
        source="Ke et al. (2021), section 3.1; the ablation report, section 2.3",
        build=built(FourTermAttention, "d_model", "n_heads"),
        inputs=drawn("batch length d_model", "length d_model"),
        tiny={"batch": 2, "length": 5, "d_model": 8, "n_heads": 2},
        small=dict(batch=2, length=64, d_model=128, n_heads=4),
        large=dict(batch=2, length=512, d_model=512, n_heads=8),
    ),
    Mechanism(
        name="tupe",
        home=__name__,
        source="Ke et al. (2021), sections 3.1 and 3.2",
        build=built(_Tupe, "d_model", "n_heads", "length"),
        inputs=TOKENS,
        tiny={"batch": 2, "length": 4, "d_model": 8, "n_heads": 2},
        small=dict(batch=2, length=64, d_model=128, n_heads=4),
        large=dict(batch=2, length=512, d_model=512, n_heads=8),
    ),
    Mechanism(
        name="deberta",
        source="He et al. (2021), section 3.1",
        build=_deberta,
        inputs=_tokens_and_table,
        # The peer takes the root of 3 Dh in single precision; that of 36 is exact.
        tiny={"batch": 2, "length": 7, "d_model": 24, "n_heads": 2},
        small=dict(batch=2, length=32, d_model=64, n_heads=4),
        large=dict(batch=2, length=256, d_model=256, n_heads=8),
        peer=_deberta_peer,
        peer_name="transformers.models.deberta_v2.modeling_deberta_v2.DisentangledSelfAttention",
    ),
)
