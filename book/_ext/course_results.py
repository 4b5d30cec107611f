"""The results pages: every claim with what the records say of it, a page for each document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from course_claims import page_link
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment

    from course_lib.book.document_rows import DocumentRow
    from course_lib.book.results import Card


def found(env: BuildEnvironment) -> tuple[dict[str, list[Card]], list[DocumentRow]]:
    """The claims by their pages, and the documents' rows."""
    from course_lib.book.document_rows import load_known, load_reported, rows
    from course_lib.book.results import cards
    from course_lib.experiments import EXPERIMENTS

    book = Path(env.srcdir) / "book"
    env.note_dependency(str(book / "results.yml"))
    records = load_known(book / "results")
    printed = rows(load_reported(book / "results.yml", records), records)
    return cards([*EXPERIMENTS.values()], records, printed), printed


class DocumentResults(SphinxDirective):
    """The claims of one document, and its numbers beside ours."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the records, and show each claim once."""
        from course_lib.book.cards import claims, numbers, scale
        from course_lib.book.results import tally

        (key,) = self.arguments
        by_page, rows = found(self.env)
        members = by_page.get(key, [])
        parts = [scale(), *claims(members)]
        its = [row for row in rows if row.printed.document == key]
        parts += [numbers(its)] if its else []
        shown = f'<div class="results">{"".join(parts)}</div>'
        return [nodes.paragraph("", tally(members)), nodes.raw("", shown, format="html")]


class ResultsSummary(SphinxDirective):
    """A line for each page: how many claims, and what became of them."""

    def run(self) -> list[nodes.Node]:
        """Read the records and count."""
        from course_lib.book.results import tally
        from course_lib.claims.ledger import DOCUMENTS

        made = nodes.bullet_list()
        by_page, _ = found(self.env)
        for key in sorted(by_page, key=[*DOCUMENTS, *by_page].index):
            page, name = page_of(key), DOCUMENTS.get(key, "papers, guesses, the course")
            link = page_link(page, self.env.docname, name)
            line = nodes.paragraph("", "", link, nodes.Text(f": {tally(by_page[key])}"))
            made += nodes.list_item("", line)
        return [made]


def page_of(key: str) -> str:
    """The page of a document's claims."""
    return f"book/results_{key.replace('-', '_')}"


def outdated(app: Sphinx, env: object, added: set, changed: set, removed: set) -> list[str]:
    """Read the pages at every build: a new record is a new file, which Sphinx does not watch."""
    return [page for page in app.env.found_docs if page.startswith("book/results")]


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directives."""
    app.add_directive("document-results", DocumentResults)
    app.add_directive("results-summary", ResultsSummary)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
