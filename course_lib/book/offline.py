"""The site as an app: what a reader may keep for reading without a network."""

import json
import re
from importlib.resources import files
from pathlib import Path

from grader.base.files import digest, placed

_NAME = "A Course on Attention"
_REFERRED = re.compile(r'(?:src|href|data)="([^"#?:]+)')

# Field of a figure's data where it loads a trained model.
_LOADS = '"kilobytes"'


def write_app(html: Path) -> None:
    """Write the manifest, the service worker and the list of what belongs to each page.

    Nothing is kept before a reader asks for it. The service worker's text changes with the files,
    which is how a browser notices a new edition.
    """
    paths = placed((path for path in sorted(html.rglob("*")) if path.is_file()), html)
    apart = ("_sources/", "_downloads/", "offline.json")
    kept = {name: path for name, path in paths.items() if not name.startswith(apart)}
    sizes = {name: path.stat().st_size for name, path in kept.items()}
    models = [name for name in sizes if name.startswith("_static/live/")]
    pages = [n for n in sizes if n.endswith(".html") and not n.startswith("_static/")]
    common = [n for n in sizes if n.startswith("_static/") and n not in models]
    common += [n for n in ("search.html", "searchindex.js", "index.html") if n in sizes]
    needed = {name: _needed(html, name, sizes, models) for name in pages}
    listed = {*common, *pages, *(n for names in needed.values() for n in names)}
    version = digest({name: kept[name] for name in kept if name != "sw.js"})[:12]
    lists = {
        "version": version,
        "files": {n: sizes[n] for n in sorted(listed)},
        "common": common,
        "pages": needed,
    }
    (html / "offline.json").write_text(json.dumps(lists, separators=(",", ":")), "utf-8")
    worker = files("course_lib.book").joinpath("offline.js").read_text("utf-8")
    (html / "sw.js").write_text(f'const EDITION = "{version}";\n{worker}', "utf-8")
    icon = {"src": "_static/favicon.svg", "sizes": "any", "type": "image/svg+xml"}
    manifest = {
        "name": _NAME,
        "short_name": "Attention",
        "start_url": ".",
        "scope": ".",
        "display": "standalone",
        "background_color": "#ffffff",
        "theme_color": "#3b6ea8",
        "icons": [icon],
    }
    (html / "manifest.webmanifest").write_text(json.dumps(manifest, indent=1), "utf-8")


def _needed(html: Path, page: str, sizes: dict[str, int], models: list[str]) -> list[str]:
    """Files that only some pages show: pictures, and the models of figures that load them."""
    text = (html / page).read_text("utf-8")
    folder = (html / page).parent
    pictures = {(folder / name).resolve() for name in _REFERRED.findall(text) if "_images/" in name}
    names = (p.relative_to(html.resolve()).as_posix() for p in pictures)
    return sorted(n for n in names if n in sizes) + (models if _LOADS in text else [])
