"""Pictures of screens for the pages, made small: ``python tests/book/screenshots.py``.

Tests that drive a browser leave theirs as ``_build/WAY/NAME.png``; a page shows
``book/pictures/WAY-NAME.png``. Which pictures there are is decided by which lie there: run the
tests (``make hub-test`` for the hub's, ``pytest tests/book/test_guide.py`` for the others), then
this, and look at what has changed.
"""

from pathlib import Path

from PIL import Image

from grader.base.errors import Refused

MOST, WIDTH = 80_000, 1000


def shrink(source: Path, target: Path) -> int:
    with Image.open(source) as opened:
        picture = opened.convert("RGB")
    if picture.width > WIDTH:
        height = round(picture.height * WIDTH / picture.width)
        picture = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
    for colours in (256, 128, 64, 32, 16):
        picture.quantize(colours, dither=Image.Dither.NONE).save(target, optimize=True)
        if target.stat().st_size <= MOST:
            return target.stat().st_size
    raise Refused(
        f"{source} has {target.stat().st_size} bytes with 16 colours, at most {MOST}: show less"
    )


def refresh(root: Path) -> list[str]:
    """Make all pictures anew whose screens have been left; the lines to print."""
    said = []
    for target in sorted((root / "book" / "pictures").glob("*.png")):
        way, _, name = target.stem.partition("-")
        source = root / "_build" / way / f"{name}.png"
        if source.is_file():
            said.append(f"{target.name}: {shrink(source, target)} bytes")
        else:
            said.append(f"{target.name}: stays, there is no {source.relative_to(root)}")
    return said


if __name__ == "__main__":
    print("\n".join(refresh(Path.cwd())) or "no pictures here: run it in the checkout")
