"""Drawings lose digits and bytes, and nothing that is seen."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import numpy as np
from PIL import Image

from course_lib.book.svg_size import pack_pictures, plain, round_paths, shorten
from course_lib.plots import canvas


def pictures(svg: str) -> list[Image.Image]:
    found = re.findall(r"data:image/png;base64,([^\"]+)", svg)
    return [Image.open(io.BytesIO(base64.b64decode(encoded))) for encoded in found]


def drawing(colours: int) -> str:
    """A picture of 64 x 64 pixels of so many colours, some of them half transparent."""
    draw = np.random.default_rng(0)
    scale = draw.integers(0, 256, (colours, 4), dtype=np.uint8)
    pixels = scale[draw.permutation(64 * 64).reshape(64, 64) % colours]
    written = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(written, "PNG")
    encoded = base64.encodebytes(written.getvalue()).decode()
    return f'<svg><image xlink:href="data:image/png;base64,{encoded}" width="9"/></svg>'


def test_few_colours_are_written_shorter_and_look_the_same() -> None:
    svg = drawing(256)
    packed = pack_pictures(svg)
    assert len(packed) < len(svg) / 2
    (before,), (after,) = pictures(svg), pictures(packed)
    assert after.mode == "P"
    assert after.convert("RGBA").tobytes() == before.tobytes()
    assert packed.endswith('" width="9"/></svg>') and pack_pictures(packed) == packed


def test_many_colours_are_left_as_they_are() -> None:
    svg = drawing(257)
    assert pack_pictures(svg) == svg


def test_a_map_in_a_picture_of_the_course_has_a_pixel_for_each_number(tmp_path: Path) -> None:
    picture, axes = canvas(height=3)
    axes[0, 0].imshow(np.random.default_rng(0).normal(size=(40, 50)), cmap="PuBu")
    svg = picture._repr_svg_()
    (shown,) = pictures(svg)
    assert shown.size == (50, 40) and "image-rendering:pixelated" in svg
    path = tmp_path / "a.svg"
    path.write_text(svg, encoding="utf-8")
    shorten(tmp_path)
    short = path.read_text(encoding="utf-8")
    assert short == pack_pictures(round_paths(plain(svg))) and len(short) < len(svg)
    assert "DOCTYPE" in svg and "DOCTYPE" not in short
    assert not re.search(r"<path(?![^>]* d=)", short)
    shorten(tmp_path)
    assert path.read_text(encoding="utf-8") == short
