"""Recurrent encoder-decoder, with and without attention.

The scores of Luong and of Bahdanau come first, as functions of tensors. The modules below them
read a source sentence into states, one for each word, and write a target sentence from these.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.masks import masked_softmax, padding_mask

__all__ = [
    "Decoder",
    "Encoder",
    "Score",
    "Seq2Seq",
    "Seq2SeqConfig",
    "attend",
    "bahdanau",
    "exact_match",
    "luong_concat",
    "luong_dot",
    "luong_general",
    "luong_readout",
]

Cell = Literal["rnn", "lstm", "gru"]
Attention = Literal["dot", "general", "concat", "additive"]
# All layers' states (L, B, D); an LSTM has two of them, hidden and cell.
State = Tensor | tuple[Tensor, Tensor]

_CELLS: dict[Cell, Callable[..., nn.Module]] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


# --------------------------------------------------------------------------- scores


def luong_dot(query: Tensor, keys: Tensor) -> Tensor:
    """Score by the inner product ``s . h``.

    Source: Luong et al., Effective Approaches to Attention-based Neural Machine Translation
    (2015), section 3.1, "dot".

    Args:
        query: Decoder states ``(B, T, D)``.
        keys: Encoder states ``(B, S, D)``.

    Returns:
        Scores ``(B, T, S)``.

    Example:
        >>> keys = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
        >>> luong_dot(torch.tensor([[[3.0, 4.0]]]), keys)
        tensor([[[3., 8.]]])
    """
    return query @ keys.transpose(-2, -1)


def luong_general(query: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    """Score by a learned inner product ``s W_a h``; the widths of s and h may differ.

    Source: Luong et al. (2015), section 3.1, "general".

    Args:
        query: Decoder states ``(B, T, Dq)``.
        keys: Encoder states ``(B, S, Dk)``.
        weight: ``W_a``, ``(Dq, Dk)``.

    Returns:
        Scores ``(B, T, S)``.

    Example:
        A matrix that swaps the two channels lets the query ask for the other one.

        >>> keys = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
        >>> swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> luong_general(torch.tensor([[[3.0, 4.0]]]), keys, swap)
        tensor([[[4., 6.]]])
    """
    return query @ weight @ keys.transpose(-2, -1)


def luong_concat(query: Tensor, keys: Tensor, weight: Tensor, v: Tensor) -> Tensor:
    """Score by a small network on the pair: ``v . tanh(W_a [s; h])``.

    Source: Luong et al. (2015), section 3.1, "concat".

    Args:
        query: Decoder states ``(B, T, Dq)``.
        keys: Encoder states ``(B, S, Dk)``.
        weight: ``W_a``, ``(A, Dq + Dk)``.
        v: Vector ``(A,)``.

    Returns:
        Scores ``(B, T, S)``.

    Example:
        >>> query, keys = torch.ones(1, 1, 2), torch.zeros(1, 3, 2)
        >>> luong_concat(query, keys, torch.ones(5, 4), torch.ones(5)).shape
        torch.Size([1, 1, 3])
    """
    # W [s; h] = W_s s + W_h h: no pair has to be written out at full width.
    weight_query, weight_key = weight.tensor_split([query.shape[-1]], dim=-1)
    return bahdanau(query, keys, weight_query, weight_key, v)


def bahdanau(
    query: Tensor, keys: Tensor, weight_query: Tensor, weight_key: Tensor, v: Tensor
) -> Tensor:
    """Score by a small network: ``v . tanh(W_s s + W_h h)``, known as additive attention.

    As a function it is :func:`luong_concat` with ``W_a`` cut in two. What differs is the query:
    Bahdanau asks with the *previous* decoder state, Luong with the current one.

    Source: Bahdanau et al., Neural Machine Translation by Jointly Learning to Align and Translate
    (2015), section 3.1 and appendix A.1.2.

    Args:
        query: Decoder states ``(B, T, Dq)``.
        keys: Encoder states ``(B, S, Dk)``.
        weight_query: ``W_s``, ``(A, Dq)``.
        weight_key: ``W_h``, ``(A, Dk)``.
        v: Vector ``(A,)``.

    Returns:
        Scores ``(B, T, S)``, none larger than the sum of ``|v|``.

    Example:
        >>> query, keys = torch.full((1, 1, 2), 100.0), torch.zeros(1, 3, 2)
        >>> bahdanau(query, keys, torch.ones(5, 2), torch.ones(5, 2), torch.ones(5))
        tensor([[[5., 5., 5.]]])
    """
    pairs = F.linear(query, weight_query)[:, :, None] + F.linear(keys, weight_key)[:, None]
    return pairs.tanh() @ v  # (B, T, S, A) @ (A,)


def attend(scores: Tensor, values: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Turn scores into weights and average the values with them.

    Args:
        scores: ``(B, T, S)``.
        values: ``(B, S, D)``, for Luong and Bahdanau the encoder states once more.
        mask: Boolean, broadcastable to ``(B, T, S)``; ``True`` = may attend.

    Returns:
        The context ``(B, T, D)`` and the weights ``(B, T, S)``.

    Raises:
        ValueError: If the mask is not boolean or does not fit.

    Example:
        Padding gets a weight of exactly 0, whatever its score.

        >>> scores = torch.tensor([[[1.0, 1.0, 50.0]]])
        >>> values = torch.tensor([[[2.0], [4.0], [99.0]]])
        >>> attend(scores, values, torch.tensor([[[True, True, False]]]))
        (tensor([[[3.]]]), tensor([[[0.5000, 0.5000, 0.0000]]]))
    """
    weights = masked_softmax(scores, mask)
    return weights @ values, weights


def luong_readout(context: Tensor, hidden: Tensor, weight: Tensor) -> Tensor:
    """Combine what was looked up with what the decoder knew: ``tanh(W_c [c; h])``.

    Source: Luong et al. (2015), equation 5.

    Args:
        context: ``(B, T, Dk)``.
        hidden: Decoder states ``(B, T, Dq)``.
        weight: ``W_c``, ``(D, Dk + Dq)``.

    Returns:
        Attentional states ``(B, T, D)``.

    Example:
        >>> luong_readout(torch.ones(1, 1, 2), torch.zeros(1, 1, 2), torch.eye(4))
        tensor([[[0.7616, 0.7616, 0.0000, 0.0000]]])
    """
    return F.linear(torch.cat([context, hidden], dim=-1), weight).tanh()


def exact_match(tokens: Tensor, target_out: Tensor, *, pad_id: int = 0) -> Tensor:
    """Say which sentences are right from the first word to the end token.

    Args:
        tokens: Decoded tokens ``(B, T)``, filled up with padding after the end token.
        target_out: True tokens without the start token ``(B, T')``, filled up likewise; T' may
            differ from T.
        pad_id: The padding.

    Returns:
        Boolean ``(B,)``.

    Raises:
        ValueError: If the shapes don't fit together.

    Example:
        >>> exact_match(torch.tensor([[7, 2], [7, 8]]), torch.tensor([[7, 2, 0], [7, 8, 2]]))
        tensor([ True, False])
    """
    if tokens.ndim != 2 or target_out.ndim != 2 or len(tokens) != len(target_out):
        raise ValueError(
            f"tokens have shape {tuple(tokens.shape)} and target_out {tuple(target_out.shape)}, "
            "wanted (B, T) and (B, T')"
        )
    width = max(tokens.shape[1], target_out.shape[1])
    padded = [F.pad(x, (0, width - x.shape[1]), value=pad_id) for x in (tokens, target_out)]
    return (padded[0] == padded[1]).all(dim=1)


# --------------------------------------------------------------------------- modules


@dataclass(frozen=True)
class Seq2SeqConfig:
    """What a :class:`Seq2Seq` is made of.

    Attributes:
        source_vocab_size: Number of source tokens.
        target_vocab_size: Number of target tokens.
        d_model: Width D of the embeddings and of the states on both sides.
        n_layers: Recurrent layers, in the encoder as in the decoder.
        cell: Kind of recurrent unit.
        bidirectional: Whether the encoder reads in both directions. Each then has D / 2 units, so
            that the states stay D wide and the decoder is the same.
        attention: Score function, or None for a decoder that knows only the last encoder state.
        dropout: Probability of dropping a channel of embeddings and readouts while training.
        pad_id: Token that fills up short sentences.
        bos_id: Token before the first target word.
        eos_id: Token after the last target word.

    Raises:
        ValueError: If a name is unknown or a number out of range.

    Example:
        >>> Seq2SeqConfig(20, 30, attention="dott")
        Traceback (most recent call last):
        ...
        ValueError: attention is 'dott', wanted None or one of ('dot', 'general', 'concat', \
'additive')
    """

    source_vocab_size: int
    target_vocab_size: int
    d_model: int = 128
    n_layers: int = 1
    cell: Cell = "gru"
    bidirectional: bool = False
    attention: Attention | None = None
    dropout: float = 0.0
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        if self.cell not in get_args(Cell):
            raise ValueError(f"cell is {self.cell!r}, wanted one of {get_args(Cell)}")
        if self.attention not in (None, *get_args(Attention)):
            kinds = get_args(Attention)
            raise ValueError(f"attention is {self.attention!r}, wanted None or one of {kinds}")
        if self.d_model < 1 or (self.bidirectional and self.d_model % 2):
            wanted = "an even number" if self.bidirectional else "at least 1"
            raise ValueError(f"d_model is {self.d_model}, wanted {wanted}")
        if self.n_layers < 1:
            raise ValueError(f"n_layers is {self.n_layers}, wanted at least 1")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}, wanted a probability in [0, 1)")


class Encoder(nn.Module):
    """Read a source sentence into one state for each of its words.

    Sentences are packed, so that the recurrence ends at the last real word of each: padding reaches
    neither the states nor the gradients.

    Args:
        vocab_size: Number of source tokens.
        d_model: Width D of the embeddings and of the states.
        n_layers: Recurrent layers.
        cell: Kind of recurrent unit.
        bidirectional: Whether to read in both directions, with D / 2 units each.
        dropout: Probability of dropping a channel while training.

    Example:
        >>> encoder = Encoder(vocab_size=10, d_model=4)
        >>> memory, state = encoder(torch.tensor([[5, 6, 7], [8, 0, 0]]), torch.tensor([3, 1]))
        >>> memory.shape, state.shape
        (torch.Size([2, 3, 4]), torch.Size([1, 2, 4]))
        >>> memory[1, 1:].abs().max().item()  # after the end of the second sentence
        0.0
        >>> torch.equal(state[0, 1], memory[1, 0])  # its last state is that of its only word
        True
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        *,
        n_layers: int = 1,
        cell: Cell = "gru",
        bidirectional: bool = False,
        dropout: float = 0.0,
    ) -> None:
        """Make the embedding and the recurrent layers."""
        super().__init__()
        self.bidirectional = bidirectional
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)
        self.rnn = _CELLS[cell](
            d_model,
            d_model // 2 if bidirectional else d_model,
            num_layers=n_layers,
            batch_first=True,
            bidirectional=bidirectional,
            dropout=dropout if n_layers > 1 else 0.0,
        )

    def forward(self, source: Tensor, source_lengths: Tensor) -> tuple[Tensor, State]:
        """Encode a batch.

        Args:
            source: Tokens ``(B, S)``, padded on the right.
            source_lengths: Number of real tokens of each sentence ``(B,)``, at least 1.

        Returns:
            The states of the top layer ``(B, S, D)``, 0 after the end of a sentence, and the last
            state of every layer ``(L, B, D)`` (for an LSTM a pair of these).

        Raises:
            ValueError: If the shapes don't fit or a length is not in 1..S.
        """
        if source.ndim != 2 or source_lengths.shape != source.shape[:1]:
            raise ValueError(
                f"source has shape {tuple(source.shape)} and source_lengths "
                f"{tuple(source_lengths.shape)}, wanted (B, S) and (B,)"
            )
        lengths = source_lengths.cpu()
        if not ((lengths >= 1) & (lengths <= source.shape[1])).all():
            raise ValueError(
                f"source_lengths {lengths.tolist()} are not all in 1..{source.shape[1]}"
            )
        packed, last = self.rnn(
            pack_padded_sequence(
                self.dropout(self.embedding(source)),
                lengths,
                batch_first=True,
                enforce_sorted=False,
            )
        )
        memory, _ = pad_packed_sequence(packed, batch_first=True, total_length=source.shape[1])
        if not self.bidirectional:
            return memory, last
        if isinstance(last, tuple):
            return memory, (_join_directions(last[0]), _join_directions(last[1]))
        return memory, _join_directions(last)


class Score(nn.Module):
    """One of the four score functions together with its parameters.

    Args:
        kind: ``"dot"``, ``"general"``, ``"concat"`` or ``"additive"``.
        d_model: Width D of queries, keys and of the hidden layer of the last two.

    Example:
        >>> [sum(p.numel() for p in Score(kind, 10).parameters())
        ...  for kind in ("dot", "general", "concat", "additive")]
        [0, 100, 210, 210]
    """

    def __init__(self, kind: Attention, d_model: int) -> None:
        """Make the parameters the kind needs."""
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
        """Score every key for every query.

        Args:
            query: Decoder states ``(B, T, D)``.
            keys: Encoder states ``(B, S, D)``.

        Returns:
            Scores ``(B, T, S)``.
        """
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

    Args:
        vocab_size: Number of target tokens.
        d_model: Width D of the embeddings and of the states.
        n_layers: Recurrent layers.
        cell: Kind of recurrent unit.
        attention: Score function or None.
        dropout: Probability of dropping a channel while training.
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
        """Make embedding, recurrent layers, score and output layer."""
        super().__init__()
        self.attention = attention
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)
        self.rnn = _CELLS[cell](
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
        """Read T target tokens and predict, after each, the next one.

        Args:
            tokens: Target tokens ``(B, T)``, beginning with the start token.
            state: State of every layer before the first token, ``(L, B, D)``.
            memory: Encoder states ``(B, S, D)``.
            mask: Boolean ``(B, 1, S)``; ``True`` = a real source word.

        Returns:
            Logits ``(B, T, V)``, weights ``(B, T, S)`` (None without attention) and the state
            after the last token.
        """
        x = self.dropout(self.embedding(tokens))
        if self.attention is None:
            hidden, state = self.rnn(x, state)
            return self.out_proj(self.dropout(hidden)), None, state
        if self.attention == "additive":
            hidden, context, weights, state = self._step_by_step(x, state, memory, mask)
        else:
            hidden, state = self.rnn(x, state)
            context, weights = attend(self.score(hidden, memory), memory, mask)
        readout = luong_readout(context, hidden, self.concat_proj.weight)
        return self.out_proj(self.dropout(readout)), weights, state

    def _step_by_step(
        self, x: Tensor, state: State, memory: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, State]:
        hidden, contexts, weights = [], [], []
        for x_t in x.split(1, dim=1):
            layers = state[0] if isinstance(state, tuple) else state
            context, weight = attend(self.score(layers[-1][:, None], memory), memory, mask)
            hidden_t, state = self.rnn(torch.cat([x_t, context], dim=-1), state)
            hidden.append(hidden_t)
            contexts.append(context)
            weights.append(weight)
        return torch.cat(hidden, 1), torch.cat(contexts, 1), torch.cat(weights, 1), state


class Seq2Seq(nn.Module):
    """Encoder and decoder together.

    Source: Sutskever et al., Sequence to Sequence Learning with Neural Networks (2014), for the
    model without attention; Luong et al. (2015) and Bahdanau et al. (2015) with it.

    Args:
        config: What to build.
        generator: Source of the initial weights; torch's global one if not given.

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
        """Build both halves and draw their weights."""
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
        """Predict each next target token from the true ones before it (teacher forcing).

        Args:
            source: Source tokens ``(B, S)``, padded on the right.
            source_lengths: Number of real source tokens ``(B,)``.
            target_in: Target tokens ``(B, T)``, the start token first.
            return_weights: Whether to return the attention weights too.

        Returns:
            Logits ``(B, T, V)``, and if asked for the weights ``(B, T, S)``, which are None for a
            model without attention.

        Raises:
            ValueError: If the shapes don't fit or a length is not in 1..S.
        """
        memory, state = self.encoder(source, source_lengths)
        mask = padding_mask(source_lengths.to(source.device), source.shape[1])[:, 0]
        logits, weights, _ = self.decoder(target_in, state, memory, mask)
        return (logits, weights) if return_weights else logits

    def loss(self, source: Tensor, source_lengths: Tensor, target: Tensor) -> Tensor:
        """Mean cross-entropy per real target token.

        Args:
            source: Source tokens ``(B, S)``, padded on the right.
            source_lengths: Number of real source tokens ``(B,)``.
            target: Target tokens ``(B, T + 1)``: start token, words, end token, padding.

        Returns:
            A scalar. Padding takes no part in it.
        """
        logits = self(source, source_lengths, target[:, :-1])
        labels = target[:, 1:]
        return F.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=self.config.pad_id
        )

    @torch.no_grad()
    def greedy(
        self, source: Tensor, source_lengths: Tensor, *, max_len: int
    ) -> tuple[Tensor, Tensor | None]:
        """Translate by taking the most probable token at every step.

        Args:
            source: Source tokens ``(B, S)``, padded on the right.
            source_lengths: Number of real source tokens ``(B,)``.
            max_len: Number of steps after which to stop.

        Returns:
            Tokens ``(B, T)`` without the start token, ``T <= max_len``: words, end token, padding.
            And the weights ``(B, T, S)``, row t of which chose token t (rows of padding are 0), or
            None for a model without attention. Runs in evaluation mode and restores the mode.

        Raises:
            ValueError: If the shapes don't fit, a length is not in 1..S or max_len is below 1.
        """
        if max_len < 1:
            raise ValueError(f"max_len is {max_len}, wanted at least 1")
        was_training = self.training
        self.eval()
        try:
            return self._greedy(source, source_lengths, max_len)
        finally:
            self.train(was_training)

    def _greedy(
        self, source: Tensor, source_lengths: Tensor, max_len: int
    ) -> tuple[Tensor, Tensor | None]:
        memory, state = self.encoder(source, source_lengths)
        mask = padding_mask(source_lengths.to(source.device), source.shape[1])[:, 0]
        token = source.new_full((source.shape[0], 1), self.config.bos_id)
        done = torch.zeros_like(token, dtype=torch.bool)
        tokens, all_weights = [], []
        for _ in range(max_len):
            logits, weights, state = self.decoder(token, state, memory, mask)
            token = logits.argmax(dim=-1).masked_fill(done, self.config.pad_id)
            tokens.append(token)
            if weights is not None:
                all_weights.append(weights.masked_fill(done[..., None], 0.0))
            done = done | (token == self.config.eos_id)
            if done.all():
                break
        return torch.cat(tokens, 1), torch.cat(all_weights, 1) if all_weights else None


def _join_directions(last: Tensor) -> Tensor:
    """Put forward and backward states side by side: ``(2L, B, D / 2)`` to ``(L, B, D)``."""
    return last.unflatten(0, (-1, 2)).transpose(1, 2).flatten(-2)
