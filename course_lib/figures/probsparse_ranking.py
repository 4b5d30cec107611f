"""Twelve queries judged by a few of their keys: who is measured by what, and who is chosen."""

import math
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.figures.base import Figure, choice, slider
from course_lib.informer import budget, max_mean_measure, sparsity_measure

LENGTH = 12
"""Queries, and keys."""

MEASURES = {
    "sample": "max − mean of the sample",
    "keys": "max − sum / all keys",
    "from uniform": "KL(U ‖ P), all keys",
    "to uniform": "KL(P ‖ U), all keys",
}
"""Measures that queries may be ranked by."""


def _scores() -> tuple[tuple[float, ...], ...]:
    generator = torch.Generator().manual_seed(3)
    scores = 1.2 * torch.randn(LENGTH, LENGTH, generator=generator)
    # Two queries that the two divergences rank oppositely.
    scores[4] = 0.6
    scores[4, 7] = -6.0
    scores[9] = -0.4
    scores[9, 2] = 1.7
    return tuple(tuple(round(x, 2) for x in row) for row in scores.tolist())


def _order() -> tuple[tuple[int, ...], ...]:
    generator = torch.Generator().manual_seed(5)
    return tuple(tuple(torch.randperm(LENGTH, generator=generator).tolist()) for _ in range(LENGTH))


SCORES = _scores()
"""Scores of each query with each key."""

ORDER = _order()
"""In which order each query draws its keys."""


@dataclass(frozen=True)
class Options(Figure):
    title = "Judged by a few."
    use = (
        "A row is a query, a column a key, a number a score. Dark cells are those that a query is "
        "judged by; orange rows are chosen, and × marks a query that all keys would judge "
        "otherwise. Move the factor, change what is ranked by, and pick a query by a click, a tap "
        "or the arrow keys."
    )

    factor: int = slider(1, "factor c", 1, 4)
    by: str = choice("sample", "ranked by", MEASURES)
    query: int = slider(0, "query", 0, LENGTH - 1)
    scores: tuple[tuple[float, ...], ...] = SCORES  # scores of each query with each key
    order: tuple[tuple[int, ...], ...] = ORDER  # in which order each query draws its keys

    def say(self, found: dict[str, Any]) -> str:
        chosen = "chosen" if self.query in found["chosen"] else "not chosen"
        from_uniform, to_uniform = found["kl"]
        return (
            f"Factor {self.factor}: {found['size']} of {LENGTH} queries are chosen, "
            f"{', '.join(map(str, found['chosen']))}. Query {self.query} is judged by "
            f"{len(found['sampled'])} keys, measures {found['measures'][self.query]:.2f} and is "
            f"{chosen}. By all keys KL(U ‖ P) is {from_uniform:.2f} and KL(P ‖ U) "
            f"{to_uniform:.2f}. Misjudged: {len(found['misjudged'])}."
        )


def probsparse_ranking(factor: int = 1, by: str = "sample", query: int = 0) -> dict[str, Any]:
    """Judge the twelve queries and choose the best.

    ``by``: what the ranking is by, a key of :data:`MEASURES`. Returns ``size``, how many keys are
    drawn and how many queries chosen; ``sampled``, the keys of the query in order; ``measures``, of
    each query; ``chosen``, the queries with the largest; ``misjudged``, those who are chosen or not
    and would not be or be by max - mean over all keys; ``kl``, both divergences of the query, from
    uniform and to it.
    """
    scores = torch.tensor(SCORES, dtype=torch.float64)
    size = budget(LENGTH, factor)
    drawn = scores.gather(1, torch.tensor(ORDER)[:, :size])
    log_weights = scores.log_softmax(-1)
    from_uniform = sparsity_measure(scores) - math.log(LENGTH)
    to_uniform = (log_weights.exp() * log_weights).sum(-1) + math.log(LENGTH)
    measures = {
        "sample": max_mean_measure(drawn),
        "keys": max_mean_measure(drawn, divisor=LENGTH),
        "from uniform": from_uniform,
        "to uniform": to_uniform,
    }[by]
    chosen, best = (
        set(m.topk(size).indices.tolist()) for m in (measures, max_mean_measure(scores))
    )
    return {
        "size": size,
        "sampled": sorted(ORDER[query][:size]) if by in ("sample", "keys") else [*range(LENGTH)],
        "measures": measures.tolist(),
        "chosen": sorted(chosen),
        "misjudged": sorted(chosen ^ best),
        "kl": [float(from_uniform[query]), float(to_uniform[query])],
    }
