"""Encoder and decoder together: training on true words, writing without them."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.decoding import Decoded, Method, check_target, decode
from course_lib.layers import evaluating
from course_lib.masks import padding_mask
from course_lib.seq2seq.config import Seq2SeqConfig, State
from course_lib.seq2seq.decoder import Decoder
from course_lib.seq2seq.encoder import Encoder


class Writing(NamedTuple):
    """State of a recurrent decoder between two tokens.

    Attributes:
        layers: State of every layer, ``(L, N, D)``; for an LSTM a pair of these.
        memory: Encoder states ``(N, S, D)``.
        mask: Boolean ``(N, 1, S)``; ``True`` = a real source word.
        weights: What every token so far looked at, ``(N, t, S)``; None before the first and
            without attention.
    """

    layers: State
    memory: Tensor
    mask: Tensor
    weights: Tensor | None

    def reorder(self, indices: Tensor) -> "Writing":
        """Let sentence n continue the former sentence ``indices[n]`` of ``(N',)``."""
        if isinstance(self.layers, tuple):
            layers: State = (self.layers[0][:, indices], self.layers[1][:, indices])
        else:
            layers = self.layers[:, indices]
        weights = None if self.weights is None else self.weights[indices]
        return Writing(layers, self.memory[indices], self.mask[indices], weights)


class Seq2Seq(nn.Module):
    """Encoder and decoder together.

    Source: Sutskever et al., Sequence to Sequence Learning with Neural Networks (2014), for the
    model without attention; Luong et al. (2015) and Bahdanau et al. (2015) with it.

    Example:
        >>> config = Seq2SeqConfig(source_vocab_size=20, target_vocab_size=30, attention="general")
        >>> model = Seq2Seq(config, generator=torch.Generator().manual_seed(0))
        >>> source, lengths = torch.tensor([[4, 5, 6], [7, 8, 0]]), torch.tensor([3, 2])
        >>> logits, weights = model(source, lengths, torch.tensor([[1, 9], [1, 9]]),
        ...                         return_weights=True)
        >>> logits.shape, weights.shape
        (torch.Size([2, 2, 30]), torch.Size([2, 2, 3]))
    """

    def __init__(self, config: Seq2SeqConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(
            config.source_vocab_size,
            config.d_model,
            n_layers=config.n_layers,
            cell=config.cell,
            bidirectional=config.bidirectional,
            dropout=config.dropout,
        )
        self.decoder = Decoder(
            config.target_vocab_size,
            config.d_model,
            n_layers=config.n_layers,
            cell=config.cell,
            attention=config.attention,
            dropout=config.dropout,
        )
        bound = config.d_model**-0.5
        for name, parameter in self.named_parameters():
            if "embedding" in name:
                nn.init.normal_(parameter, generator=generator)
            else:
                nn.init.uniform_(parameter, -bound, bound, generator=generator)

    def forward(
        self,
        source: Tensor,
        source_lengths: Tensor,
        target_in: Tensor,
        *,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor | None]:
        """Logits ``(B, T, V)`` of each next token, given the true ones before it (teacher forcing).

        Args:
            source, source_lengths: Tokens ``(B, S)``, padded on the right; how many are real
                ``(B,)``.
            target_in: Target tokens ``(B, T)``, the start token first.
        """
        memory, state = self.encoder(source, source_lengths)
        mask = padding_mask(source_lengths.to(source.device), source.shape[1])[:, 0]
        logits, weights, _ = self.decoder(target_in, state, memory, mask)
        return (logits, weights) if return_weights else logits

    def loss(self, source: Tensor, source_lengths: Tensor, target: Tensor) -> Tensor:
        """Mean cross-entropy per real target token, a scalar.

        The target ``(B, T + 1)`` holds start token, words, end token and padding.
        """
        check_target(target, self.config.pad_id)
        logits = self(source, source_lengths, target[:, :-1])
        labels = target[:, 1:]
        return F.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=self.config.pad_id
        )

    def step(self, tokens: Tensor, state: Writing) -> tuple[Tensor, Writing]:
        """Read the last token of each sentence ``(N,)`` and say what may come next.

        Returns log-probabilities of the next token ``(N, V)`` and the state after this one.
        """
        logits, weights, layers = self.decoder(
            tokens[:, None], state.layers, state.memory, state.mask
        )
        if weights is not None and state.weights is not None:
            weights = torch.cat([state.weights, weights], dim=1)
        return logits[:, 0].log_softmax(-1), Writing(layers, state.memory, state.mask, weights)

    @torch.no_grad()
    def generate(
        self,
        source: Tensor,
        source_lengths: Tensor,
        *,
        max_len: int,
        method: Method = "greedy",
        **options: Any,
    ) -> Decoded[Writing]:
        """Translate: tokens ``(B, T)`` without the start token, from a beam ``(B, K, T)``.

        The attention weights are in ``state.weights``.

        Args:
            source, source_lengths: As for the model.
            method, options: As in :func:`course_lib.decoding.decode`.
        """
        config = self.config
        with evaluating(self):
            memory, layers = self.encoder(source, source_lengths)
            mask = padding_mask(source_lengths.to(source.device), source.shape[1])[:, 0]
            return decode(
                self.step,
                source.new_full((len(source),), config.bos_id),
                Writing(layers, memory, mask, None),
                reorder=Writing.reorder,
                method=method,
                max_len=max_len,
                end=config.eos_id,
                pad=config.pad_id,
                **options,
            )

    def greedy(
        self, source: Tensor, source_lengths: Tensor, *, max_len: int
    ) -> tuple[Tensor, Tensor | None]:
        """Translate by taking the most probable token at every step, as :meth:`generate` does.

        Returns tokens ``(B, T)`` and the weights ``(B, T, S)``, row t of which chose token t (rows
        of padding are 0), or None for a model without attention.
        """
        tokens, _, _, state = self.generate(source, source_lengths, max_len=max_len)
        if state.weights is None:
            return tokens, None
        ended = (tokens == self.config.eos_id).cumsum(dim=1)
        after_end = ended.roll(1, dims=1).index_fill(1, ended.new_zeros(1), 0) > 0
        return tokens, state.weights.masked_fill(after_end[..., None], 0.0)


def exact_match(tokens: Tensor, target_out: Tensor, *, pad_id: int = 0) -> Tensor:
    """Say which sentences ``(B, T)`` are ``(B, T')`` from first word to end token: ``(B,)``.

    Both are without the start token and filled up after the end token; T' may differ from T.
    """
    if tokens.ndim != 2 or target_out.ndim != 2 or len(tokens) != len(target_out):
        raise ValueError(
            f"tokens have shape {tuple(tokens.shape)} and target_out {tuple(target_out.shape)}, "
            "wanted (B, T) and (B, T')"
        )
    width = max(tokens.shape[1], target_out.shape[1])
    padded = [F.pad(x, (0, width - x.shape[1]), value=pad_id) for x in (tokens, target_out)]
    return (padded[0] == padded[1]).all(dim=1)
