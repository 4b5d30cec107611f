"""Transformer-XL: contents meet contents, and contents meet distances, apart from each other."""

import torch
from torch import Tensor, nn

from course_lib.attention import attention_weights, fused_attention, split_heads
from course_lib.positions.heads import HeadProjections
from course_lib.positions.relative import relative_distance
from course_lib.positions.sinusoidal import sinusoidal_encoding


def distance_codes(T: int, S: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Sinusoidal codes of all distances, ``(S + T - 1, D)``: from ``S - 1`` down to ``1 - T``."""
    return sinusoidal_encoding(torch.arange(S - 1, -T, -1), d_model, base=base)


def relative_shift(scores: Tensor) -> Tensor:
    """Let each query have its own distances in the columns of its keys.

    Column m of the scores ``(..., T, S + T - 1)`` is a distance, counted down, the same for all
    queries. Query i needs it at key ``j = m - (T - 1 - i)``, so row i goes ``T - 1 - i`` places to
    the left. Read as one line, each row then begins one place before a whole row later: a view
    ``(..., T, S)`` is all it takes.

    Source: Dai et al., Transformer-XL (2019), appendix B.

    Example:
        Two queries, of which the second is the last of three positions, and distances 2, 1, 0, -1.

        >>> relative_shift(torch.tensor([[2, 1, 0, -1], [2, 1, 0, -1]])).tolist()
        [[1, 0, -1], [2, 1, 0]]
    """
    T, L = scores.shape[-2:]
    if L < T:
        raise ValueError(f"scores have {L} distances, wanted at least {T}, one per query")
    if T == 1:
        return scores  # a single row is where it belongs
    line = scores.flatten(-2)[..., T - 1 : T - 1 + T * (L - 1)]
    return line.unflatten(-1, (T, L - 1))[..., : L - T + 1]


class TransformerXLAttention(HeadProjections):
    """Self-attention with relative positions, over this segment and a memory of the last.

    The score of query i and key j is ``((q_i + u) . k_j + (q_i + v) . r_{i-j}) / sqrt(Dh)``: the
    code of the distance ``i - j`` goes through its own projection, and where absolute positions
    had the query's own one, there are two learned vectors per head, ``u`` and ``v``. As nothing
    depends on where a segment begins, keys of the last segment can be used again.

    Source: Dai et al., Transformer-XL (2019), section 3.3.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        dropout: float = 0.0,
        bias: bool = False,
        fused: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(d_model, n_heads, dropout=dropout, bias=bias, fused=fused)
        self.distance_proj = nn.Linear(d_model, d_model, bias=False)
        self.u = nn.Parameter(torch.empty(n_heads, self.d_head))
        self.v = nn.Parameter(torch.empty(n_heads, self.d_head))
        for vectors in (self.u, self.v):
            nn.init.normal_(vectors, std=0.02, generator=generator)

    def forward(
        self,
        x: Tensor,
        codes: Tensor | None = None,
        *,
        memory: Tensor | None = None,
        mask: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from a segment ``(B, T, D)`` to itself and a memory ``(B, M, D)``.

        No gradient flows into the memory. The codes ``(S + T - 1, D)`` of :func:`distance_codes`,
        ``S = M + T``, can serve all layers.
        """
        self.check("x", x)
        if memory is None:
            searched = x
        else:
            self.check("memory", memory)
            searched = torch.cat([memory.detach(), x], dim=1)
        T, S = x.shape[1], searched.shape[1]
        if T < 1:
            raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, T, D) with T at least 1")
        if codes is None:
            codes = distance_codes(T, S, self.d_model)
        if codes.shape != (S + T - 1, self.d_model):
            raise ValueError(
                f"codes have shape {tuple(codes.shape)}, wanted {(S + T - 1, self.d_model)}"
            )
        q, k, v = self.project(x, searched)
        r = split_heads(self.distance_proj(codes.to(x)[None]), self.n_heads)
        by_distance = ((q + self.v[:, None]) * self.d_head**-0.5) @ r.mT
        q = q + self.u[:, None]
        if self.fused and not return_weights:
            bias = relative_shift(by_distance)
            dropout = self.dropout if self.training else 0.0
            return self.merge(fused_attention(q, k, v, mask, bias, dropout=dropout))
        # Distance i - j is in column S - 1 - (i - j).
        column = relative_distance(T, S, device=x.device) + S - 1
        bias = by_distance.gather(-1, column.expand(*by_distance.shape[:2], T, S))
        weights = attention_weights(q, k, mask, bias)
        out = self.merge(self.drop(weights) @ v)
        return (out, weights) if return_weights else out
