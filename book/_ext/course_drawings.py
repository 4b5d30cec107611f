"""The directive ``drawing``: a numbered figure of a mechanism, with a caption as its content.

A page refers to it with ``{numref}`draw-NAME` ``.
"""

import html
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst.directives import unchanged
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from course_lib.drawings import drawings
from course_lib.drawings.style import page_style

STYLE = "course-drawings.css"


class drawing(nodes.General, nodes.Element):
    """Where a drawing stands. Pages and EPUB share it, and each writes it in its own way."""


class Drawing(SphinxDirective):
    """A numbered figure with a drawing and its caption."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"name": unchanged}

    def run(self) -> list[nodes.Node]:
        """Make the figure."""
        name = self.arguments[0]
        if name not in drawings():
            raise self.error(f"no drawing {name}; there are {', '.join(sorted(drawings()))}")
        if not self.content:
            raise self.error(f"the drawing {name} needs a caption")
        for source in drawings()[name].files():
            self.env.note_dependency(str(source))  # a changed label makes the page anew
        caption = nodes.caption()
        caption += [child for part in self.parse_content_to_nodes() for child in part.children]
        figure = nodes.figure("", drawing(what=name), caption, classes=["mechanism"])
        self.set_source_info(figure)
        self.options.setdefault("name", f"draw-{name}")
        self.add_name(figure)
        return [figure]


def visit(self: HTML5Translator, node: drawing) -> None:
    """Write both layouts into a page; an EPUB gets a picture on a white sheet."""
    shown = drawings()[node["what"]]
    if self.builder.name != "epub":
        self.body.append(shown.inline())
        raise nodes.SkipNode
    folder, name = Path(self.builder.outdir) / "_images", f"drawing-{shown.name}.svg"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(shown.sketch().svg(alone=True), encoding="utf-8")
    alt = html.escape(shown.alt)
    self.body.append(f'<img alt="{alt}" src="{self.builder.imgpath}/{name}"/>')
    raise nodes.SkipNode


def skip(self: nodes.NodeVisitor, node: drawing) -> None:
    """Other builders print the caption alone."""
    raise nodes.SkipNode


def write_style(app: Sphinx) -> None:
    """Put the rules for drawings beside the other static files."""
    if app.builder.name == "html":
        static = Path(app.outdir) / "_static"
        static.mkdir(parents=True, exist_ok=True)
        (static / STYLE).write_text(page_style(), encoding="utf-8")
        app.add_css_file(STYLE)


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive and its node."""
    others = dict.fromkeys(("latex", "text", "man", "texinfo"), (skip, None))
    app.add_node(drawing, html=(visit, None), **others)
    app.add_directive("drawing", Drawing)
    app.connect("builder-inited", write_style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
