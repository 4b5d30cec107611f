"""What a browser finds on each page: how much it loads, and what axe says about access to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from course_lib.book.browser import NoBrowser, chromium, serving

__all__ = ["EXCEPTED", "MAX_FIRST_LOAD", "pages", "survey"]

# Bytes of all that a page loads when it is opened for the first time, as they are on the disk.
MAX_FIRST_LOAD = 1_600_000

# Rules of axe-core that the theme breaks in its own frame, not in anything a page says, with the
# elements meant. Nothing else is excepted.
EXCEPTED: dict[str, tuple[str, ...]] = {
    # Its sidebar's head stands outside of every landmark.
    "region": (".sidebar-primary-items__start",),
}

_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def pages(html_dir: Path) -> list[str]:
    """The pages of a built book, as addresses relative to it."""
    return sorted(path.relative_to(html_dir).as_posix() for path in html_dir.rglob("*.html"))


def survey(
    html_dir: Path,
    only: Sequence[str] | None = None,
    say: Callable[[str], None] = lambda page: None,
    browser: Any = None,
    schemes: Sequence[str] = ("light", "dark"),
) -> dict[str, Any]:
    """Open pages in Chromium.

    Args:
        html_dir: The folder of a built book.
        only: Pages, as :func:`pages` names them; all if not given.
        say: Called with each page before it is opened.
        browser: A running one, of :func:`course_lib.book.browser.chromium`; an own if not given.
        schemes: ``light``, ``dark`` or both.

    Returns:
        ``first_load_bytes`` by page, uncompressed, and ``axe``: for each rule that is broken its
        ``help``, whether it is ``excepted``, and the elements by page.

    Raises:
        NoBrowser: Chromium, playwright or axe is not there.
    """
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        raise NoBrowser("axe is not installed: pip install axe-playwright-python") from None
    axe = Axe()
    loads: dict[str, int] = {}
    broken: dict[str, dict[str, Any]] = {}
    with serving(html_dir) as address, nullcontext(browser) if browser else chromium() as browser:
        for page in only if only is not None else pages(html_dir):
            say(page)
            for scheme in schemes:
                # A context of its own each: an empty cache.
                context = browser.new_context(
                    color_scheme=scheme, viewport={"width": 1280, "height": 900}
                )
                window = context.new_page()
                asked: set[str] = set()
                window.on("request", lambda r, asked=asked: asked.add(r.url))
                window.goto(address + page)
                window.wait_for_load_state("networkidle")
                files = {_file(html_dir, url.removeprefix(address)) for url in asked}
                loads[page] = sum(path.stat().st_size for path in files if path.is_file())
                found = axe.run(window, options={"runOnly": _RULES})
                for rule in found.response["violations"]:
                    entry = broken.setdefault(
                        rule["id"],
                        {"help": rule["help"], "elements": defaultdict(list)},
                    )
                    for node in rule["nodes"]:
                        target = " ".join(map(str, node["target"]))
                        if target not in entry["elements"][page]:
                            entry["elements"][page].append(target)
                context.close()
    for name, entry in broken.items():
        entry["elements"] = dict(entry["elements"])
        meant = EXCEPTED.get(name, ())
        every = {e for elements in entry["elements"].values() for e in elements}
        entry["excepted"] = all(e.startswith(meant) for e in every) if meant else False
    return {"first_load_bytes": loads, "axe": broken}


def _file(html_dir: Path, url: str) -> Path:
    return html_dir / unquote(urlsplit(url).path).lstrip("/")
