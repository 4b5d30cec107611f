"""The half that writes, with or without looking back at the states of the other."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.seq2seq.config import CELLS, Attention, Cell, State, recur
from course_lib.seq2seq.scores import (
    attend,
    bahdanau,
    compare_projected,
    luong_concat,
    luong_dot,
    luong_general,
    luong_readout,
)


class Score(nn.Module):
    """One of the four score functions together with its parameters.

    Example:
        >>> [sum(p.numel() for p in Score(kind, 10).parameters())
        ...  for kind in ("dot", "general", "concat", "additive")]
        [0, 100, 210, 210]
    """

    def __init__(self, kind: Attention, d_model: int) -> None:
        super().__init__()
        self.kind = kind
        if kind == "general":
            self.weight = nn.Parameter(torch.empty(d_model, d_model))
        elif kind == "concat":
            self.weight = nn.Parameter(torch.empty(d_model, 2 * d_model))
        elif kind == "additive":
            self.weight_query = nn.Parameter(torch.empty(d_model, d_model))
            self.weight_key = nn.Parameter(torch.empty(d_model, d_model))
        if kind in ("concat", "additive"):
            self.v = nn.Parameter(torch.empty(d_model))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(d_model**-0.5), d_model**-0.5)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score every key ``(B, S, D)`` for every query ``(B, T, D)``: ``(B, T, S)``."""
        if self.kind == "dot":
            return luong_dot(query, keys)
        if self.kind == "general":
            return luong_general(query, keys, self.weight)
        if self.kind == "concat":
            return luong_concat(query, keys, self.weight, self.v)
        return bahdanau(query, keys, self.weight_query, self.weight_key, self.v)


class Decoder(nn.Module):
    """Write the target sentence, starting from the last encoder state.

    Without attention this state is all it ever knows of the source. With Luong's scores the
    recurrence runs first and all its states then attend in one batched step (there is no input
    feeding). With Bahdanau's the context is part of the next input, so the words come one by one;
    its readout here is Luong's, not the maxout layer of the paper.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        *,
        n_layers: int = 1,
        cell: Cell = "gru",
        attention: Attention | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)
        self.rnn = CELLS[cell](
            2 * d_model if attention == "additive" else d_model,
            d_model,
            num_layers=n_layers,
            batch_first=True,
            dropout=dropout if n_layers > 1 else 0.0,
        )
        if attention is not None:
            self.score = Score(attention, d_model)
            self.concat_proj = nn.Linear(2 * d_model, d_model, bias=False)
        self.out_proj = nn.Linear(d_model, vocab_size)

    def forward(
        self, tokens: Tensor, state: State, memory: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor | None, State]:
        """Read target tokens ``(B, T)``, the start token first, and predict the next after each.

        Returns logits ``(B, T, V)``, weights ``(B, T, S)`` (None without attention) and the state
        of every layer, ``(L, B, D)`` as before the first token. The memory holds encoder states
        ``(B, S, D)``; the mask ``(B, 1, S)`` is ``True`` for a real source word.
        """
        x = self.dropout(self.embedding(tokens))
        if self.attention is None:
            hidden, state = recur(self.rnn, x, state)
            return self.out_proj(self.dropout(hidden)), None, state
        if self.attention == "additive":
            hidden, context, weights, state = self._step_by_step(x, state, memory, mask)
        else:
            hidden, state = recur(self.rnn, x, state)
            context, weights = attend(self.score(hidden, memory), memory, mask)
        readout = luong_readout(context, hidden, self.concat_proj.weight)
        return self.out_proj(self.dropout(readout)), weights, state

    def _step_by_step(
        self, x: Tensor, state: State, memory: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, State]:
        hidden, contexts, weights = [], [], []
        keys = F.linear(memory, self.score.weight_key)  # the same at every step
        for x_t in x.split(1, dim=1):
            layers = state[0] if isinstance(state, tuple) else state
            # The state before this word asks: what it will be depends on the answer.
            query = F.linear(layers[-1][:, None], self.score.weight_query)
            context, weight = attend(compare_projected(query, keys, self.score.v), memory, mask)
            hidden_t, state = recur(self.rnn, torch.cat([x_t, context], dim=-1), state)
            hidden.append(hidden_t)
            contexts.append(context)
            weights.append(weight)
        return torch.cat(hidden, 1), torch.cat(contexts, 1), torch.cat(weights, 1), state
