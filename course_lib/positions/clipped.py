"""A learned vector for each distance up to a limit, added to keys and to values."""

import torch
from torch import Tensor, nn

from course_lib.masks import masked_softmax
from course_lib.positions.heads import HeadProjections
from course_lib.positions.relative import relative_distance


class ClippedRelativeAttention(HeadProjections):
    """Self-attention whose keys and values know their distance to the query.

    A key j and its value get a learned vector for ``j - i``, cut off at ``k = max_distance``: the
    score is ``q_i . (k_j + a_{j-i}) / sqrt(Dh)`` and the output ``sum_j w_ij (v_j + b_{j-i})``.
    Beyond the limit a head knows that a key is far away and on which side, but not how far. The
    heads share the vectors.

    The formula asks for a vector per pair. The fast path multiplies each query by the 2k + 1
    vectors once and hands out the products, and it sums up the weights of each distance before it
    multiplies them by the vectors of the values.

    Source: Shaw et al., Self-Attention with Relative Position Representations (2018), sections 3.1
    and 3.2.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        max_distance: int,
        *,
        dropout: float = 0.0,
        bias: bool = True,
        fused: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(d_model, n_heads, dropout=dropout, bias=bias, fused=fused)
        if max_distance < 0:
            raise ValueError(f"max_distance is {max_distance}, wanted at least 0")
        self.max_distance = max_distance
        self.key_table = nn.Parameter(torch.empty(2 * max_distance + 1, self.d_head))
        self.value_table = nn.Parameter(torch.empty(2 * max_distance + 1, self.d_head))
        for table in (self.key_table, self.value_table):
            nn.init.xavier_uniform_(table, generator=generator)

    def forward(
        self, x: Tensor, *, mask: Tensor | None = None, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from each token ``(B, T, D)`` to all: ``(B, T, D)``."""
        q, k, v = self.project(x)
        q = q * self.d_head**-0.5
        T, limit = x.shape[1], self.max_distance
        index = relative_distance(T, device=x.device).clamp(-limit, limit) + limit
        if self.fused:
            index = index.expand(*q.shape[:2], T, T)
            products = q @ self.key_table.T
            weights = masked_softmax(q @ k.mT + products.gather(-1, index), mask)
            used = self.drop(weights)
            by_distance = torch.zeros_like(products).scatter_add(-1, index, used)
            heads = used @ v + by_distance @ self.value_table
        else:
            keys = k[:, :, None] + self.key_table[index]
            weights = masked_softmax((q[:, :, :, None] * keys).sum(-1), mask)
            values = v[:, :, None] + self.value_table[index]
            heads = (self.drop(weights)[..., None] * values).sum(-2)
        out = self.merge(heads)
        return (out, weights) if return_weights else out
