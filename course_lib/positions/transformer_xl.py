"""Transformer-XL: contents meet contents, and contents meet distances, apart from each other."""

import torch
from torch import Tensor, nn

from course_lib.attention import attention_weights, fused_attention, split_heads
from course_lib.positions.heads import HeadProjections
from course_lib.positions.relative import relative_distance
from course_lib.positions.sinusoidal import sinusoidal_encoding


def distance_codes(T: int, S: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Sinusoidal codes of all distances that T queries at the end of S positions can have.

    Args:
        T: Number of queries.
        S: Number of keys.
        d_model: Width D, even.
        base: As in :func:`course_lib.positions.sinusoidal_encoding`.

    Returns:
        ``(S + T - 1, D)``, float32: from the last query back to the first key, ``S - 1``, to the
        first query and the last key, ``1 - T``.

    Raises:
        ValueError: If D is not a positive even number.

    Example:
        >>> distance_codes(2, 3, d_model=2)[:, 0].arcsin()  # sines of 2, 1, 0, -1
        tensor([ 1.1416,  1.0000,  0.0000, -1.0000])
    """
    return sinusoidal_encoding(torch.arange(S - 1, -T, -1), d_model, base=base)


def relative_shift(scores: Tensor) -> Tensor:
    """Let each query have its own distances in the columns of its keys.

    Column m of what comes in is a distance, counted down, the same for all queries. Query i needs
    it at key ``j = m - (T - 1 - i)``, so row i goes ``T - 1 - i`` places to the left. Read as one
    line, each row then begins one place before a whole row later: a view is all it takes.

    Source: Dai et al., Transformer-XL (2019), appendix B.

    Args:
        scores: Queries by distances, ``(..., T, S + T - 1)``.

    Returns:
        Queries by keys, ``(..., T, S)``, a view.

    Raises:
        ValueError: If there are fewer distances than queries.

    Example:
        Two queries, of which the second is the last of three positions, and distances 2, 1, 0, -1.

        >>> relative_shift(torch.tensor([[2, 1, 0, -1], [2, 1, 0, -1]]))
        tensor([[ 1,  0, -1],
                [ 2,  1,  0]])
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

    Args:
        d_model: Width D, even.
        n_heads: Number of heads H, which divides D.
        dropout: Probability of dropping a weight while training.
        bias: Whether the projections add a bias vector; that of distances never does.
        fused: Whether to use the fast path when no weights are asked for.
        generator: Source of ``u`` and ``v``; torch's global one if not given.

    Raises:
        ValueError: If H does not divide D or ``dropout`` is not in [0, 1).

    Example:
        Five projections and two vectors.

        >>> attend = TransformerXLAttention(410, n_heads=10)
        >>> sum(p.numel() for p in attend.parameters()) == 5 * 410**2 + 2 * 410
        True
        >>> segment, memory = torch.zeros(1, 3, 410), torch.zeros(1, 7, 410)
        >>> out, weights = attend(segment, memory=memory, return_weights=True)
        >>> weights.shape
        torch.Size([1, 10, 3, 10])
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
        """Attend from a segment to itself and to what came before.

        Args:
            x: Tokens of the segment, ``(B, T, D)``.
            codes: Of the distances ``S - 1`` to ``1 - T``, ``(S + T - 1, D)``, which all layers can
                share; :func:`distance_codes` if not given.
            memory: Tokens before them, ``(B, M, D)``; no gradient flows into them.
            mask: Boolean, broadcastable to ``(B, H, T, S)`` with ``S = M + T``; ``True`` = may
                attend.
            return_weights: Whether to return the weights too.

        Returns:
            The output ``(B, T, D)``, and if asked for the weights ``(B, H, T, S)`` before dropout.

        Raises:
            ValueError: If the shapes don't fit together.
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
