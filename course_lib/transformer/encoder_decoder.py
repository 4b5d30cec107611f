"""The whole Transformer: it reads one sentence and writes another."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from course_lib.attention import KVCache
from course_lib.decoding import Decoded, Method, check_target, decode
from course_lib.layers import evaluating, xavier_init
from course_lib.masks import padding_mask
from course_lib.transformer.config import TransformerConfig
from course_lib.transformer.embedding import PositionedEmbedding
from course_lib.transformer.stacks import Decoder, Encoder


class TransformerWeights(NamedTuple):
    """All attention weights of one pass, before dropout.

    They are ``(L, B, H, S, S)``, ``(L, B, H, T, T)`` and, across, ``(L, B, H, T, S)``.
    """

    encoder: Tensor
    decoder: Tensor
    cross: Tensor


class _Writing(NamedTuple):
    """State of the decoder between two words."""

    caches: list[tuple[KVCache, KVCache]]
    memory_mask: Tensor

    def reorder(self, indices: Tensor) -> "_Writing":
        caches = [(own.reorder(indices), memory.reorder(indices)) for own, memory in self.caches]
        return _Writing(caches, self.memory_mask[indices])


class EncoderDecoder(nn.Module):
    """Translate with attention alone.

    It is called as the recurrent :class:`course_lib.seq2seq.Seq2Seq` is, so that both can be
    trained on the same batches.

    Source: Vaswani et al., Attention Is All You Need (2017), section 3.

    Example:
        >>> config = TransformerConfig(20, 30, d_model=16, n_heads=2, d_ff=32, n_layers=2)
        >>> model = EncoderDecoder(config, generator=torch.Generator().manual_seed(0)).eval()
        >>> source, lengths = torch.tensor([[4, 5, 6], [7, 8, 0]]), torch.tensor([3, 2])
        >>> model(source, lengths, torch.tensor([[1, 9], [1, 9]])).shape
        torch.Size([2, 2, 30])
        >>> model.generate(source, lengths, max_len=5, method="beam", beam_size=3).tokens.shape
        torch.Size([2, 3, 5])
    """

    def __init__(
        self, config: TransformerConfig, *, fused: bool = True, generator: Generator | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.target_embedding = self._make_embedding(config.target_vocab_size)
        self.source_embedding = (
            None if config.shared else self._make_embedding(config.source_vocab_size)
        )
        sizes = config.d_model, config.n_heads, config.d_ff, config.n_layers
        self.encoder = Encoder(
            *sizes,
            dropout=config.dropout,
            norm=config.norm,
            activation=config.activation,
            fused=fused,
        )
        self.decoder = Decoder(
            *sizes,
            dropout=config.dropout,
            norm=config.norm,
            activation=config.activation,
            fused=fused,
        )
        self.head = (
            None if config.tied else nn.Linear(config.d_model, config.target_vocab_size, bias=False)
        )
        xavier_init(self, uniform=True, generator=generator)
        for name, parameter in self.named_parameters():
            if "embedding" in name:
                std = 0.02 if name.endswith("positions") else config.d_model**-0.5
                nn.init.normal_(parameter, std=std, generator=generator)

    def _make_embedding(self, vocab_size: int) -> PositionedEmbedding:
        config = self.config
        return PositionedEmbedding(
            vocab_size,
            config.d_model,
            max_len=config.max_len,
            positions=config.positions,
            scaled=True,
            dropout=config.dropout,
        )

    def forward(
        self,
        source: Tensor,
        source_lengths: Tensor,
        target_in: Tensor,
        *,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, TransformerWeights]:
        """Logits ``(B, T, V)`` of each next token, given the true ones before it (teacher forcing).

        Args:
            source, source_lengths: Tokens ``(B, S)``, padded on the right; how many are real
                ``(B,)``.
            target_in: Target tokens ``(B, T)``, the start token first. Padding after the end needs
                no mask: no real token sees what comes after it.
        """
        mask = self._mask(source, source_lengths)
        encoded = self.encoder(self._embed_source(source), mask=mask, return_weights=return_weights)
        target = self.target_embedding(target_in)
        if not return_weights:
            return self._logits(self.decoder(target, encoded, memory_mask=mask))
        memory, weights = encoded
        x, *maps = self.decoder(target, memory, memory_mask=mask, return_weights=True)
        return self._logits(x), TransformerWeights(weights, *maps)

    def _mask(self, source: Tensor, source_lengths: Tensor) -> Tensor:
        if source.ndim != 2 or source_lengths.shape != source.shape[:1]:
            raise ValueError(
                f"source has shape {tuple(source.shape)} and source_lengths "
                f"{tuple(source_lengths.shape)}, wanted (B, S) and (B,)"
            )
        return padding_mask(source_lengths.to(source.device), source.shape[1])

    def _embed_source(self, source: Tensor) -> Tensor:
        embed = self.target_embedding if self.source_embedding is None else self.source_embedding
        return embed(source)

    def _logits(self, x: Tensor) -> Tensor:
        return self.target_embedding.logits(x) if self.head is None else self.head(x)

    def loss(
        self,
        source: Tensor,
        source_lengths: Tensor,
        target: Tensor,
        *,
        label_smoothing: float = 0.0,
    ) -> Tensor:
        """Mean cross-entropy per real token of targets ``(B, T + 1)``, start and end included.

        ``label_smoothing``: share of the target that is spread over all tokens; 0.1 in the paper.
        """
        check_target(target, self.config.pad_id)
        logits = self(source, source_lengths, target[:, :-1])
        return F.cross_entropy(
            logits.flatten(0, 1),
            target[:, 1:].flatten(),
            ignore_index=self.config.pad_id,
            label_smoothing=label_smoothing,
        )

    @torch.no_grad()
    def generate(
        self,
        source: Tensor,
        source_lengths: Tensor,
        *,
        max_len: int,
        method: Method = "greedy",
        cached: bool = True,
        **options: Any,
    ) -> Decoded[Any]:
        """Translate: tokens ``(B, T)`` without the start token, from a beam ``(B, K, T)``.

        Runs in evaluation mode and restores the mode of each part. The paper takes a beam of 4
        with a ``length_penalty`` of 0.6.

        Args:
            source, source_lengths: As for the model.
            cached: Whether to keep keys and values. Without, all that is written is read again for
                each new token; the result is the same.
            method, options: As in :func:`course_lib.decoding.decode`.
        """
        config = self.config
        common = {"end": config.eos_id, "pad": config.pad_id, "method": method, "max_len": max_len}
        with evaluating(self):
            mask = self._mask(source, source_lengths)
            memory = self.encoder(self._embed_source(source), mask=mask)
            start = source.new_full((len(source),), config.bos_id)
            write = self._write_cached if cached else self._write_anew
            return write(start, memory, mask, common | options)

    def _write_cached(
        self, start: Tensor, memory: Tensor, mask: Tensor, options: dict[str, Any]
    ) -> Decoded[Any]:
        def step(tokens: Tensor, state: _Writing) -> tuple[Tensor, _Writing]:
            own, of_memory = state.caches[0]
            x = self.target_embedding(tokens[:, None], offset=own.length)
            x = self.decoder(
                x,
                None if of_memory.length else memory,
                memory_mask=state.memory_mask,
                caches=state.caches,
            )
            return self._logits(x[:, -1]).log_softmax(-1), state

        state = _Writing(self.decoder.make_caches(), mask)
        return decode(step, start, state, reorder=_Writing.reorder, **options)

    def _write_anew(
        self, start: Tensor, memory: Tensor, mask: Tensor, options: dict[str, Any]
    ) -> Decoded[Any]:
        State = tuple[Tensor, Tensor, Tensor]

        def step(tokens: Tensor, state: State) -> tuple[Tensor, State]:
            before, memory, mask = state
            text = torch.cat([before, tokens[:, None]], dim=1)
            x = self.decoder(self.target_embedding(text), memory, memory_mask=mask)
            return self._logits(x[:, -1]).log_softmax(-1), (text, memory, mask)

        def reorder(state: State, indices: Tensor) -> State:
            before, memory, mask = state
            return before[indices], memory[indices], mask[indices]

        state = (start[:, None][:, :0], memory, mask)
        return decode(step, start, state, reorder=reorder, **options)


def transformer_base(
    vocab_size: int = 37_000, *, generator: Generator | None = None
) -> EncoderDecoder:
    """The base model of the paper: one vocabulary and one matrix for both sides and the logits.

    Source: Vaswani et al., Attention Is All You Need (2017), sections 3.4 and 5.1 and table 3,
    which gives 65 million parameters. With 37,000 word pieces these are 63.1 million: 18.9 of the
    embedding and 44.1 of the blocks.
    """
    config = TransformerConfig(vocab_size, vocab_size, shared=True)
    return EncoderDecoder(config, generator=generator)
