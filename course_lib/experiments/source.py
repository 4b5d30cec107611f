"""A digest of the definitions that training reaches, which records hold."""

import functools
import hashlib
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from grader.base import reach
from grader.base.reach import ROOT, Symbol, follow

MOVED = {
    "course_lib.training.loop.fit": "course_lib.training.graphed.fit",
    "course_lib.errors": "grader.base.errors",
    "course_lib.files": "grader.base.files",
}
"""Modules and definitions that have another name now, by the name under which digests hold them.

What stands under both names runs under the old one on a CPU, and under the new one elsewhere.
"""

EARLIER = tomllib.loads(Path(__file__).with_name("earlier_digests.toml").read_text("utf-8"))
"""By a digest the one that the same code had when a docstring left a ``pass`` behind."""


def reached(start: Iterable[Symbol], root: Path = ROOT, device: str = "cpu") -> dict[Symbol, str]:
    """Follow names as :func:`grader.base.reach.reached` does, to what runs on a device."""
    return reach.reached(start, root, instead=functools.partial(_now, root=root, device=device))


def digest(start: Iterable[Symbol], root: Path = ROOT, device: str = "cpu") -> str:
    """SHA-256 over all that :func:`reached` finds; arguments and errors as there."""
    found = {
        tuple(map(_before, symbol)): _before(text)
        for symbol, text in reached(start, root, device).items()
    }
    made = hashlib.sha256()
    for (module, name), text in sorted(found.items()):
        made.update(f"{module} {name}\n{text}\n".encode())
    return made.hexdigest()


def _now(symbol: Symbol, root: Path, device: str) -> Symbol:
    """The definition that runs on a device where a name stands for two."""
    for old, new in MOVED.items():
        if ".".join(symbol) == new and device == "cpu":
            module, _, name = old.rpartition(".")
            return follow((module, name), root) or symbol
    return symbol


def _before(text: str) -> str:
    """Text with the names that moved modules had."""
    for old, new in MOVED.items():
        text = re.sub(rf"\b{re.escape(new)}\b", old, text)
    return text
