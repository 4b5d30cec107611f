"""Attention, layers and the halving between them."""

from collections.abc import Collection

import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import Rotate, attention_weights, fused_attention
from course_lib.informer.config import InformerConfig
from course_lib.informer.prob_sparse import ProbSparse, SparseRules
from course_lib.layers import FeedForward
from course_lib.masks import causal_mask
from course_lib.positions.delta import steps
from course_lib.positions.heads import HeadProjections
from course_lib.positions.terms import TERMS, check_terms, join_terms, term_scale


class InformerAttention(HeadProjections):
    """Multi-head attention with the switches of an Informer.

    Args:
        rules, seed: Of ProbSparse attention, which without rules is full; of the keys it judges by.
        terms: If positions are given, which terms of the scores are added up.
        rescale_terms: Whether the scale takes into account how many they are.
        delta_value: Whether increments of the values are averaged, and added to each token's
            own value.
        mix: Whether heads are read as tokens without bringing time to the front.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        rules: SparseRules | None = None,
        causal: bool = False,
        terms: Collection[str] = TERMS,
        rescale_terms: bool = False,
        delta_value: bool = False,
        mix: bool = False,
        dropout: float = 0.0,
        seed: int = 0,
        fused: bool = True,
    ) -> None:
        super().__init__(d_model, n_heads, dropout=dropout, fused=fused)
        self.sparse: ProbSparse | None = None
        if rules is not None:
            self.sparse = ProbSparse(rules, causal=causal, dropout=dropout, seed=seed, fused=fused)
        self.causal = causal
        self.terms = check_terms(terms)
        self.rescale_terms = rescale_terms
        self.delta_value = delta_value
        self.mix = mix

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        positions: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        samples: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend.

        Args:
            x, memory: Tokens ``(B, T, D)`` and what is searched ``(B, S, D)``, by default the same.
            positions: Vectors to enter queries and keys, but not values, ``(T, D)``.
            samples: Numbers of the keys to judge by, see :class:`~course_lib.informer.ProbSparse`.
        """
        if memory is not None and (self.delta_value or positions is not None):
            raise ValueError("got a memory, wanted none: steps and positions are of one sequence")
        q, k, v = self.project(x, memory)
        scale = self.d_head**-0.5
        if positions is not None:
            q, k = join_terms(q, k, *self.project_positions(positions), self.terms)
            q, k = (part.expand(x.shape[0], -1, -1, -1) for part in (q, k))
            scale = term_scale(self.d_head, self.terms, rescale=self.rescale_terms)
        if rotate is not None:
            q, k = rotate(q, k, 0)
        values = steps(v) if self.delta_value else v
        heads, weights = self._attend(q, k, values, bias, scale, samples, return_weights)
        if self.delta_value:
            heads = heads + v
        if self.mix:
            # (B, H, T, Dh) read as (B, T, D): what was a head becomes a stretch of time.
            out = self.out_proj(heads.reshape(x.shape))
        else:
            out = self.merge(heads)
        return out if weights is None else (out, weights)

    def _attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        bias: Tensor | None,
        scale: float,
        samples: Tensor | None,
        return_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        if self.sparse is not None:
            result = self.sparse(
                q, k, v, bias=bias, scale=scale, samples=samples, return_weights=return_weights
            )
            return result if return_weights else (result, None)
        mask = causal_mask(q.shape[2], k.shape[2], device=q.device) if self.causal else None
        if self.fused and not return_weights:
            dropout = self.dropout if self.training else 0.0
            return fused_attention(q, k, v, mask, bias, scale=scale, dropout=dropout), None
        weights = attention_weights(q, k, mask, bias, scale=scale)
        return self.drop(weights) @ v, weights if return_weights else None


class Distilling(nn.Module):
    """Halves a sequence: a convolution over three tokens, then the largest of each three.

    The convolution sees the sequence as a ring. Between it and the ELU the published code has a
    batch norm: in training, what one sequence becomes depends on the others.

    Source: Zhou et al., Informer (2021), section 3, "Self-attention Distilling"; its code.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(d_model, d_model, kernel_size=3, padding=1, padding_mode="circular")
        self.norm = nn.BatchNorm1d(d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Halve ``(B, T, D)`` to ``(B, ceil(T / 2), D)``."""
        hidden = F.elu(self.norm(self.conv(x.transpose(1, 2))))
        return F.max_pool1d(hidden, kernel_size=3, stride=2, padding=1).transpose(1, 2)


class _Layer(nn.Module):
    """Post-norm, as published."""

    def __init__(self, config: InformerConfig) -> None:
        super().__init__()
        D = config.d_model
        self.feed_forward: nn.Module = FeedForward(
            D, config.d_ff, activation=config.activation, dropout=config.dropout
        )
        if config.ff_depth > 1:
            self.feed_forward = _deep(config)
        self.feed_forward_norm = nn.LayerNorm(D)
        self.attention_norm = nn.LayerNorm(D)
        self.dropout = nn.Dropout(config.dropout)

    def _finish(self, x: Tensor) -> Tensor:
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


def _deep(config: InformerConfig) -> nn.Sequential:
    activation = nn.GELU if config.activation == "gelu" else nn.ReLU
    widths = [config.d_model, *[config.d_ff] * config.ff_depth]
    parts: list[nn.Module] = []
    for before, after in zip(widths[:-1], widths[1:], strict=True):
        parts += [nn.Linear(before, after), activation(), nn.Dropout(config.dropout)]
    return nn.Sequential(*parts, nn.Linear(config.d_ff, config.d_model))


def _self_attention(config: InformerConfig, seed: int, *, causal: bool) -> InformerAttention:
    return InformerAttention(
        config.d_model,
        config.n_heads,
        rules=config.rules if config.attention == "prob" else None,
        causal=causal,
        terms=config.terms,
        rescale_terms=config.rescale_terms,
        delta_value=config.delta_value,
        mix=config.mix and causal,
        dropout=config.dropout,
        seed=seed,
        fused=config.fused,
    )


class InformerEncoderLayer(_Layer):
    """Self-attention, then feed-forward, each followed by a norm.

    Source: Zhou et al. (2021), section 3, with the order of the published code.
    """

    def __init__(self, config: InformerConfig, seed: int = 0) -> None:
        super().__init__(config)
        self.attention = _self_attention(config, seed, causal=False)

    def forward(
        self,
        x: Tensor,
        *,
        positions: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        samples: Tensor | None = None,
    ) -> Tensor:
        """Arguments as for :class:`InformerAttention`, without a memory: ``(B, T, D)``."""
        gathered = self.attention(x, positions=positions, bias=bias, rotate=rotate, samples=samples)
        return self._finish(self.attention_norm(x + self.dropout(gathered)))


class InformerDecoderLayer(_Layer):
    """Causal self-attention, full attention to the encoder, feed-forward, each followed by a norm.

    Source: Zhou et al. (2021), section 3, with the order of the published code.
    """

    def __init__(self, config: InformerConfig, seed: int = 0) -> None:
        super().__init__(config)
        self.attention = _self_attention(config, seed, causal=True)
        self.cross_attention = InformerAttention(
            config.d_model, config.n_heads, dropout=config.dropout, fused=config.fused
        )
        self.cross_attention_norm = nn.LayerNorm(config.d_model)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        positions: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
    ) -> Tensor:
        """Arguments as for :class:`InformerAttention`; the memory is the encoder's."""
        gathered = self.attention(x, positions=positions, bias=bias, rotate=rotate)
        x = self.attention_norm(x + self.dropout(gathered))
        found = self.cross_attention(x, memory)
        return self._finish(self.cross_attention_norm(x + self.dropout(found)))
