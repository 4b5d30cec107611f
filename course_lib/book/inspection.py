"""What a built book weighs, what it loads from elsewhere, how long its pages ran."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["EXECUTION_FILE", "TIMES_FILE", "broken_links", "outside_resources", "report"]

EXECUTION_FILE = "execution.json"
# Seconds of the last build, and of the last that executed every page.
TIMES_FILE = "build-seconds.json"
_LOADED = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "src"),
    ("source", "srcset"),
    ("iframe", "src"),
    ("object", "data"),
    ("embed", "src"),
    ("video", "src"),
    ("video", "poster"),
    ("audio", "src"),
    ("track", "src"),
    ("use", "href"),
}
_LINKS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "preconnect", "manifest"}
_CSS_URL = re.compile(r"""(?:url\(|@import\s+)\s*["']?((?:https?:)?//[^"')\s]+)""")


def report(html_dir: Path) -> dict[str, Any]:
    """Describe a built book.

    Args:
        html_dir: The folder of ``index.html``.

    Returns:
        A dictionary that ``json.dumps`` takes: ``pages`` with their sizes, ``bytes`` and
        ``static_bytes``, the ``largest`` files, ``chapters`` and ``interactive`` figures (how
        many), ``third_party`` (what a page would load from another host: must be empty),
        ``missing_alt`` (pictures that say nothing to who can't see them: must be empty),
        ``execution`` (seconds of each executed page) and ``build_seconds`` of the last build.
    """
    files = sorted(path for path in html_dir.rglob("*") if path.is_file())
    sizes = {path.relative_to(html_dir).as_posix(): path.stat().st_size for path in files}
    execution = _noted(html_dir.parent / EXECUTION_FILE)
    pictures = [finding for page in _read(html_dir) for finding in page.missing_alt]
    figures = {name for page in _read(html_dir) for name in page.figures}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:10]
    return {
        "pages": {name: size for name, size in sizes.items() if name.endswith(".html")},
        "bytes": sum(sizes.values()),
        "static_bytes": sum(size for name, size in sizes.items() if name.startswith("_static/")),
        "largest": [{"file": name, "bytes": size} for name, size in largest],
        "chapters": len(list(html_dir.glob("book/chapters/[0-9]*.html"))),
        "interactive": len(figures),
        "third_party": list(outside_resources(html_dir)),
        "broken_links": list(broken_links(html_dir)),
        "missing_alt": pictures,
        "execution": execution,
        "execution_seconds": round(sum(execution.values()), 1),
        "build_seconds": _noted(html_dir.parent / TIMES_FILE),
    }


def broken_links(html_dir: Path) -> Iterator[dict[str, str]]:
    """Find links within the book that lead nowhere: to no file, or to no place on a page.

    Args:
        html_dir: The folder of ``index.html``.

    Yields:
        The ``file``, the ``element`` (``a``) and the ``url``.
    """
    pages = {page.path: page for page in _read(html_dir)}
    for path, page in pages.items():
        for url in page.links:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            goal = goal / "index.html" if goal.is_dir() else goal
            place = unquote(parts.fragment)
            known = pages[goal].ids if goal in pages else set()
            if not goal.is_file() or (place and goal in pages and place not in known):
                yield _finding(html_dir, path, "a", url)


def outside_resources(html_dir: Path) -> Iterator[dict[str, str]]:
    """Find scripts, styles, fonts, images and frames that a page loads from another host.

    Args:
        html_dir: The folder of ``index.html``.

    Yields:
        The ``file``, the ``element`` that loads and the ``url``.
    """
    for page in _read(html_dir):
        for element, url in page.loaded:
            if re.match(r"(?:https?:)?//", url):
                yield _finding(html_dir, page.path, element, url)
    for path in sorted([*html_dir.rglob("*.css"), *html_dir.rglob("*.html")]):
        for url in _CSS_URL.findall(path.read_text(encoding="utf-8")):
            yield _finding(html_dir, path, "css", url)


def _noted(path: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _read(html_dir: Path) -> Iterator["_Page"]:
    for path in sorted(html_dir.resolve().rglob("*.html")):
        page = _Page(path)
        page.feed(path.read_text(encoding="utf-8"))
        yield page


def _finding(html_dir: Path, path: Path, element: str, url: str) -> dict[str, str]:
    inside = path.resolve().relative_to(html_dir.resolve())
    return {"file": inside.as_posix(), "element": element, "url": url}


class _Page(HTMLParser):
    """Collects what a page loads without being asked, its links, figures and textless pictures."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.loaded: list[tuple[str, str]] = []
        self.figures: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.missing_alt: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if name := values.get("data-figure"):
            self.figures.append(name)
        # An empty text is right for what only decorates; the course's own pictures are content.
        told = values.get("alt", "") or values.get("aria-label", "")
        if tag == "img" and not told.strip() and values.get("aria-hidden") != "true":
            source = values.get("src", "")
            self.missing_alt.append({"file": self.path.name, "picture": source[:80]})
        if tag == "link" and not _LINKS & set(values.get("rel", "").lower().split()):
            return
        self.loaded += [(tag, values[name]) for name in values if (tag, name) in _LOADED]
