"""Nothing vanishes from a page without a word: a build says what it could not show, and fails."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from course_lib.book.lost import lost_cells, typed

LOGGER = logging.getLogger(__name__)
WIDGET = "application/vnd.jupyter.widget-view+json"


def read_source(app: Sphinx, docname: str, source: list[str]) -> None:
    """Warn of rows whose cells don't fit their table, and of marks that are none here."""
    if app.env.doc2path(docname).endswith(".md"):
        tables = ((line, f"a table: {reason}") for line, reason in lost_cells(source[0]))
        for line, reason in (*tables, *typed(source[0])):
            LOGGER.warning("%s", reason, location=(docname, line), type="course")


def find_widgets(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of widgets, which a page can show only with a kernel behind it."""
    for raw in doctree.findall(nodes.raw):
        if WIDGET in raw.rawsource or WIDGET in raw.astext():
            LOGGER.warning(
                "a widget, which does nothing without a kernel: show what it draws, or a figure",
                location=raw if raw.line else raw.parent,
                type="course",
            )


def setup(app: Sphinx) -> dict[str, object]:
    """Register both readers."""
    app.connect("source-read", read_source)
    app.connect("doctree-read", find_widgets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
