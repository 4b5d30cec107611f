"""Operations and memory of each kind of attention, on paper and while it runs."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_lib.attention import check_heads

KINDS = ("full", "window", "Longformer", "Linformer", "Performer", "tiled")
"""The kinds of attention that :func:`attention_costs` counts."""


class Cost(NamedTuple):
    """Cost of a layer beyond its four projections: multiplications, and numbers held at once."""

    multiplications: int
    numbers: int


def window_pairs(T: int, radius: int) -> int:
    """Count how many of T positions' pairs :func:`course_lib.masks.sliding_window_mask` shows.

    >>> window_pairs(5, radius=1)  # 2 + 3 + 3 + 3 + 2
    13
    """
    radius = min(radius, T - 1)
    return T * (2 * radius + 1) - radius * (radius + 1)


def longformer_pairs(T: int, radius: int, n_global: int) -> int:
    """Count how many of T positions' pairs :func:`course_lib.masks.longformer_mask` shows.

    The first ``n_global`` positions see everything and are seen by all.
    """
    n_global = min(n_global, T)
    # The rest after the global positions is a shorter sequence with a window.
    rest = window_pairs(T - n_global, radius) if T > n_global else 0
    return rest + 2 * n_global * T - n_global**2


def attention_costs(
    T: int,
    d_model: int,
    n_heads: int,
    *,
    radius: int = 64,
    n_global: int = 1,
    rank: int = 128,
    tile: int = 128,
) -> dict[str, Cost]:
    """The :class:`Cost` of each of :data:`KINDS` of attention.

    Only what counts is counted: pairs that a window hides cost nothing. That needs an
    implementation which never makes the other scores; a mask alone saves neither.

    Args:
        radius: Neighbours on each side, of window and Longformer.
        n_global: Global positions of Longformer. Their keys and values of all positions, and
            their queries, have projections of their own, which are counted here.
        rank: Mixtures of Linformer, and features of Performer.
        tile: Queries and keys of a tile; one tile per head is held, and two numbers per query.

    Example:
        >>> costs = attention_costs(1024, 512, 8, radius=64, rank=128)
        >>> costs["full"].multiplications / costs["Linformer"].multiplications
        4.0
    """
    check_heads(d_model, n_heads)
    sizes = {"T": T, "rank": rank, "tile": tile}
    if small := {name: size for name, size in sizes.items() if size < 1}:
        raise ValueError(f"sizes are {small}, wanted at least 1 each")
    if radius < 0 or n_global < 0:
        raise ValueError(f"radius is {radius} and n_global {n_global}, wanted at least 0")
    near, joined = window_pairs(T, radius), longformer_pairs(T, radius, n_global)
    n_global = min(n_global, T)
    # Queries of the global positions, and keys and values of all for them.
    own = (n_global + 2 * T) * d_model**2 if n_global else 0
    features = 4 * T * rank * d_model + T * rank * n_heads
    side = min(tile, T)
    return {
        "full": Cost(2 * T**2 * d_model, n_heads * T**2),
        "window": Cost(2 * near * d_model, n_heads * near),
        "Longformer": Cost(2 * joined * d_model + own, n_heads * joined),
        "Linformer": Cost(4 * T * rank * d_model, n_heads * T * rank),
        "Performer": Cost(features, 2 * n_heads * T * rank + rank * d_model),
        "tiled": Cost(2 * T**2 * d_model, n_heads * (side**2 + 2 * T)),
    }


class _Largest(TorchDispatchMode):
    """Watches the results of all operations. A view holds no more than what it is a view of."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for x in tree_leaves(result):
            if isinstance(x, Tensor):
                held = x.untyped_storage().nbytes() // x.element_size()
                self.numbers = max(self.numbers, min(held, x.numel()))
        return result


def largest_tensor(call: Callable[[], object]) -> int:
    """Count how many numbers the largest tensor has that a call, run once, makes on its way."""
    with _Largest() as watch:
        call()
    return watch.numbers
