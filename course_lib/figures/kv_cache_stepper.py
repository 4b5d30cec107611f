"""A decoder at one step of its writing: what is computed, what is kept, what is looked at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.figures.base import Figure, slider, switch


@dataclass(frozen=True)
class Options(Figure):
    title = "A decoder writes, one token a step."
    use = (
        "Step forwards and back with the buttons or the slider. Each cell is the key and value of "
        "one token in one layer; the last token asks. Then take the cache away and watch what is "
        "computed once more."
    )

    source: Sequence[str] = ("joheun", "jeonyeogibnida", ".")  # words that the encoder has read
    # Words that the decoder reads, the start token first.
    target: Sequence[str] = ("<bos>", "it", "is", "a", "good", "evening")
    step: int = slider(3, "step", 1, lambda now: len(now.target))
    cached: bool = switch(True, "with a cache")

    def find(self) -> dict[str, Any]:
        return kv_cache_stepper(len(self.source), self.step, self.cached)

    def say(self, found: dict[str, Any]) -> str:
        return (
            f"Step {self.step} {'with' if self.cached else 'without'} a cache. Computed now: rows "
            f"{found['rows']}, scores {found['scores']}. So far: rows {found['rows_so_far']}, "
            f"scores {found['scores_so_far']}."
        )


def kv_cache_stepper(n_source: int, step: int, cached: bool = True) -> dict[str, Any]:
    """Count what one decoder layer does up to a step of greedy writing, from 1.

    A row is the key and the value of one token. Without a cache everything written so far is read
    again at each step, in self-attention and in cross-attention. ``own`` (self-attention) and
    ``memory`` (cross-attention) are what becomes of each row at this step: ``"kept"`` or ``"now"``;
    ``queries`` are the tokens that ask; ``rows_so_far`` and ``scores_so_far`` count all steps.
    """
    work = [_work(n_source, t, cached) for t in range(1, step + 1)]
    first = step == 1
    return {
        "own": ["kept" if cached else "now"] * (step - 1) + ["now"],
        "memory": ["now" if first or not cached else "kept"] * n_source,
        "queries": 1 if cached else step,
        "rows": work[-1][0],
        "scores": work[-1][1],
        "rows_so_far": sum(rows for rows, _ in work),
        "scores_so_far": sum(scores for _, scores in work),
    }


def _work(n_source: int, step: int, cached: bool) -> tuple[int, int]:
    """Rows and scores that are computed at one step."""
    if cached:
        return 1 + n_source * (step == 1), step + n_source
    return step + n_source, step * (step + n_source)
