"""You are here: a small map of a Transformer below the title of each chapter's page."""

import html
from pathlib import Path, PurePosixPath

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.writers.html5 import HTML5Translator

from course_lib.drawings import Sketch

# Data of the map: the middle of each component, its width and its height.
PARTS = {
    "embedding": (42, 82, 80, 24),
    "positions": (42, 120, 80, 22),
    "stack": (228, 18, 84, 20),
    "mask": (132, 18, 46, 20),
    "attention": (132, 50, 78, 22),
    "norm, residual": (184, 114, 112, 20),
    "feed-forward": (228, 50, 88, 22),
    "output": (312, 82, 62, 24),
}
PLACES = yaml.safe_load(Path(__file__).parents[1].joinpath("map.yml").read_text("utf-8"))


class here(nodes.General, nodes.Element):
    """Where the map stands; ``page`` names the page."""


def subject(page: str) -> dict[str, str]:
    """The parts that a page is about, with what it calls them."""
    row = PLACES.get(page) or PLACES.get(page[:2])
    if not row:
        raise ExtensionError(f"book/map.yml has no row for {page}")
    if row == "whole":
        row = dict.fromkeys(PARTS)
    return {part: name or part for part, name in row.items()}


def picture(page: str) -> str:
    """The map with the parts of a page marked, and what it says to a reader who cannot see it."""
    s, named = Sketch(narrow=True), subject(page)
    s.panel(88, 2, 188, 128)
    s.layer(42, 18, 84, 20, "you are here", role="here")
    s.arrow((42, 109), (42, 94))
    s.arrow((82, 82), (281, 82), stream=True)
    s.arrow((132, 28), (132, 39))
    for x, low, high in ((112, 82, 61), (152, 61, 82), (206, 82, 61), (250, 61, 82)):
        s.arrow((x, low), (x, high))
    for part, place in PARTS.items():
        s.layer(*place, named.get(part, part), role="here" if part in named else "state")
    where = [part if part == name else f"{part} (here: {name})" for part, name in named.items()]
    words = "all parts" if len(where) == len(PARTS) else "; ".join(where)
    alt = html.escape(f"Map of a Transformer. You are here: {words}.")
    return f'<div class="drawing you-are-here" role="img" aria-label="{alt}">{s.svg()}</div>'


def place(app: Sphinx, doctree: nodes.document) -> None:
    """Put the map below the title of a chapter's page."""
    page = PurePosixPath(app.env.docname)
    if page.parent.name == "chapters":
        title = next(iter(doctree.findall(nodes.title)))
        title.parent.insert(title.parent.index(title) + 1, here(page=page.name))


def visit(self: HTML5Translator, node: here) -> None:
    """Draw it in a page; an EPUB goes without."""
    if self.builder.name == "html":
        self.body.append(picture(node["page"]))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, object]:
    """Register the map."""
    app.add_node(here, html=(visit, None))
    app.connect("doctree-read", place)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
