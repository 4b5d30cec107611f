"""Drawings with as many digits as an eye can see."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["round_paths", "shorten"]

_PATH = re.compile(r'(?<= d=")[^"]*')
_DIGITS = re.compile(r"(\d+\.\d\d)\d+")


def round_paths(svg: str) -> str:
    """Cut the coordinates of all paths to hundredths; everything else stays as it is.

    Args:
        svg: The text of a drawing.

    Example:
        >>> round_paths('<path d="M 1.23456 -7" transform="scale(0.015625)"/>')
        '<path d="M 1.23 -7" transform="scale(0.015625)"/>'
    """
    return _PATH.sub(lambda path: _DIGITS.sub(r"\1", path[0]), svg)


def shorten(folder: Path) -> None:
    """Do so for every drawing in a folder.

    Args:
        folder: Such as ``_images`` of a built book.
    """
    for path in folder.glob("*.svg"):
        path.write_text(round_paths(path.read_text(encoding="utf-8")), encoding="utf-8")
