"""DeBERTa's disentangled attention: contents and relative positions meet, but are never added."""

from collections.abc import Collection

import torch
from torch import Tensor, nn

from course_lib.attention import fused_attention, split_heads
from course_lib.masks import masked_softmax
from course_lib.positions.heads import HeadProjections

_TERMS = ("c2p", "p2c")


def relative_index(T: int, S: int, span: int, *, device: torch.device | None = None) -> Tensor:
    """Row of a table of relative positions for each query and key, ``(T, S)``.

    Row ``m - n + span``, where query m and key n are fewer than ``span`` apart; whatever is farther
    away shares the first or the last of the ``2 span`` rows.

    >>> relative_index(3, 3, span=1).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    if span < 1:
        raise ValueError(f"span is {span}, wanted at least 1")
    distance = torch.arange(T, device=device)[:, None] - torch.arange(S, device=device)
    return (distance + span).clamp(0, 2 * span - 1)


class DisentangledAttention(HeadProjections):
    """Self-attention by content to content, content to position and position to content.

    ``score(m, n) = (q_m . k_n + q_m . kr_d + qr_d . k_n) / sqrt(3 Dh)`` with the row
    ``d = m - n + span``, or the first or last one, of the tables ``qr`` and ``kr`` that are made
    of one table of relative positions, which all layers share. There is no term of position with
    position: a relative position has no token to belong to. With n terms the scale is
    ``1 / sqrt(n Dh)``.

    The paper writes the last term with the distance n - m of the key from the query. The published
    code, and transformers', take m - n in both terms, and so does this class.

    Source: He et al., DeBERTa: Decoding-enhanced BERT with Disentangled Attention (2021),
    section 3.1.

    Args:
        terms: Which of ``"c2p"`` and ``"p2c"`` to add to content to content.
        shared: Whether positions go through the projections of the contents, not their own.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        span: int,
        *,
        terms: Collection[str] = _TERMS,
        shared: bool = False,
        dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__(d_model, n_heads, dropout=dropout, fused=fused)
        if span < 1:
            raise ValueError(f"span is {span}, wanted at least 1")
        if not set(terms) <= set(_TERMS):
            raise ValueError(f"terms are {sorted(terms)}, wanted some of c2p and p2c")
        self.span = span
        self.terms = frozenset(terms)
        self.shared = shared
        self.scale = ((1 + len(self.terms)) * self.d_head) ** -0.5
        if not shared and "c2p" in self.terms:
            self.position_k_proj = nn.Linear(d_model, d_model)
        if not shared and "p2c" in self.terms:
            self.position_q_proj = nn.Linear(d_model, d_model)

    def forward(
        self, x: Tensor, table: Tensor, *, mask: Tensor | None = None, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend by tokens ``(B, T, D)`` and a table ``(2 span, D)`` of relative positions."""
        if tuple(table.shape) != (2 * self.span, self.d_model):
            raise ValueError(
                f"table has shape {tuple(table.shape)}, wanted ({2 * self.span}, {self.d_model})"
            )
        q, k, v = self.project(x)
        if x.shape[1] < 1:
            raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, T, D) with T at least 1")
        if self.fused and not return_weights:
            dropout = self.dropout if self.training else 0.0
            bias = self._diagonals(q, k, table) if self.terms else None
            heads = fused_attention(q, k, v, mask, bias, scale=self.scale, dropout=dropout)
            return self.merge(heads)
        scores = (q * self.scale) @ k.transpose(-2, -1)
        T = x.shape[1]
        index = relative_index(T, T, self.span, device=x.device).expand(scores.shape)
        if "c2p" in self.terms:
            by_row = (q * self.scale) @ self._heads(table, "k").transpose(-2, -1)
            scores = scores + by_row.gather(-1, index)
        if "p2c" in self.terms:
            by_row = (k * self.scale) @ self._heads(table, "q").transpose(-2, -1)
            scores = scores + by_row.gather(-1, index.transpose(-2, -1)).transpose(-2, -1)
        weights = masked_softmax(scores, mask)
        out = self.merge(self.drop(weights) @ v)
        return (out, weights) if return_weights else out

    def _diagonals(self, q: Tensor, k: Tensor, table: Tensor) -> Tensor:
        """Both position terms, scaled, ``(B, H, T, T)``, without an index for each pair."""
        terms = []
        if "c2p" in self.terms:
            # To the right of a query are negative distances, so the table is read backwards.
            terms.append(_skew(self._by_column(q, table.flip(0), "k", q.shape[-2])))
        if "p2c" in self.terms:
            # To the right of a key are queries at positive distances.
            by_key = self._by_column(k, table, "q", q.shape[-2] - 1)
            terms.append(_skew(by_key).transpose(-2, -1))
        return terms[0] if len(terms) == 1 else terms[0] + terms[1]

    def _by_column(self, x: Tensor, table: Tensor, role: str, middle: int) -> Tensor:
        """Scores ``(B, H, T, 2T)`` with the rows of the table, each in the column of its distance.

        Row ``span`` of the table stands in column ``middle``, and its ends are repeated on either
        side, after the product: there are fewer rows than columns then.
        """
        T = x.shape[-2]
        n_before = middle - self.span
        if n_before <= 0:
            table = table[-n_before : 2 * T - n_before]
        scores = x @ (self._heads(table, role) * self.scale).transpose(-2, -1)
        n_after = 2 * T - max(n_before, 0) - scores.shape[-1]
        edges = [scores[..., :1].expand(*scores.shape[:-1], max(n_before, 0)), scores]
        edges.append(scores[..., -1:].expand(*scores.shape[:-1], n_after))
        return torch.cat(edges, dim=-1) if n_before > 0 or n_after > 0 else scores

    def _heads(self, table: Tensor, role: str) -> Tensor:
        """Project the table as queries or keys: ``(1, H, R, Dh)``."""
        name = f"{role}_proj" if self.shared else f"position_{role}_proj"
        return split_heads(getattr(self, name)(table[None]), self.n_heads)


def _skew(x: Tensor) -> Tensor:
    """Shift row i of ``(B, H, T, 2T)`` by i to the left and keep T columns, beginning at T - 1 - i.

    In memory, which x must fill, what is wanted of a row begins 2T - 1 places after what is wanted
    of the row before.
    """
    B, H, T, W = x.shape
    strides = (H * T * W, T * W, W - 1, 1)
    return x.as_strided((B, H, T, T), strides, T - 1)
