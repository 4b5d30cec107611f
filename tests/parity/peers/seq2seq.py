"""Attention between two recurrent networks."""

from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.attention import fused_attention
from course_lib.masks import padding_mask
from course_lib.recurrence import gru_step, unroll
from course_lib.seq2seq import Score, Seq2Seq, Seq2SeqConfig, attend, luong_readout
from course_tests.parity.peers.contract import Mechanism, Reference, built


class Lookup(nn.Module):
    """What a decoder looks up at all its steps at once."""

    def __init__(self, kind: Any, d_model: int, *, fused: bool = False) -> None:
        super().__init__()
        self.score = Score(kind, d_model)
        self.fused = fused

    def forward(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Look up."""
        if self.fused:
            # Luong's scores are not divided by the root of the width.
            return fused_attention(query @ self.score.weight, keys, keys, mask, scale=1.0)
        return attend(self.score(query, keys), keys, mask)[0]


def _bahdanau(*, fast: bool, d_model: int, **sizes: int) -> nn.Module:
    return Lookup("additive", d_model)


def _lengths(generator: Generator, batch: int, longest: int) -> Tensor:
    lengths = torch.randint(1, longest + 1, (batch,), generator=generator)
    lengths[0] = longest
    return lengths


def _states(
    generator: Generator, *, batch: int, length: int, memory: int, d_model: int
) -> tuple[Tensor, ...]:
    query, keys = (torch.randn(batch, n, d_model, generator=generator) for n in (length, memory))
    return query, keys, padding_mask(_lengths(generator, batch, memory), memory)[:, 0]


def _pair_by_pair(module: Any, inputs: tuple[Any, ...]) -> Reference:
    """Each sentence and each query alone, over its real words only."""
    score = module.score

    def one(q: Tensor, keys: Tensor) -> Tensor:
        if score.kind == "general":
            energies = [(score.weight.T @ q) @ key for key in keys]
        else:
            hidden = [score.weight_query @ q + score.weight_key @ key for key in keys]
            energies = [score.v @ h.tanh() for h in hidden]
        return torch.stack(energies).softmax(dim=0) @ keys

    def call(query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        contexts = [
            torch.stack([one(q, h[seen[0]]) for q in queries])
            for queries, h, seen in zip(query, keys, mask, strict=True)
        ]
        return torch.stack(contexts)

    return Reference(call, inputs)


def _translator(*, fast: bool, d_model: int, n_words: int, **sizes: int) -> nn.Module:
    return Seq2Seq(
        Seq2SeqConfig(n_words, n_words, d_model=d_model, bidirectional=True, attention="general")
    )


def _sentences(
    generator: Generator, *, batch: int, length: int, d_model: int, n_words: int
) -> tuple[Tensor, ...]:
    source, target = (
        torch.randint(3, n_words, (batch, length), generator=generator) for _ in range(2)
    )
    lengths = _lengths(generator, batch, length)
    target[:, 0] = 1  # the start token
    return source.masked_fill(torch.arange(length) >= lengths[:, None], 0), lengths, target


def _sentence_by_sentence(model: Any, inputs: tuple[Any, ...]) -> Reference:
    """Each sentence alone and word by word, without padding and packing."""

    def one(source: Tensor, target: Tensor) -> Tensor:
        x = model.encoder.embedding(source)[None]
        zero = x.new_zeros(1, model.encoder.rnn.hidden_size)
        there, back = model.encoder.rnn.all_weights
        forward, last = unroll(gru_step, x, zero, *there)
        backward, first = unroll(gru_step, x.flip(1), zero, *back)
        memory = torch.cat([forward, backward.flip(1)], dim=-1)
        state = torch.cat([last, first], dim=-1)
        decoder = model.decoder
        hidden, _ = unroll(
            gru_step, decoder.embedding(target)[None], state, *decoder.rnn.all_weights[0]
        )
        context, _ = attend(hidden @ decoder.score.weight @ memory.mT, memory)
        return decoder.out_proj(luong_readout(context, hidden, decoder.concat_proj.weight))

    def call(source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        return torch.cat(
            [one(s[:n], t) for s, n, t in zip(source, lengths.tolist(), target, strict=True)]
        )

    return Reference(call, inputs)


MECHANISMS = (
    Mechanism(
        name="luong_general",
        source='Luong et al. (2015), section 3.1, "general"',
        build=built(partial(Lookup, "general"), "d_model"),
        inputs=_states,
        tiny={"batch": 3, "length": 4, "memory": 5, "d_model": 6},
        small=dict(batch=8, length=16, memory=16, d_model=64),
        large=dict(batch=32, length=64, memory=64, d_model=256),
        oracle=_pair_by_pair,
    ),
    Mechanism(
        name="bahdanau",
        source="Bahdanau et al. (2015), appendix A.1.2",
        build=_bahdanau,
        inputs=_states,
        tiny={"batch": 3, "length": 4, "memory": 5, "d_model": 6},
        small=dict(batch=8, length=16, memory=16, d_model=64),
        large=dict(batch=16, length=64, memory=64, d_model=128),
        oracle=_pair_by_pair,
        fast=False,
    ),
    Mechanism(
        name="recurrent_seq2seq",
        source="Luong et al. (2015), section 3, on a bidirectional GRU",
        build=_translator,
        inputs=_sentences,
        tiny={"batch": 3, "length": 5, "d_model": 6, "n_words": 9},
        small=dict(batch=8, length=12, d_model=64, n_words=50),
        large=dict(batch=32, length=24, d_model=256, n_words=200),
        oracle=_sentence_by_sentence,
        fast=False,
        compiles=False,
        note="torch.compile refuses nn.GRU and packed sequences, both by decision of its makers",
    ),
)
