"""Every mechanism of the course, beside the peers that it is held to.

One module a topic defines its mechanisms; ``table.toml`` fixes what the benchmark compares. Tests
run every entry through the same promises: explicit path equals fast path, equal to the peer with
the same weights, finite in half precision, traced by ``torch.compile``, saved and loaded,
deterministic.
"""

import importlib
import pkgutil
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from course_tests.parity.peers.contract import Lambda, Mechanism, Reference, floats

__all__ = ["Lambda", "Mechanism", "Reference", "Row", "floats", "load_table", "mechanisms"]


@dataclass(frozen=True)
class Row:
    """One row of the table: what the benchmark measures of a mechanism.

    Args:
        name: Of the mechanism.
        peer: Full name of the peer, or ``""``.
        package: The peer's package and its version, as ``name==version``, or ``""``.
        small: Sizes of the small shape.
        large: Sizes of the large shape.
    """

    name: str
    peer: str
    package: str
    small: dict[str, int]
    large: dict[str, int]


@cache
def load_table() -> dict[str, Row]:
    """The committed table, by mechanism.

    Raises:
        ValueError: If a row has an unknown key or a peer from a package without a version.

    Example:
        >>> load_table()["multi_head"].peer
        'torch.nn.MultiheadAttention'
    """
    with (Path(__file__).parent / "table.toml").open("rb") as file:
        table = tomllib.load(file)
    return {
        name: _row(name, values, table["versions"]) for name, values in table["mechanisms"].items()
    }


def _row(name: str, values: dict[str, Any], versions: dict[str, str]) -> Row:
    unknown = set(values) - {"peer", "small", "large"}
    if unknown or not {"small", "large"} <= set(values):
        raise ValueError(f"row {name} has the keys {sorted(values)}, wanted small, large and peer")
    peer = values.get("peer", "")
    package = ""
    if peer:
        distribution = peer.split(".")[0].replace("_", "-")
        known = {**versions, "numpy": ""}
        if distribution not in known:
            raise ValueError(f"row {name}: no version is fixed for the package of {peer}")
        package = f"{distribution}=={known[distribution]}".removesuffix("==")
    return Row(name, peer, package, values["small"], values["large"])


@cache
def mechanisms() -> dict[str, Mechanism]:
    """All mechanisms by name, collected from the modules of this package.

    Raises:
        ValueError: If two have the same name.
    """
    found: dict[str, Mechanism] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for mechanism in getattr(module, "MECHANISMS", ()):
            if mechanism.name in found:
                raise ValueError(f"two mechanisms are called {mechanism.name}")
            found[mechanism.name] = mechanism
    return found
