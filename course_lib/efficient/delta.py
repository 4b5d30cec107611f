"""The gated delta rule: a state that forgets, and corrects what it returns for a key."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import check_attention
from course_lib.positions.heads import HeadProjections


def gated_delta(
    q: Tensor, k: Tensor, v: Tensor, keep: Tensor, rate: Tensor, *, chunk: int = 64
) -> Tensor:
    """Read a state that each token first makes smaller, then corrects: ``o_t = S_t q_t``.

    Linear attention only adds to its state, so that values of similar keys mix. Here a step first
    takes away what the state returns for the new key, and writes the new value in its place:
    ``S_t = S_(t-1) (a_t (I - b_t k_t k_t^T)) + b_t v_t k_t^T``, where a is the share of the state
    that each step keeps, ``keep`` ``(B, H, T)``, and b how far it goes to the new value, ``rate``.
    Keys have length 1.

    Tokens of a chunk are taken at once, which changes nothing but time and rounding. With S from
    before it, g_t the product of its a up to t and u_t what token t writes, ``S_t = g_t S + sum_i
    (g_t / g_i) u_i k_i^T`` over its tokens i up to t, and the u solve a triangular system.

    Source: Yang, Kautz and Hatamizadeh, Gated Delta Networks (2025), equation 10 and section 3.3.
    """
    check_attention(q, k, v, n_axes=4, aligned=True)
    for name, x in (("keep", keep), ("rate", rate)):
        if x.shape != q.shape[:3]:
            raise ValueError(f"{name} is {tuple(x.shape)}, wanted {tuple(q.shape[:3])}")
    if not q.shape[2]:
        return torch.zeros_like(v)
    # A triangular system is not solved in half precision.
    precision, wide = v.dtype, torch.promote_types(v.dtype, torch.float32)
    q, k, v, keep, rate = (x.to(wide) for x in (q, k, v, keep, rate))
    state = q.new_zeros(*q.shape[:2], v.shape[-1], k.shape[-1])
    out = []
    for q_c, k_c, v_c, keep_c, b in zip(
        *(x.split(chunk, dim=2) for x in (q, k, v, keep, rate.unsqueeze(-1))), strict=True
    ):
        # A token that keeps nothing has no logarithm; what is before it counts for nothing.
        emptied = (keep_c == 0).cumsum(dim=-1)
        log_g = keep_c.masked_fill(keep_c == 0, 1.0).log().cumsum(dim=-1)
        # Differences before the exponential: g itself may be 0 in single precision.
        ratio = (log_g.unsqueeze(-1) - log_g.unsqueeze(-2)).tril().exp().tril()
        ratio = ratio * (emptied.unsqueeze(-1) == emptied.unsqueeze(-2))
        g = (log_g.exp() * (emptied == 0)).unsqueeze(-1)
        known = b * (ratio * (k_c @ k_c.mT)).tril(-1)
        wanted = b * (v_c - g * (k_c @ state.mT))
        u = torch.linalg.solve_triangular(known, wanted, upper=False, unitriangular=True)
        out.append(g * (q_c @ state.mT) + (ratio * (q_c @ k_c.mT)) @ u)
        state = g[..., -1:, :] * state + (ratio[..., -1, :, None] * u).mT @ k_c
    return torch.cat(out, dim=2).to(precision)


class GatedDeltaAttention(HeadProjections):
    """Heads with a state by :func:`gated_delta`; there is no softmax, and no key is kept.

    ``a = sigmoid(W_a x + c)`` and ``b = sigmoid(W_b x)``; at first the heads keep between 0.999
    and 0.88. The paper's short convolution, output norm and output gate are left out.
    """

    def __init__(self, d_model: int, n_heads: int, *, bias: bool = True) -> None:
        super().__init__(d_model, n_heads, bias=bias)
        self.keep_proj = nn.Linear(d_model, n_heads, bias=False)
        self.rate_proj = nn.Linear(d_model, n_heads, bias=bias)
        self.memory = nn.Parameter(torch.linspace(7, 2, n_heads))

    def forward(self, x: Tensor) -> Tensor:
        """Read what was written up to each token: ``(B, T, D)``."""
        q, k, v = self.project(x)
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        keep = (self.keep_proj(x) + self.memory).sigmoid().mT
        rate = self.rate_proj(x).sigmoid().mT
        return self.merge(gated_delta(q, k, v, keep, rate))
