"""Interactive figures, which compute in the reader's browser, in the book and in a notebook.

``figure("softmax-temperature")`` is all that a page writes: while the book is built it gives a
fragment of a page with its script, in a live notebook a widget around the same.
The Python function of the figure's name finds what is there without a script; a test holds
the two to the same numbers.
"""

import os
from importlib import import_module
from typing import Any

from course_lib.figures.base import Page

NAMES = (
    "alignment-reader attention-map-reader collision-map contrastive-matrix cost-calculator "
    "deletion-test depth-explorer dilation-groups heads-apart kv-cache-stepper live-forecast "
    "live-training live-translator live-vit live-writer mask-builder paired-plans patch-counter "
    "patch-shuffler probsparse-ranking rope-rotation sinusoid-explorer softmax-temperature "
    "window-shift"
).split()


def in_book() -> bool:
    """Tell whether the code runs while the book is built: ``COURSE_BOOK`` is ``1``."""
    return os.environ.get("COURSE_BOOK") == "1"


def figure(name: str, **options: Any) -> Any:
    """Make an interactive figure, one of :data:`NAMES`.

    ``options``: what it shows at first; see ``Options`` in the module of that name.
    """
    if name not in NAMES:
        raise ValueError(f"no figure {name!r}, expected one of {', '.join(NAMES)}")
    module = import_module(f"course_lib.figures.{name.replace('-', '_')}")
    known = module.Options.__dataclass_fields__
    if unknown := set(options) - set(known):
        raise ValueError(f"figure {name!r} has no option {sorted(unknown)}, only {sorted(known)}")
    chosen = module.Options(**options)
    page = Page(name, chosen)
    if in_book():
        return page
    from course_lib.figures.notebook import Live

    return Live(page)
