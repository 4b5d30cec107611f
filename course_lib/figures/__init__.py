"""Interactive figures that need no kernel in the book and use one in a notebook.

``figure("softmax-temperature")`` is all that a page writes. While the book is built (the
environment variable ``COURSE_BOOK`` is ``1``) it returns SVG with a small script that computes in
the reader's browser; in a live notebook it returns ipywidgets over the Python function of the
same name. A test holds the two to the same numbers.
"""

import os
from importlib import import_module
from typing import Any

from course_lib.figures.base import Page

__all__ = ["NAMES", "figure", "in_book"]

NAMES = (
    "alignment-reader", "attention-map-reader", "collision-map", "contrastive-matrix",
    "cost-calculator", "deletion-test", "depth-explorer", "dilation-groups", "heads-apart",
    "kv-cache-stepper", "live-forecast", "live-training", "live-translator", "live-vit",
    "mask-builder", "paired-plans", "patch-counter", "patch-shuffler", "probsparse-ranking",
    "rope-rotation", "shared-state", "sinusoid-explorer", "softmax-temperature", "window-shift",
)  # fmt: skip


def in_book() -> bool:
    """Whether the code runs while the book is built: ``COURSE_BOOK`` is ``1``."""
    return os.environ.get("COURSE_BOOK") == "1"


def figure(name: str, **options: Any) -> Any:
    """Make an interactive figure.

    Args:
        name: One of :data:`NAMES`.
        **options: What the figure shows at first; see ``Options`` in the module of that name.

    Returns:
        A page fragment while the book is built, a widget otherwise.

    Raises:
        ValueError: If there is no such figure or no such option.

    Example:
        >>> figure("softmax")
        Traceback (most recent call last):
        ...
        ValueError: no figure 'softmax', wanted one of alignment-reader, attention-map-reader, \
collision-map, contrastive-matrix, cost-calculator, deletion-test, depth-explorer, \
dilation-groups, heads-apart, kv-cache-stepper, live-forecast, live-training, live-translator, \
live-vit, mask-builder, paired-plans, patch-counter, patch-shuffler, probsparse-ranking, \
rope-rotation, shared-state, sinusoid-explorer, softmax-temperature, window-shift
    """
    if name not in NAMES:
        raise ValueError(f"no figure {name!r}, wanted one of {', '.join(NAMES)}")
    module = import_module(f"course_lib.figures.{name.replace('-', '_')}")
    known = module.Options.__dataclass_fields__
    if unknown := set(options) - set(known):
        raise ValueError(f"figure {name!r} has no option {sorted(unknown)}, only {sorted(known)}")
    chosen = module.Options(**options)
    return Page(name, chosen) if in_book() else chosen.widget()
