"""Drawings that weigh no more than what an eye can see of them."""

import base64
import io
import re
from pathlib import Path

import numpy as np
from PIL import Image

_PICTURE = re.compile(r"(?<=data:image/png;base64,)[A-Za-z0-9+/=\s]+")
_TYPE = re.compile(r"<!DOCTYPE[^>]*>\s*")
_EMPTY = re.compile(r"<path(?![^>]* d=)(?=[ /])")
_PATH = re.compile(r'(?<= d=")[^"]*')
_DIGITS = re.compile(r"(\d+\.\d\d)\d+")


def round_paths(svg: str) -> str:
    """Cut the coordinates of all paths to hundredths; everything else stays as it is."""
    return _PATH.sub(lambda path: _DIGITS.sub(r"\1", path[0]), svg)


def pack_pictures(svg: str) -> str:
    """Write PNG pictures within a drawing with a list of their colours, if these are few.

    A map drawn with matplotlib has at most as many colours as its scale, 256; four bytes for each
    pixel say no more than one. Returns the same drawing, pixel by pixel.
    """
    return _PICTURE.sub(lambda picture: _packed(picture[0]), svg)


def _packed(encoded: str) -> str:
    with Image.open(io.BytesIO(base64.b64decode(encoded))) as picture:
        pixels = np.asarray(picture.convert("RGBA")).view(np.uint32)[..., 0]  # one number each
    colours, places = np.unique(pixels, return_inverse=True)
    if len(colours) > 256:
        return encoded
    few = Image.fromarray(places.reshape(pixels.shape).astype(np.uint8), mode="P")
    few.putpalette(colours.tobytes(), rawmode="RGBA")
    written = io.BytesIO()
    few.save(written, "PNG", optimize=True)
    fresh = base64.b64encode(written.getvalue()).decode()
    return fresh if len(fresh) < len(encoded) else encoded


def plain(svg: str) -> str:
    """Drop the document type, which no browser reads and no EPUB may have, and say "no line"."""
    return _EMPTY.sub('<path d=""', _TYPE.sub("", svg))


def shorten(folder: Path) -> None:
    """Round the paths and pack the pictures of every drawing in a folder; twice does no harm."""
    for path in folder.glob("*.svg"):
        svg = path.read_text(encoding="utf-8")
        short = pack_pictures(round_paths(plain(svg)))
        if short != svg:
            path.write_text(short, encoding="utf-8")
