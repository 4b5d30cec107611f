"""The half that reads: one state for each word of the source."""

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.seq2seq.config import CELLS, Cell, State, recur


class Encoder(nn.Module):
    """Read a source sentence into one state for each of its words.

    Sentences are packed, so that the recurrence ends at the last real word of each: padding reaches
    neither the states nor the gradients. If it reads in both directions, each has D / 2 units.
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
        super().__init__()
        self.bidirectional = bidirectional
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)
        self.rnn = CELLS[cell](
            d_model,
            d_model // 2 if bidirectional else d_model,
            num_layers=n_layers,
            batch_first=True,
            bidirectional=bidirectional,
            dropout=dropout if n_layers > 1 else 0.0,
        )

    def forward(self, source: Tensor, source_lengths: Tensor) -> tuple[Tensor, State]:
        """Encode tokens ``(B, S)``, padded on the right, of real lengths ``(B,)``, at least 1.

        Returns the states of the top layer ``(B, S, D)``, 0 after the end of a sentence, and the
        last state of every layer ``(L, B, D)`` (for an LSTM a pair of these).
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
        x = self.dropout(self.embedding(source))
        if source.shape[0] == 0:
            memory, last = recur(self.rnn, x)  # no sentence can be packed, and none has padding
        else:
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            packed, last = recur(self.rnn, packed)
            memory, _ = pad_packed_sequence(packed, batch_first=True, total_length=source.shape[1])
        if not self.bidirectional:
            return memory, last
        if isinstance(last, tuple):
            return memory, (_join_directions(last[0]), _join_directions(last[1]))
        return memory, _join_directions(last)


def _join_directions(last: Tensor) -> Tensor:
    """Put forward and backward states side by side: ``(2L, B, D / 2)`` to ``(L, B, D)``."""
    return last.unflatten(0, (-1, 2)).transpose(1, 2).flatten(-2)
