"""What a browser finds on each page: weight, length, smallest text, and what axe says of access."""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from course_lib.book.browser import NoBrowser, chromium, serving

# Bytes of all that a page loads when it is opened for the first time, as they are on the disk.
MAX_FIRST_LOAD = 1_600_000
# A chapter's page in windows of 1280 x 900, without what the theme puts above and below.
MAX_SCREENS = 9.5
# Pixels of the smallest letters on a telephone.
MIN_LETTERS = 9.0

# Rules of axe-core that the theme breaks in its own frame, not in anything a page says, with the
# elements meant. Nothing else is excepted.
EXCEPTED: dict[str, tuple[str, ...]] = {"region": (".sidebar-primary-items__start",)}

# A page hears of another colour scheme or width with its next picture, not at once.
DRAWN_AGAIN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_HEIGHT = "document.querySelector('.bd-article')?.offsetHeight ?? 0"
# The smallest letters of a page, in pixels as they are seen: pictures of text are made smaller, and
# a letter is as high as its own upward axis, however it is turned.
_SMALLEST = """Math.min(...[...document.querySelectorAll(".bd-article *")]
    .filter((e) => !e.closest("math, .for-readers-aloud, title, desc")
        && e.checkVisibility({visibilityProperty: true, opacityProperty: true})
        && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
    .map((e) => {
        const up = e.getScreenCTM?.() ?? {c: 0, d: 1};
        return parseFloat(getComputedStyle(e).fontSize) * Math.hypot(up.c, up.d);
    }), 99)"""
# Drawings in files of their own, with the pixels that they are wide, in whatever folds up, too.
_DRAWN = """[...document.querySelectorAll('.bd-article img[src$=".svg"]')]
    .filter((e) => e.clientWidth).map((e) => [e.src, e.clientWidth])"""
# All that axe looks at, but for contrast: that takes most of its time, and thousands of elements
# are of one kind, of the same letters on the same ground.
_OPTIONS = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
    "rules": {"color-contrast": {"enabled": False}},
}
_CONTRAST = {"runOnly": ["color-contrast"], "resultTypes": ["violations"]}
# Marks the first elements of each kind, and counts them over all pages.
_MARK = """([seen, most]) => {
    document.getAnimations().forEach((a) => a.finish());
    const grounds = new Map([[null, ""]]);
    const ground = (e) => {
        if (!grounds.has(e)) {
            const s = getComputedStyle(e);
            const own = [s.backgroundColor, s.backgroundImage, s.opacity, s.position, s.clip];
            const plain = own.join() === "rgba(0, 0, 0, 0),none,1,static,auto";
            grounds.set(e, ground(e.parentElement) + (plain ? "" : `${own};`));
        }
        return grounds.get(e);
    };
    document.querySelectorAll("[data-measured]").forEach((e) => delete e.dataset.measured);
    for (const e of document.querySelectorAll("body *")) {
        if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
        if (!e.checkVisibility({visibilityProperty: true})) continue;
        const s = getComputedStyle(e);
        const kind = [s.color, s.fill, s.fontSize, s.fontWeight, s.textShadow, ground(e)].join();
        seen[kind] = (seen[kind] ?? 0) + 1;
        if (seen[kind] <= most) e.dataset.measured = "";
    }
    return seen;
}"""
_SCALE = re.compile(r"scale\(([\d.]+)")
# How large matplotlib draws a letter before it is made smaller.
_LETTER = 100
# So many, as one of them may lie below another element, where nothing can be said.
_ALIKE = 10


def pages(html_dir: Path) -> list[str]:
    return sorted(path.relative_to(html_dir).as_posix() for path in html_dir.rglob("*.html"))


def letters(svg: str) -> float:
    """The smallest letters of a drawing by matplotlib, which writes them as paths."""
    drawing = ElementTree.fromstring(svg)
    found = [math.inf]

    def look(element: ElementTree.Element, scale: float, written: bool) -> None:
        for factor in _SCALE.findall(element.get("transform", "")):
            scale *= float(factor)
        written |= element.get("id", "").startswith("text_")
        if written and element.tag.endswith("use"):
            found.append(_LETTER * scale)
        for part in element:
            if not part.tag.endswith("defs"):
                look(part, scale, written)

    look(drawing, 1.0, written=False)
    return min(found) / float(drawing.get("viewBox", "0 0 1 1").split()[2])


def survey(
    html_dir: Path,
    only: Sequence[str] | None = None,
    say: Callable[[str], None] = lambda page: None,
    browser: Any = None,
    schemes: Sequence[str] = ("light", "dark"),
    look: Callable[[str, Any], None] = lambda page, window: None,
) -> dict[str, Any]:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        raise NoBrowser("axe is not installed: pip install axe-playwright-python") from None
    axe = Axe()
    loads: dict[str, int] = {}
    screens: dict[str, float] = {}
    smallest: dict[str, float] = {}
    broken: dict[str, dict[str, Any]] = {}
    kinds: dict[str, int] = {}
    with serving(html_dir) as address, chromium(browser) as browser:
        for page in only if only is not None else pages(html_dir):
            say(page)
            # A context of its own each: an empty cache.
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            window = context.new_page()
            asked: set[str] = set()
            window.on("request", lambda r, asked=asked: asked.add(r.url))
            window.goto(address + page)
            window.wait_for_load_state("networkidle")
            files = {_file(html_dir, url) for url in asked}
            loads[page] = sum(path.stat().st_size for path in files if path.is_file())
            screens[page] = round(window.evaluate(_HEIGHT) / 900, 1)
            violations = axe.run(window, options=_OPTIONS).response["violations"]
            for scheme in schemes:
                window.emulate_media(color_scheme=scheme)
                window.evaluate(DRAWN_AGAIN)
                kinds = window.evaluate(_MARK, [kinds, _ALIKE])
                if window.locator("[data-measured]").count():
                    found = axe.run(window, {"include": "[data-measured]"}, _CONTRAST)
                    violations += found.response["violations"]
            for rule in violations:
                entry = broken.setdefault(rule["id"], {"help": rule["help"], "elements": {}})
                marked = entry["elements"].setdefault(page, [])
                for node in rule["nodes"]:
                    target = " ".join(map(str, node["target"]))
                    if target not in marked:
                        marked.append(target)
            look(page, window)
            window.set_viewport_size({"width": 390, "height": 844})
            sizes = [window.evaluate(_SMALLEST)]
            for url, width in window.evaluate(_DRAWN):
                sizes.append(width * letters(_file(html_dir, url).read_text(encoding="utf-8")))
            smallest[page] = round(min(sizes), 1)
            context.close()
    for name, entry in broken.items():
        meant = EXCEPTED.get(name, ())
        every = {e for elements in entry["elements"].values() for e in elements}
        entry["excepted"] = all(e.startswith(meant) for e in every) if meant else False
    return {"first_load_bytes": loads, "screens": screens, "smallest_text": smallest, "axe": broken}


def _file(html_dir: Path, url: str) -> Path:
    return html_dir / unquote(urlsplit(url).path).lstrip("/")
