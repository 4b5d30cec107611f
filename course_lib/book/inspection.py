"""Weight of a built book, loads from elsewhere, and seconds of its pages."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from grader.base.files import placed

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
    """Describe a built book, as ``json.dumps`` takes it.

    ``third_party`` (what a page would load from another host), ``broken_links`` (within the book)
    and ``missing_alt`` (pictures that say nothing to who can't see them) must be empty;
    ``execution`` has the seconds of each executed page, ``build_seconds`` those of the last build.
    """
    files = sorted(path for path in html_dir.rglob("*") if path.is_file())
    sizes = {place: path.stat().st_size for place, path in placed(files, html_dir).items()}
    execution = noted(html_dir.parent / EXECUTION_FILE)
    pages = {path: _Page(path) for path in sorted(html_dir.resolve().rglob("*.html"))}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:10]
    return {
        "pages": {name: size for name, size in sizes.items() if name.endswith(".html")},
        "bytes": sum(sizes.values()),
        "static_bytes": sum(size for name, size in sizes.items() if name.startswith("_static/")),
        "largest": [{"file": name, "bytes": size} for name, size in largest],
        "chapters": len({path.name[:2] for path in html_dir.glob("book/chapters/[0-9]*.html")}),
        "interactive": len({name for page in pages.values() for name in page.figures}),
        "drawings": sum(page.classes["mechanism"] for page in pages.values()),
        "captions": sum(page.tags["figcaption"] for page in pages.values()),
        "glossary_links": sum("glossary.html#" in link for p in pages.values() for link in p.links),
        "third_party": list(_outside_resources(html_dir, pages)),
        "broken_links": list(_broken_links(html_dir, pages)),
        "missing_alt": [finding for page in pages.values() for finding in page.missing_alt],
        "execution": execution,
        "execution_seconds": round(sum(execution.values()), 1),
        "build_seconds": noted(html_dir.parent / TIMES_FILE),
    }


def noted(path: Path) -> dict[str, float]:
    """Seconds by name that an earlier build has noted; nothing if there was no such build."""
    seconds: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}
    return seconds


def _broken_links(html_dir: Path, pages: dict[Path, "_Page"]) -> Iterator[dict[str, str]]:
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


def _outside_resources(html_dir: Path, pages: dict[Path, "_Page"]) -> Iterator[dict[str, str]]:
    """Scripts, styles, fonts, images and frames that a page loads from another host."""
    for path, page in pages.items():
        for element, url in page.loaded:
            if re.match(r"(?:https?:)?//", url):
                yield _finding(html_dir, path, element, url)
    styles = {path: path.read_text(encoding="utf-8") for path in html_dir.resolve().rglob("*.css")}
    styles |= {path: page.text for path, page in pages.items()}
    for path in sorted(styles):
        for url in _CSS_URL.findall(styles[path]):
            yield _finding(html_dir, path, "css", url)


def _finding(html_dir: Path, path: Path, element: str, url: str) -> dict[str, str]:
    inside = path.relative_to(html_dir.resolve())
    return {"file": inside.as_posix(), "element": element, "url": url}


class _Page(HTMLParser):
    """Collects what a page loads without being asked, its links, figures and textless pictures."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.text = path, path.read_text(encoding="utf-8")
        self.tags: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()
        self.loaded: list[tuple[str, str]] = []
        self.figures: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.missing_alt: list[dict[str, str]] = []
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        self.classes.update(values.get("class", "").split())
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if name := values.get("data-figure"):
            self.figures.append(name)
        # An empty text is right for what only decorates; the course's own pictures are content.
        alternative = values.get("alt", "") or values.get("aria-label", "")
        if tag == "img" and not alternative.strip() and values.get("aria-hidden") != "true":
            source = values.get("src", "")
            self.missing_alt.append({"file": self.path.name, "picture": source[:80]})
        if tag == "link" and not _LINKS & set(values.get("rel", "").lower().split()):
            return
        self.loaded += [(tag, values[name]) for name in values if (tag, name) in _LOADED]
