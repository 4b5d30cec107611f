"""What a built book weighs, what it loads from elsewhere, how long its pages ran."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

__all__ = ["EXECUTION_FILE", "outside_resources", "report"]

EXECUTION_FILE = "execution.json"
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
        ``static_bytes``, the ``largest`` files, ``third_party`` (what a page would load from
        another host: must be empty) and ``execution`` (seconds of each executed page).
    """
    files = sorted(path for path in html_dir.rglob("*") if path.is_file())
    sizes = {path.relative_to(html_dir).as_posix(): path.stat().st_size for path in files}
    execution_file = html_dir.parent / EXECUTION_FILE
    execution = json.loads(execution_file.read_text()) if execution_file.exists() else {}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:10]
    return {
        "pages": {name: size for name, size in sizes.items() if name.endswith(".html")},
        "bytes": sum(sizes.values()),
        "static_bytes": sum(size for name, size in sizes.items() if name.startswith("_static/")),
        "largest": [{"file": name, "bytes": size} for name, size in largest],
        "third_party": list(outside_resources(html_dir)),
        "execution": execution,
        "execution_seconds": round(sum(execution.values()), 1),
    }


def outside_resources(html_dir: Path) -> Iterator[dict[str, str]]:
    """Find scripts, styles, fonts, images and frames that a page loads from another host.

    Args:
        html_dir: The folder of ``index.html``.

    Yields:
        The ``file``, the ``element`` that loads and the ``url``.
    """
    for path in sorted(html_dir.rglob("*.html")):
        page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
        for element, url in page.loaded:
            if re.match(r"(?:https?:)?//", url):
                yield _finding(html_dir, path, element, url)
    for path in sorted([*html_dir.rglob("*.css"), *html_dir.rglob("*.html")]):
        for url in _CSS_URL.findall(path.read_text(encoding="utf-8")):
            yield _finding(html_dir, path, "css", url)


def _finding(html_dir: Path, path: Path, element: str, url: str) -> dict[str, str]:
    return {"file": path.relative_to(html_dir).as_posix(), "element": element, "url": url}


class _Page(HTMLParser):
    """Collects what a page loads without being asked, unlike the links that a reader follows."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "link" and not _LINKS & set(values.get("rel", "").lower().split()):
            return
        self.loaded += [(tag, values[name]) for name in values if (tag, name) in _LOADED]
