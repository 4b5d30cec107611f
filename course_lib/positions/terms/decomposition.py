"""The four terms of a score: token and position of the query times token and position of the key.

If a position p is added to a token x before both are projected, a score is a sum of four::

    (x_m + p_m) W_q W_k^T (x_n + p_n)^T  =  x W x  +  x W p  +  p W x  +  p W p
                                              tt        tp        pt        pp

with ``W = W_q W_k^T``. Leaving some of them out shows what each is good for.
"""

from collections.abc import Collection

import torch
from torch import Tensor

from course_lib.attention import fused_attention, split_heads
from course_lib.masks import check_bias, masked_softmax
from course_lib.positions.heads import HeadProjections

TERMS = ("tt", "tp", "pt", "pp")
"""Token or position of the query, then of the key."""


def check_terms(terms: Collection[str]) -> frozenset[str]:
    """The terms as a set; refuses none of them and unknown ones."""
    chosen = frozenset([terms] if isinstance(terms, str) else terms)
    if not chosen or not chosen <= set(TERMS):
        raise ValueError(f"terms are {sorted(chosen)}, wanted one or more of {', '.join(TERMS)}")
    return chosen


def term_scale(d_head: int, terms: Collection[str], *, rescale: bool) -> float:
    """The factor on the sum of the terms.

    A product of two independent vectors of Dh standard normal channels has the variance Dh; a sum
    of n such terms has n Dh. Standard attention divides by ``sqrt(Dh)`` whatever n is, so that
    leaving out terms also makes the softmax softer. With ``rescale`` the divisor ``sqrt(n Dh)``
    keeps the variance of the logits at 1, and compares the terms alone.
    """
    return float((len(check_terms(terms)) if rescale else 1) * d_head) ** -0.5


def four_terms(
    q_token: Tensor, k_token: Tensor, q_position: Tensor, k_position: Tensor
) -> dict[str, Tensor]:
    """Compute each term, unscaled: scores ``(..., T, S)`` by name, the first letter for the query.

    Tokens and positions are projected, ``(..., T, Dh)`` as queries and ``(..., S, Dh)`` as keys.

    Example:
        >>> x, p = torch.randn(2, 5, 8, dtype=torch.float64)
        >>> torch.allclose(sum(four_terms(x, x, p, p).values()), (x + p) @ (x + p).T)
        True
    """
    queries = {"t": q_token, "p": q_position}
    keys = {"t": k_token, "p": k_position}
    return {term: queries[term[0]] @ keys[term[1]].transpose(-2, -1) for term in TERMS}


def join_terms(
    q_token: Tensor,
    k_token: Tensor,
    q_position: Tensor,
    k_position: Tensor,
    terms: Collection[str] = TERMS,
) -> tuple[Tensor, Tensor]:
    """Make queries and keys whose one product is the sum of the chosen terms.

    What has the same partners is added up first: all four terms are ``(q_t + q_p)`` times
    ``(k_t + k_p)``. What has not is put side by side: ``tt + pp`` is ``[q_t, q_p]`` times
    ``[k_t, k_p]``, twice as wide. The scores still want the scale that belongs to Dh. Arguments as
    for :func:`four_terms`.
    """
    chosen = check_terms(terms)
    keys = {"t": k_token, "p": k_position}
    partners = {side: [key for key in "tp" if side + key in chosen] for side in "tp"}
    sums = {
        side: keys[names[0]] if len(names) == 1 else k_token + k_position
        for side, names in partners.items()
        if names
    }
    if len(sums) == 1:
        [(side, k)] = sums.items()
        return (q_token if side == "t" else q_position), k
    if partners["t"] == partners["p"]:
        return q_token + q_position, sums["t"]
    q = torch.cat(torch.broadcast_tensors(q_token, q_position), dim=-1)
    return q, torch.cat(torch.broadcast_tensors(sums["t"], sums["p"]), dim=-1)


class FourTermAttention(HeadProjections):
    """Multi-head self-attention in which each of the four terms can be switched off.

    Tokens and positions share the projections, as they do when they are added: with all terms, no
    rescaling and ``value_positions`` this is standard attention on ``x + p``. The bias vectors
    of the projections count as part of the token.

    Args:
        terms: Which of ``"tt"``, ``"tp"``, ``"pt"`` and ``"pp"`` to add up: token or position of
            the query, then of the key.
        rescale: Whether to divide by ``sqrt(n Dh)`` for n terms, which keeps the variance of the
            scores, instead of ``sqrt(Dh)``.
        value_positions: Whether positions enter the values, too. If they do, they reach the output
            whatever the terms are.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        terms: Collection[str] = TERMS,
        rescale: bool = False,
        value_positions: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
        fused: bool = True,
    ) -> None:
        super().__init__(d_model, n_heads, dropout=dropout, bias=bias, fused=fused)
        self.terms = check_terms(terms)
        self.scale = term_scale(self.d_head, self.terms, rescale=rescale)
        self.value_positions = value_positions

    def forward(
        self,
        x: Tensor,
        positions: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend by tokens ``(B, T, D)`` and positions ``(T, D)`` or ``(B, T, D)``."""
        q, k, v = self.project(x)
        if positions.shape not in (x.shape, x.shape[1:]):
            raise ValueError(
                f"positions have shape {tuple(positions.shape)}, wanted {tuple(x.shape[1:])} or "
                f"{tuple(x.shape)}"
            )
        if self.value_positions:
            v = split_heads(self.v_proj(x + positions.to(x.dtype)), self.n_heads)
        q_position, k_position = self.project_positions(positions)
        if self.fused and not return_weights:
            q, k = join_terms(q, k, q_position, k_position, self.terms)
            # Where no term has a token in it, no term has a batch.
            q, k = (part.expand(x.shape[0], -1, -1, -1) for part in (q, k))
            dropout = self.dropout if self.training else 0.0
            heads = fused_attention(q, k, v, mask, bias, scale=self.scale, dropout=dropout)
            return self.merge(heads)
        # The scale comes before the product for the sake of half precision.
        terms = four_terms(q * self.scale, k, q_position * self.scale, k_position)
        first, *rest = (terms[term] for term in TERMS if term in self.terms)
        scores = sum(rest, first).expand(x.shape[0], -1, -1, -1)
        if bias is not None:
            check_bias(bias, scores.shape, scores.device)
            scores = scores + bias.to(scores.dtype)
        weights = masked_softmax(scores, mask)
        out = self.merge(self.drop(weights) @ v)
        return (out, weights) if return_weights else out

    def scores(self, x: Tensor, positions: Tensor) -> dict[str, Tensor]:
        """All four terms, on or off, unscaled, ``(B, H, T, T)``; ``"pp"`` has no B for a table."""
        q, k, _ = self.project(x)
        return four_terms(q, k, *self.project_positions(positions))
