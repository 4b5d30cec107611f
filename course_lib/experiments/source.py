"""A digest of the definitions that training reaches, which records hold."""

import hashlib
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from grader.base.reach import ROOT, Symbol, reached

MOVED = {
    "course_lib.errors": "grader.base.errors",
    "course_lib.files": "grader.base.files",
}
"""Modules that have another name now, by the name under which digests hold them."""

EARLIER = tomllib.loads(Path(__file__).with_name("earlier_digests.toml").read_text("utf-8"))
"""By a digest the one that the same code had when a docstring left a ``pass`` behind."""


def digest(start: Iterable[Symbol], root: Path = ROOT) -> str:
    """SHA-256 over all that :func:`grader.base.reach.reached` finds; arguments as there."""
    found = {
        tuple(map(_before, symbol)): _before(text) for symbol, text in reached(start, root).items()
    }
    made = hashlib.sha256()
    for (module, name), text in sorted(found.items()):
        made.update(f"{module} {name}\n{text}\n".encode())
    return made.hexdigest()


def _before(text: str) -> str:
    """Text with the names that moved modules had."""
    for old, new in MOVED.items():
        text = re.sub(rf"\b{re.escape(new)}\b", old, text)
    return text
