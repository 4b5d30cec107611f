"""Attacks on the grader, as a table that can be read and run: ``course attacks``."""

import re
from pathlib import Path


def read(name: str) -> list[tuple[str, str]]:
    """Heads and texts of a file beside this one; a head is a line that begins with ``===``.

    A line ``<HEAD>`` in a text stands for the text below that head.
    """
    known: dict[str, str] = {}
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    found = []
    for part in re.split(r"^=== ", text, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        body = re.sub(r"^<(\w+)>$", lambda m: known.get(m[1], m[0]), body[:-1], flags=re.M)
        known[head] = body
        found.append((head, body))
    return found
