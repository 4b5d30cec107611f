"""The results pages: a document's tables with our numbers, and every claim with its records."""

from __future__ import annotations

from functools import cache
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
    """The claims by their pages, and the documents' rows: the same for all pages of a build."""
    book = Path(env.srcdir) / "book"
    env.note_dependency(str(book / "results.yml"))
    return _found(book)


@cache
def _found(book: Path) -> tuple[dict[str, list[Card]], list[DocumentRow]]:
    from course_lib.book.document_rows import load_known, load_reported, rows
    from course_lib.book.results import cards
    from course_lib.experiments import EXPERIMENTS

    records = load_known(book / "results")
    printed = rows(load_reported(book / "results.yml", records), records)
    return cards([*EXPERIMENTS.values()], records, printed), printed


class DocumentResults(SphinxDirective):
    """A document's tables, in its order: the numbers first, then the claims that they decide."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Read the records; show each row, and each claim once, below what the page says."""
        from course_lib.book.cards import above, by_table, claims, lead, scale, shared, table
        from course_lib.book.results import tally

        (key,) = self.arguments
        by_page, every = found(self.env)
        members = by_page.get(key, [])
        its = [row for row in every if row.printed.document == key]
        marks = shared(members)
        made: list[nodes.Node] = [
            nodes.paragraph("", "", nodes.strong("", line)) for line in lead(its)
        ]
        made += self.parse_content_to_nodes()
        made.append(nodes.paragraph("", tally(members)))
        said = [nodes.list_item("", nodes.paragraph("", line)) for line in above(members)]
        made += [nodes.bullet_list("", *said)] if said else []
        for title, lines, cards in by_table(members, its):
            parts = [table(lines, marks)] if lines else []
            parts += [scale(), *claims(cards, marks)] if cards else []
            shown = nodes.raw("", f'<div class="results">{"".join(parts)}</div>', format="html")
            if not its:
                made.append(shown)
                continue
            part = nodes.section("", nodes.title("", title), shown, ids=[nodes.make_id(title)])
            made.append(part)
        return made


class ResultsSummary(SphinxDirective):
    """A line for each page: how many claims, and what became of them."""

    def run(self) -> list[nodes.Node]:
        """Read the records and count."""
        from course_lib.book.results import decided, tally
        from course_lib.claims.ledger import DOCUMENTS

        made = nodes.bullet_list()
        by_page, _ = found(self.env)
        for key in sorted(by_page, key=[*DOCUMENTS, *by_page].index):
            page, name = page_of(key), DOCUMENTS.get(key, "papers, guesses, the course")
            link = page_link(page, self.env.docname, name)
            line = nodes.paragraph("", "", link, nodes.Text(f": {tally(by_page[key])}"))
            made += nodes.list_item("", line)
        return [made, nodes.paragraph("", decided(by_page))]


class Margins(SphinxDirective):
    """All margins, each with its reason."""

    def run(self) -> list[nodes.Node]:
        """Collect them from the questions."""
        from course_lib.book.cards import margins, margins_table
        from course_lib.experiments import EXPERIMENTS

        book = Path(self.env.srcdir) / "book"
        self.env.note_dependency(str(book / "margins.yml"))
        shown = margins_table(margins(EXPERIMENTS.values(), book))
        return [nodes.raw("", shown, format="html")]


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
    app.add_directive("margins", Margins)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
