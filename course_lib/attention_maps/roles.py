"""Roles of a model's heads: scores on sentences with known relations."""

from torch import Tensor

from course_lib.attention_maps.metrics import (
    block_score,
    column_score,
    entropy,
    offset_score,
    relation_score,
)
from course_lib.data.text import RELATIONS, TextBatch


def head_roles(
    weights: Tensor, batch: TextBatch, *, mask: Tensor | None = None
) -> dict[str, Tensor]:
    """Score heads ``(L, B, H, T, T)`` for every role that the patterns essay names: ``(L, H)``.

    - ``previous``, ``next``: attention to the neighbour;
    - ``agreement``, ``coreference``, ``emphasis``: how often the related word gets most;
    - ``separators``, ``rare``: attention to signs and to rare names, compared with a head that
      attends to all tokens alike (1 is chance);
    - ``clause``: attention within the own clause;
    - ``entropy``: from 0 to 1.

    Padding and the tokens at both ends don't ask. A score is the mean over the sentences in which
    it can be measured; NaN where no sentence can show it. Compare relations with
    :func:`course_lib.attention_maps.relation_baseline`: a head with a high score may only count
    words. The mask is the one that the weights were computed under; padding if not given.
    """
    n_sentences, length = batch.tokens.shape
    if weights.ndim != 5 or weights.shape[1] != n_sentences or weights.shape[-2:] != (length,) * 2:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}, wanted (L, {n_sentences}, H, {length}, "
            f"{length})"
        )
    visible = batch.keep[:, None, None, :] if mask is None else mask
    visible = visible.expand(weights.shape)
    asks = (batch.clauses >= 0)[:, None].expand(weights.shape[:-1])

    def marked(columns: Tensor) -> Tensor:
        return column_score(
            weights,
            columns[:, None].expand(weights.shape[:-1]),
            mask=visible,
            # Without a mark in the sentence there is nothing to measure.
            queries=asks & columns.any(dim=1)[:, None, None],
            relative=True,
        )

    scores = {
        "previous": offset_score(weights, -1, queries=asks),
        "next": offset_score(weights, 1, queries=asks),
        "separators": marked(batch.marks["separators"]),
        "rare": marked(batch.marks["rare"]),
        "clause": block_score(
            weights, batch.clauses[:, None].expand(weights.shape[:-1]), queries=asks
        ),
        "entropy": entropy(weights, mask=visible, queries=asks, normalised=True),
    }
    for relation in RELATIONS:
        links = batch.relations[relation][:, None].expand(weights.shape)
        scores[relation] = relation_score(weights, links, queries=asks)
    return {name: score.nanmean(dim=1) for name, score in scores.items()}
