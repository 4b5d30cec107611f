"""All live figures on one page of the theme: texts keep apart, within their boxes, and are seen."""

from functools import cache
from pathlib import Path

import pydata_sphinx_theme
import pytest
import sphinx_book_theme

from course_lib.figures import NAMES, figure
from course_lib.figures.models import write_models
from course_tests.browser.conftest import FIGURES, STYLE

pytestmark = pytest.mark.browser

# Windows, and how wide the theme makes a figure in them.
WIDTHS = {390: 358, 768: 736, 1024: 755, 1440: 790}
SAMPLE = {("chromium", 1440), ("firefox", 390)}
CASES = [
    pytest.param(name, width, marks=() if (name, width) in SAMPLE else pytest.mark.slow)
    for name in ("chromium", "firefox")
    for width in WIDTHS
]
THEMES = (
    (pydata_sphinx_theme, "theme/pydata_sphinx_theme/static/styles"),
    (sphinx_book_theme, "theme/sphinx_book_theme/static/styles"),
)
# Texts that leave what holds them or lie on another text or control of their figure. What scrolls
# and what is cut off is seen as far as its box reaches.
FAULTS = """(root) => {
    const seen = (e) => e.checkVisibility({visibilityProperty: true, opacityProperty: true});
    const clips = (e) => /auto|scroll|hidden|clip/.test(getComputedStyle(e).overflowX);
    const faults = [];
    for (const figure of root.querySelectorAll("figure.course-figure")) {
        const things = [];
        const add = (e, rect, what) => {
            let {left, right, top, bottom} = rect;
            let hidden = false;
            for (let up = e; up !== figure; up = up.parentElement) {
                if (up.localName === "svg") continue;
                const box = up.getBoundingClientRect();
                if (clips(up)) {
                    if (e.closest("caption") && right > box.right + 1.5)
                        faults.push(`${figure.dataset.figure}: '${what}' is cut`);
                    left = Math.max(left, box.left), right = Math.min(right, box.right);
                    top = Math.max(top, box.top), bottom = Math.min(bottom, box.bottom);
                    hidden = true;
                }
                const holds = up.matches("label, button, td, th, p, caption");
                if (holds && !hidden && (right > box.right + 1.5 || left < box.left - 1.5))
                    faults.push(`${figure.dataset.figure}: '${what}' leaves its ${up.localName}`);
            }
            const box = figure.getBoundingClientRect();
            if (right > box.right + 1 || left < box.left - 1)
                faults.push(`${figure.dataset.figure}: '${what}' leaves the figure`);
            if (right - left > 1 && bottom - top > 1)
                things.push({e, left, right, top, bottom, what});
        };
        const texts = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const node = texts.currentNode, e = node.parentElement;
            if (!node.data.trim() || !seen(e)) continue;
            if (e.closest("option, noscript, script, title, .for-readers-aloud")) continue;
            const range = document.createRange();
            range.selectNodeContents(node);
            for (const rect of range.getClientRects()) add(e, rect, node.data.trim().slice(0, 30));
        }
        for (const e of figure.querySelectorAll("input, select, button"))
            if (seen(e)) add(e, e.getBoundingClientRect(), `${e.localName} ${e.type}`);
        for (const [i, a] of things.entries())
            for (const b of things.slice(i + 1)) {
                if (a.e === b.e || a.e.contains(b.e) || b.e.contains(a.e)) continue;
                const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (across > 1 && down > 4)
                    faults.push(`${figure.dataset.figure}: '${a.what}' lies on '${b.what}'`);
            }
    }
    return [...new Set(faults)];
}"""
# Letters of less contrast than 4.5 with what is behind them, where that is colours alone. What the
# style sheet mixes is told by a canvas, which knows every way to write a colour.
FAINT = """(root) => {
    const pen = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
    const luminance = (colours) => {
        pen.clearRect(0, 0, 1, 1);
        for (const colour of colours) {
            pen.fillStyle = colour;
            pen.fillRect(0, 0, 1, 1);
        }
        const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((c) => c / 255)
            .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const faint = new Set();
    for (const e of root.querySelectorAll("figure.course-figure *")) {
        if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
        if (!e.checkVisibility({visibilityProperty: true})) continue;
        if (e.closest("script, title, option, :disabled, [aria-disabled=true]")) continue;
        const styles = [];
        for (let up = e; up; up = up.parentElement) styles.unshift(getComputedStyle(up));
        if (styles.some((style) => style.backgroundImage !== "none")) continue;
        const grounds = ["#fff", ...styles.map((style) => style.backgroundColor)];
        const ink = e.closest("svg") ? styles.at(-1).fill : styles.at(-1).color;
        const both = [luminance(grounds), luminance([...grounds, ink])];
        if ((Math.max(...both) + 0.05) / (Math.min(...both) + 0.05) < 4.5)
            faint.add(`${e.closest("figure").dataset.figure}: '${e.textContent.slice(0, 30)}'`);
    }
    return [...faint];
}"""


@pytest.fixture(scope="module")
def every(launch, serve, tmp_path_factory):
    """A page with all figures in a browser, each with its model, in a window of some width."""
    folder = tmp_path_factory.mktemp("every")
    with pytest.MonkeyPatch.context() as book:
        book.setenv("COURSE_BOOK", "1")
        figures = "".join(figure(name)._repr_html_() for name in NAMES)
    styles = [
        sheet.read_text(encoding="utf-8")
        for module, place in THEMES
        for sheet in sorted((Path(module.__file__).parent / place).glob("*.css"))
    ]
    styles += [FIGURES.read_text(encoding="utf-8"), STYLE.read_text(encoding="utf-8")]
    write_models(folder / "_static" / "live")
    (folder / "page.html").write_text(
        "<!doctype html><html lang=en data-theme=light><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<link rel=icon href=data:,><title>t</title><style>{''.join(styles)}</style>"
        f"<main><article class=bd-article style='padding:0'>{figures}</article></main>",
        encoding="utf-8",
    )

    @cache
    def opened(name):
        page = launch(name).new_context().new_page()
        page.goto(serve(folder) + "page.html")
        for button in page.locator(".figure-load button").element_handles():
            button.click()
        page.wait_for_function("!document.querySelector('figure:not([data-state])')", timeout=1e5)
        return page

    def shown(name, width):
        page = opened(name)
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(f"document.querySelector('article').style.width = '{WIDTHS[width]}px'")
        return page

    return shown


@pytest.mark.parametrize(("name", "width"), CASES)
def test_texts_of_live_figures_keep_apart(name, width, every):
    assert every(name, width).evaluate(f"({FAULTS})(document)") == []


@pytest.mark.parametrize(("name", "width"), CASES)
def test_texts_of_live_figures_are_seen_in_light_and_dark(name, width, every):
    page = every(name, width)
    for theme in ("dark", "light"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        assert page.evaluate(f"({FAINT})(document)") == [], theme
