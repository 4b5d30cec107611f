"""Performer: similarity as a product of random features, so that keys can be summed first.

``exp(q . k)`` is the mean of ``phi(q) . phi(k)`` over random directions. Once the similarity is a
product, ``(phi(q) phi(k)^T) v`` can be bracketed as ``phi(q) (phi(k)^T v)``, and no matrix of all
pairs is needed. What it costs is noise, which grows fast with the norms of queries and keys.
"""

import math

import torch
from torch import Generator, Tensor, nn

from course_lib.attention import check_attention
from course_lib.efficient.keys import expand_key_mask
from course_lib.positions.heads import HeadProjections

# Positions whose prefix sums are taken together.
_CHUNK = 128


def orthogonal_features(
    n_features: int, d_head: int, *, generator: Generator | None = None
) -> Tensor:
    """Random directions ``(m, Dh)``, orthogonal within blocks of Dh and as long as normal ones.

    Each row alone is distributed like a standard normal vector, so the estimate stays unbiased;
    that no two rows of a block point the same way makes it less noisy.

    Source: Choromanski et al., Rethinking Attention with Performers (2021), section 2.4.
    """
    if n_features < 1 or d_head < 1:
        raise ValueError(f"n_features is {n_features} and d_head {d_head}, wanted at least 1")
    blocks = []
    for _ in range(math.ceil(n_features / d_head)):
        q, r = torch.linalg.qr(torch.randn(d_head, d_head, generator=generator))
        # The sign that QR leaves open is chosen so that each direction is equally likely.
        blocks.append((q * r.diagonal().sign()).T)
    lengths = torch.randn(n_features, d_head, generator=generator).norm(dim=1, keepdim=True)
    return torch.cat(blocks)[:n_features] * lengths


def softmax_features(x: Tensor, directions: Tensor, *, query: bool, eps: float = 1e-4) -> Tensor:
    """Positive features ``(..., T, m)`` whose products estimate ``exp(q . k / sqrt(Dh))``.

    ``phi(x) = (exp(w . x' - |x'|^2 / 2 - c) + eps) / sqrt(m)`` with ``x' = x / Dh^(1/4)``. The
    stabiliser c is the largest ``w . x'``: of each query for itself, of all keys together. It
    cancels when the weights are normalised, as long as eps is negligible.

    Source: Choromanski et al. (2021), lemma 1; stabilisers and eps as in the authors' code.

    Args:
        x: Queries or keys ``(..., T, Dh)``.
        directions: Random directions ``(m, Dh)``.
        query: Whether x are queries.
        eps: Keeps every feature, and so every sum of weights, away from 0.

    Example:
        >>> directions = orthogonal_features(8, 4, generator=torch.Generator().manual_seed(0))
        >>> phi = softmax_features(torch.zeros(1, 4), directions, query=True, eps=0.0)
        >>> round((phi @ phi.T).item(), 5)  # exp(0)
        1.0
    """
    return _features(x, directions, query=query, eps=eps) / math.sqrt(len(directions))


def _features(x: Tensor, directions: Tensor, *, query: bool, eps: float) -> Tensor:
    """The features without their factor, which cancels in an average."""
    if x.ndim < 2 or directions.ndim != 2 or x.shape[-1] != directions.shape[-1]:
        raise ValueError(
            f"x has shape {tuple(x.shape)} and directions {tuple(directions.shape)}, wanted "
            "(..., T, Dh) and (m, Dh)"
        )
    x = x * x.shape[-1] ** -0.25
    projected = x @ directions.to(x.dtype).T
    if projected.shape[-2] == 0:
        return projected
    axes = (-1,) if query else (-2, -1)
    stabiliser = projected.detach().amax(dim=axes, keepdim=True)
    half_norm = x.square().sum(dim=-1, keepdim=True) / 2
    return projected.sub_(half_norm + stabiliser).exp() + eps


def performer_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    directions: Tensor,
    key_mask: Tensor | None = None,
    *,
    causal: bool = False,
    eps: float = 1e-4,
    sum_eps: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Attend with estimated weights, written out: ``D^-1 phi(q) phi(k)^T v``.

    D holds the sums of the rows of ``phi(q) phi(k)^T``. Without dividing by them the result is no
    average of the values and not even of their size. Returns the output ``(B, H, T, Dv)`` and the
    weights ``(B, H, T, S)``, 0 where nothing is visible.

    Source: Choromanski et al. (2021), section 2.2.

    Args:
        directions: Random directions ``(m, Dh)``.
        causal: Needs T = S. The stabiliser of the keys is taken over all of them, later ones
            included, so an eps above 0 lets a trace of the future through.
        sum_eps: Added, for each feature, to the sum of the keys in D.

    Example:
        With enough features, and short queries and keys, it comes close.

        >>> generator = torch.Generator().manual_seed(0)
        >>> q, k, v = torch.randn(3, 1, 1, 32, 8, generator=generator)
        >>> from course_lib.attention import scaled_dot_product_attention
        >>> exact, _ = scaled_dot_product_attention(q / 2, k / 2, v)
        >>> for n_features in (16, 4096):
        ...     directions = orthogonal_features(n_features, 8, generator=generator)
        ...     out, _ = performer_attention(q / 2, k / 2, v, directions)
        ...     print(round(((out - exact).norm() / exact.norm()).item(), 2))
        0.29
        0.02
    """
    phi_q, phi_k, v, like = _prepare(q, k, v, directions, key_mask, causal, eps)
    similarity = phi_q @ phi_k.transpose(-2, -1)
    if causal:
        similarity = similarity.tril()
    total = similarity.sum(dim=-1, keepdim=True)
    if sum_eps:
        total = total + sum_eps * math.sqrt(len(directions)) * phi_q.sum(dim=-1, keepdim=True)
    weights = similarity / _positive(total)
    return (weights @ v).to(like), weights.to(like)


def performer_linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    directions: Tensor,
    key_mask: Tensor | None = None,
    *,
    causal: bool = False,
    eps: float = 1e-4,
    sum_eps: float = 0.0,
) -> Tensor:
    """Compute :func:`performer_attention` without the weights: ``D^-1 phi(q) (phi(k)^T v)``.

    The causal form goes by chunks: what lies before a chunk comes from sums over earlier chunks,
    what lies within it from the weights of the chunk alone. Arguments as for
    :func:`performer_attention`.

    Source: Choromanski et al. (2021), appendix B.
    """
    phi_q, phi_k, v, like = _prepare(q, k, v, directions, key_mask, causal, eps)
    floor = sum_eps * math.sqrt(len(directions))
    if causal:
        return _causal(phi_q, phi_k, v, floor).to(like)
    context = phi_k.transpose(-2, -1) @ v
    sums = phi_k.sum(dim=-2).unsqueeze(-1) + floor
    return (phi_q @ context / _positive(phi_q @ sums)).to(like)


def _causal(phi_q: Tensor, phi_k: Tensor, v: Tensor, floor: float) -> Tensor:
    T = phi_q.shape[-2]
    size = max(min(_CHUNK, T), 1)
    missing = -T % size
    sizes = ((T + missing) // size, size)
    if missing:
        phi_q, phi_k, v = (nn.functional.pad(x, (0, 0, 0, missing)) for x in (phi_q, phi_k, v))
    phi_q, phi_k, v = (x.unflatten(-2, sizes) for x in (phi_q, phi_k, v))
    context, sums = _before(phi_k.transpose(-2, -1) @ v), _before(phi_k.sum(dim=-2).unsqueeze(-1))
    within = (phi_q @ phi_k.transpose(-2, -1)).tril()
    total = phi_q @ (sums + floor) + within.sum(dim=-1, keepdim=True)
    out = (phi_q @ context + within @ v) / _positive(total)
    return out.flatten(-3, -2)[..., :T, :]


def _before(x: Tensor) -> Tensor:
    """Sum over earlier chunks, on the third axis from the end."""
    return x.cumsum(dim=-3) - x


def _prepare(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    directions: Tensor,
    key_mask: Tensor | None,
    causal: bool,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, torch.dtype]:
    """Features of queries and keys, and values; masked keys are 0 in both."""
    check_attention(q, k, v, n_axes=4, directions=directions)
    if causal and q.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"causal with {q.shape[-2]} queries and {k.shape[-2]} keys, wanted as many"
        )
    like = q.dtype
    if like in (torch.float16, torch.bfloat16):
        # Sums over all keys leave the range of half precision.
        q, k, v = q.float(), k.float(), v.float()
    keep = None if key_mask is None else expand_key_mask(key_mask, len(q), k.shape[-2], q.device)
    if keep is not None:
        # Before the features, so that padding does not reach the keys' common stabiliser.
        k = k.masked_fill(~keep, 0.0)
    phi_q = _features(q, directions, query=True, eps=eps)
    phi_k = _features(k, directions, query=False, eps=eps)
    if keep is not None:
        phi_k = phi_k.masked_fill(~keep, 0.0)
    return phi_q, phi_k, v, like


def _positive(total: Tensor) -> Tensor:
    """Sums to divide by; 1 for a query that sees nothing, whose output is 0 already."""
    return total.masked_fill(total == 0, 1.0)


class RandomFeatureAttention(nn.Module):
    """:func:`performer_attention` on heads, with directions that are saved with the weights.

    They are drawn, not learned; there are ``int(Dh * ln Dh)`` if ``n_features`` is not given. The
    fast path brackets so that no weights arise.
    """

    directions: Tensor

    def __init__(
        self,
        d_head: int,
        n_features: int | None = None,
        *,
        causal: bool = False,
        eps: float = 1e-4,
        sum_eps: float = 0.0,
        generator: Generator | None = None,
        fused: bool = True,
    ) -> None:
        super().__init__()
        if n_features is None:
            n_features = max(int(d_head * math.log(d_head)), 1) if d_head > 0 else 1
        self.causal, self.eps, self.sum_eps, self.fused = causal, eps, sum_eps, fused
        directions = orthogonal_features(n_features, d_head, generator=generator)
        self.register_buffer("directions", directions)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, *, key_mask: Tensor | None = None) -> Tensor:
        """Attend to k and v ``(B, H, S, Dh)``: ``(B, H, T, Dv)``."""
        causal, eps, sum_eps = self.causal, self.eps, self.sum_eps
        if self.fused:
            return performer_linear_attention(
                q, k, v, self.directions, key_mask, causal=causal, eps=eps, sum_eps=sum_eps
            )
        return performer_attention(
            q, k, v, self.directions, key_mask, causal=causal, eps=eps, sum_eps=sum_eps
        )[0]


class PerformerAttention(HeadProjections):
    """Multi-head self- or cross-attention by :class:`RandomFeatureAttention`, one for all heads."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_features: int | None = None,
        *,
        causal: bool = False,
        bias: bool = True,
        generator: Generator | None = None,
        fused: bool = True,
    ) -> None:
        super().__init__(d_model, n_heads, bias=bias, fused=fused)
        self.attend = RandomFeatureAttention(
            self.d_head, n_features, causal=causal, generator=generator, fused=fused
        )

    def forward(
        self, x: Tensor, memory: Tensor | None = None, *, key_mask: Tensor | None = None
    ) -> Tensor:
        """Attend from x ``(B, T, D)`` to the memory: ``(B, T, D)``."""
        return self.merge(self.attend(*self.project(x, memory), key_mask=key_mask))
