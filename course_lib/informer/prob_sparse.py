"""ProbSparse attention: only queries that prefer some keys attend, the others take an average.

A query whose weights are nearly uniform returns nearly the mean of the values, and may as well
return the mean. Which queries those are is judged by a few keys each.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import attention_weights, check_attention, check_dropout, fused_attention
from course_lib.informer.judging import first_in_prefix, max_mean_measure, sampled_scores
from course_lib.informer.sampling import budget, sample_keys
from course_lib.masks import causal_mask, check_bias, check_mask

Divisor = Literal["samples", "keys"]
Lazy = Literal["mean", "sum"]


@dataclass(frozen=True)
class SparseRules:
    """Settings of ProbSparse attention: the measure of queries, and the output of lazy ones.

    The defaults do what the paper describes, and in causal attention let nothing of the future in.
    :meth:`published` does what the published code does, which differs in each of the last four.

    Attributes:
        factor: Constant c: ``c ceil(ln L)`` queries attend, judged by as many keys each.
        replacement: Whether the keys are drawn with replacement and alike for all heads; each
            query of each head has different keys of its own if not. Sequences of a batch always
            share them, so that a forecast doesn't depend on what else is in the batch.
        divisor: What the mean of the measure divides the sum over the sample by: the number of
            ``"samples"``, or that of all ``"keys"``, which makes it a small part of a mean.
        lazy: What a query that does not attend takes in causal attention, the ``"mean"`` of the
            values so far or their ``"sum"``, which grows with the position (the paper allows it as
            simpler).
        leak: Whether in causal attention the queries are judged by all keys and against all
            queries, those after them too. What the future holds then decides who attends now.
    """

    factor: int = 5
    replacement: bool = False
    divisor: Divisor = "samples"
    lazy: Lazy = "mean"
    leak: bool = False

    def __post_init__(self) -> None:
        """Refuse what is not defined."""
        if self.factor < 1:
            raise ValueError(f"factor is {self.factor}, wanted at least 1")
        for name, kind in (("divisor", Divisor), ("lazy", Lazy)):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}, wanted one of {get_args(kind)}"
                )

    def published(self) -> SparseRules:
        """The same factor with the rules of the published code."""
        return dataclasses.replace(self, replacement=True, divisor="keys", lazy="sum", leak=True)


class ProbSparse(nn.Module):
    """Attention of ``c ceil(ln T)`` active queries of each head; the others get a mean of values.

    Active queries have the largest :func:`max_mean_measure`, judged by ``c ceil(ln S)`` keys that
    :func:`~course_lib.informer.sampling.sample_keys` chooses. In training every call chooses
    others; in evaluation the choice is the same in each call. With as many active queries as there
    are queries this is full attention.

    The cost is that of the sample, T c ln S products, and of the active rows, S c ln T.

    Source: Zhou et al., Informer (2021), section 3, "ProbSparse Self-attention" and algorithm 1.
    (The published code has a dropout of weights, but never uses it.)

    Example:
        Most queries return the same, the mean of the values.

        >>> q, k, v = torch.randn(3, 1, 1, 96, 8, generator=torch.Generator().manual_seed(0))
        >>> out = ProbSparse()(q, k, v)
        >>> int(torch.isclose(out, v.mean(dim=2, keepdim=True)).all(-1).sum())
        71
    """

    calls: Tensor

    draws_by_call = True  # in training every call judges by other keys

    def __init__(
        self,
        rules: SparseRules | None = None,
        *,
        causal: bool = False,
        dropout: float = 0.0,
        seed: int = 0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        check_dropout(dropout)
        self.rules = SparseRules() if rules is None else rules
        self.causal = causal
        self.dropout = dropout
        self.seed = seed
        self.fused = fused
        # Saved with the weights, so that training goes on as if it had not been interrupted.
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        scale: float | None = None,
        samples: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Arguments as for :func:`course_lib.attention.scaled_dot_product_attention`.

        ``samples`` are numbers of the keys to judge by instead of a choice of our own, ``(U,)`` for
        all queries or ``(T, U)``; they count even if masks hide them. A query that does not attend
        has the same weight for all it sees. T and S must be equal in causal attention.
        """
        check_attention(q, k, v, n_axes=4, aligned=self.causal)
        if k.shape[2] < 1:
            raise ValueError(f"k has shape {tuple(k.shape)}, wanted at least one key to judge by")
        if mask is not None:
            check_mask(mask, (*q.shape[:3], k.shape[2]), q.device)
            # A mask with one column for all keys is counted key by key.
            mask = mask.expand(torch.broadcast_shapes(mask.shape, k.shape[2:3]))
        visible = self._visible(q, mask)
        if bias is not None:
            check_bias(bias, (*q.shape[:3], k.shape[2]), q.device)
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        explicit = return_weights or not self.fused
        with torch.no_grad():
            seen = mask if self.rules.leak else visible
            measure = self._measure(q * scale, k, seen, bias, samples, explicit)
        dropout = self.dropout if self.training else 0.0
        if explicit:
            weights = attention_weights(q, k, visible, bias, scale=scale)
            even = self._even_weights(visible, weights)
            active = self._active(measure)[..., None]
            out = torch.where(active, F.dropout(weights, dropout), even) @ v
            return (out, torch.where(active, weights, even)) if return_weights else out
        lazy = self._even(v, visible, q.shape[2], plain=mask is None)
        if self._ranks_prefixes:
            active = self._active(measure)
            if torch.compiler.is_compiling():
                # Active queries are known too late for a graph: let all attend, keep theirs.
                full = fused_attention(q, k, v, visible, bias, scale=scale, dropout=dropout)
                return torch.where(active[..., None], full, lazy)
            # In some heads fewer are active than in others; those rows are thrown away again.
            most = int(active.sum(-1).max()) if active.numel() else 0
            rows = active.byte().topk(most, sorted=False).indices
        else:
            rows = self._top(measure)
        S = k.shape[2]
        heads = fused_attention(
            _rows(q, rows),
            k,
            v,
            _pairs(visible, rows, S),
            _pairs(bias, rows, S),
            scale=scale,
            dropout=dropout,
        )
        # Under autocast the kernel's precision is not that of the values.
        lazy = lazy.to(heads.dtype)
        out = lazy.scatter(2, rows[..., None].expand(heads.shape), heads)
        return torch.where(active[..., None], out, lazy) if self._ranks_prefixes else out

    @property
    def _ranks_prefixes(self) -> bool:
        return self.causal and not self.rules.leak

    def _top(self, measure: Tensor) -> Tensor:
        """Numbers of the active queries ``(B, H, N)`` where all are ranked together."""
        count = budget(measure.shape[-1], self.rules.factor)
        return measure.topk(count, sorted=False).indices

    def _active(self, measure: Tensor) -> Tensor:
        """Tell whether each query is active ``(B, H, T)``."""
        if self._ranks_prefixes:
            return first_in_prefix(measure, self.rules.factor)
        return torch.zeros_like(measure, dtype=torch.bool).scatter(-1, self._top(measure), True)

    def _visible(self, q: Tensor, mask: Tensor | None) -> Tensor | None:
        if not self.causal:
            return mask
        triangle = causal_mask(q.shape[2], device=q.device)
        return triangle if mask is None else mask & triangle

    def _measure(
        self,
        q: Tensor,
        k: Tensor,
        seen: Tensor | None,
        bias: Tensor | None,
        samples: Tensor | None,
        explicit: bool,
    ) -> Tensor:
        """Judge the queries ``(B, H, T)``."""
        if samples is not None:
            scores = sampled_scores(q, k, samples, bias, explicit=explicit)
            divisor = k.shape[2] if self.rules.divisor == "keys" else None
            return max_mean_measure(scores, divisor=divisor)
        keys, counts, n = self._choose(q, k, seen)
        scores = sampled_scores(q, k, keys, bias, explicit=explicit)
        return max_mean_measure(scores, counts, n if self.rules.divisor == "keys" else None)

    def _choose(self, q: Tensor, k: Tensor, seen: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Choose keys ``(b, H, T, U)``, say which of them count, and of how many they are."""
        (_, H, T, _), S = q.shape, k.shape[2]
        if seen is None:
            n = torch.full((T,), S, device=q.device)
        else:
            n = seen.sum(dim=-1).expand(*seen.shape[:-2], T)
        seed = self.calls * 0x9E3779B1 + self.seed
        if self.training:
            self.calls += 1
        heads = 1 if self.rules.replacement else H
        keys, counts = sample_keys(
            n, S, self.rules.factor, seed, n_heads=heads, replacement=self.rules.replacement
        )
        if seen is not None:
            # The first, second, ... visible key; those that are not come last.
            order = seen.byte().argsort(dim=-1, descending=True, stable=True)
            order = order.expand(*keys.shape[:-2], T, S)
            keys = order.gather(-1, keys.clamp(max=S - 1).expand(*order.shape[:-1], -1))
        return keys, counts, n

    def _even_weights(self, visible: Tensor | None, like: Tensor) -> Tensor:
        """The same weight for all that a query sees ``(..., T, S)``."""
        if visible is None:
            return torch.full_like(like, 1 / like.shape[-1])
        even = visible.to(like.dtype).expand(like.shape)
        if self.causal and self.rules.lazy == "sum":
            return even
        return even / visible.sum(dim=-1, keepdim=True).clamp(min=1)

    def _even(self, v: Tensor, visible: Tensor | None, T: int, *, plain: bool) -> Tensor:
        """Output of even weights: the mean of the values ``(B, H, T, Dv)``."""
        if visible is None:
            return v.mean(dim=2, keepdim=True).expand(-1, -1, T, -1)
        if not plain:
            B, H, S, _ = v.shape
            return self._even_weights(visible, v.new_empty(B, H, T, S)) @ v
        # A sum of hundreds of numbers wants more digits than half precision has.
        total = v.cumsum(dim=2, dtype=torch.promote_types(v.dtype, torch.float32))
        if self.rules.lazy == "mean":
            total = total / torch.arange(1, T + 1, device=v.device)[:, None]
        return total.to(v.dtype)


def _rows(x: Tensor, rows: Tensor) -> Tensor:
    """Of ``(B, H, T, Dh)`` the rows ``(B, H, N)``."""
    return x.gather(2, rows[..., None].expand(-1, -1, -1, x.shape[-1]))


def _pairs(x: Tensor | None, rows: Tensor, S: int) -> Tensor | None:
    """Of a mask or a bias the rows ``(B, H, N)``, where it has rows at all."""
    if x is None or x.ndim < 2 or x.shape[-2] == 1:
        return x
    x = x.expand(*rows.shape[:2], -1, S)
    return _rows(x, rows)
