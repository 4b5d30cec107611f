"""Configuration of a recurrent encoder-decoder."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from course_lib.attention import check_dropout

Cell = Literal["rnn", "lstm", "gru"]
Attention = Literal["dot", "general", "concat", "additive"]
# All layers' states (L, B, D); an LSTM has two of them, hidden and cell.
State = Tensor | tuple[Tensor, Tensor]

CELLS: dict[Cell, Callable[..., nn.Module]] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


def recur(rnn: nn.Module, *inputs: Any) -> Any:
    """Call an ``nn.RNN``, ``nn.GRU`` or ``nn.LSTM`` on ``(B, T, D)`` so that gradients can follow.

    cuDNN goes backwards in training mode only; torch's own kernels, which are slower, always do.
    """
    if rnn.training or not torch.is_grad_enabled():
        return rnn(*inputs)
    with torch.backends.cudnn.flags(enabled=False):
        return rnn(*inputs)


@dataclass(frozen=True)
class Seq2SeqConfig:
    """Configuration of a :class:`Seq2Seq`.

    Args:
        cell: Kind of recurrent unit: ``"rnn"``, ``"lstm"`` or ``"gru"``.
        bidirectional: Whether the encoder reads in both directions. Each then has D / 2 units, so
            that the states stay D wide and the decoder is the same.
        attention: Score function, ``"dot"``, ``"general"``, ``"concat"`` or ``"additive"``; None
            for a decoder that knows only the last encoder state.
        pad_id, bos_id, eos_id: Tokens that fill up short sentences, and that begin and end one.
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
        check_dropout(self.dropout)
