"""Every mechanism of the course, beside the peers that it is held to.

One module a topic defines its mechanisms. Tests run every one through the same promises: explicit
path equals fast path, equal to the peer with the same weights, finite in half precision, traced by
``torch.compile``, deterministic.
"""

import importlib
import pkgutil
from functools import cache

from course_tests.parity.peers.contract import Lambda, Mechanism, Reference, floats

__all__ = ["Lambda", "Mechanism", "Reference", "floats", "mechanisms"]


@cache
def mechanisms() -> dict[str, Mechanism]:
    """All mechanisms by name, collected from the modules of this package."""
    found: dict[str, Mechanism] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for mechanism in getattr(module, "MECHANISMS", ()):
            if mechanism.name in found:
                raise ValueError(f"two mechanisms are called {mechanism.name}")
            found[mechanism.name] = mechanism
    return found
