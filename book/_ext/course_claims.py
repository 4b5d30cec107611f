"""The ledger of claims as a page, made by running every claim, and a role that cites one."""

from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from course_lib.claims import Claim, Finding, contradiction, load_claims, shown
from course_lib.claims.ledger import DOCUMENTS, VERDICTS

LOGGER = logging.getLogger(__name__)
HEADINGS = ("Claim and verdict", "What running it shows")


class ClaimsTable(SphinxDirective):
    """Counts of verdicts, then every claim by chapter with what its function found."""

    def run(self) -> list[nodes.Node]:
        """Run the claims and build the tables."""
        path = Path(self.env.srcdir) / "book" / "claims.yml"
        self.env.note_dependency(str(path))
        claims = load_claims(path)
        findings = {claim.id: shown(claim) for claim in claims}
        out = [self.counts(claims), small(findings.values()), self.choice(claims)]
        for chapter in sorted({claim.chapter for claim in claims}):
            section = nodes.section(ids=[f"claims-of-chapter-{chapter}"])
            section += nodes.title("", "", *self.chapter_title(chapter))
            rows = [self.row(c, findings[c.id]) for c in claims if c.chapter == chapter]
            section += table(HEADINGS, rows, (45, 55), "claims")
            out.append(section)
        return out

    def counts(self, claims: list[Claim]) -> nodes.Node:
        """Count verdicts by document."""
        cells = Counter((claim.document, claim.verdict) for claim in claims)
        used = [verdict for verdict in VERDICTS if any(c.verdict == verdict for c in claims)]
        rows = []
        for document in DOCUMENTS:
            numbers = [cells[document, verdict] for verdict in used]
            if any(numbers):
                rows.append(row([DOCUMENTS[document], *map(str, numbers), str(sum(numbers))]))
        totals = [sum(cells[d, verdict] for d in DOCUMENTS) for verdict in used]
        rows.append(row(["all", *map(str, totals), str(len(claims))], classes=["total"]))
        widths = (30, *[10] * (len(used) + 1))
        return table(("Document", *used, "all"), rows, widths, "claim-counts")

    def choice(self, claims: list[Claim]) -> nodes.Node:
        """Two lists to choose from; without scripts they stay hidden and every claim is shown."""
        lists = []
        for name, values in (
            (
                "document",
                {t: d for d, t in DOCUMENTS.items() if any(c.document == d for c in claims)},
            ),
            ("verdict", {v: v for v in VERDICTS if any(c.verdict == v for c in claims)}),
        ):
            options = "".join(
                f'<option value="{value and f"{name}-{slug(value)}"}">{escape(text)}</option>'
                for text, value in {"all": "", **values}.items()
            )
            lists.append(f'<label>{name} <select name="{name}">{options}</select></label>')
        form = f'<form class="claim-filter" hidden>{"".join(lists)}<output aria-live="polite">'
        return nodes.raw("", f"{form}</output></form>", format="html")

    def chapter_title(self, chapter: int) -> list[nodes.Node]:
        """Link the chapter, if it has been written."""
        # Of two pages of a chapter, the first has the name of its assignment.
        tasks = Path(self.env.srcdir) / "exercises"
        start = f"book/chapters/{chapter:02d}_"
        pages = sorted(name for name in self.env.found_docs if name.startswith(start))
        if not pages:
            return [nodes.Text(f"Chapter {chapter} (to come)")]
        docname = next((name for name in pages if (tasks / Path(name).name).is_dir()), pages[0])
        return [page_link(docname, self.env.docname, f"Chapter {chapter}", explicit=False)]

    def row(self, claim: Claim, finding: Finding | None) -> nodes.row:
        """Tell one claim; a verdict that does not fit is a warning, and so ends the build."""
        if fault := contradiction(claim, finding):
            LOGGER.warning("%s", fault, location=self.get_location(), type="course")
        name = f"claim-{claim.id.lower()}"
        std = self.env.get_domain("std")
        std.note_hyperlink_target(name, self.env.docname, name, f"claim {claim.id}")
        told = f": {finding.told}" if finding is not None and finding.told else ""
        badge = nodes.inline("", claim.verdict + told)
        badge["classes"] = ["verdict", f"verdict-{slug(claim.verdict)}"]
        head = nodes.paragraph(classes=["claim-head"])
        head += nodes.strong("", f"Claim {claim.id}")
        head += nodes.Text(f" · {DOCUMENTS[claim.document]} · ")
        head += badge
        stated = nodes.container("", head, *self.parse_text_to_nodes(claim.claim), ids=[name])
        shows: list[nodes.Node] = []
        if claim.note:
            shows += self.parse_text_to_nodes(claim.note)
        if finding is not None:
            shows += self.parse_text_to_nodes(f"Seen: {finding.evidence}.")
            source = nodes.paragraph(classes=["claim-source"])
            shown_by = ", ".join(claim.decided) or f"course_lib.claims.{claim.show}"
            source += nodes.literal("", shown_by)
            shows.append(source)
        if claim.cell:
            page = page_link(f"book/{claim.cell}", self.env.docname, "", explicit=False)
            shows.append(nodes.paragraph("", "Checked by a cell of the page ", page))
        classes = ["claim", f"document-{slug(claim.document)}", f"verdict-{slug(claim.verdict)}"]
        return row([[stated], shows], classes)


def small(findings: Iterable[Finding | None]) -> nodes.paragraph:
    """Count how many claims are measured, and how many of them by a small run alone."""
    sizes = [finding.far for finding in findings if finding is not None and finding.told]
    alone = sizes.count(False)
    return nodes.paragraph(
        "",
        f"{len(sizes)} statements are measured by trained models: {alone} of them at a small size "
        "alone, which neither confirms nor corrects a document. They are marked so.",
    )


class ClaimRole(SphinxRole):
    """A link to one claim."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave a reference that fails the build if there is no such claim."""
        reference = addnodes.pending_xref(
            "",
            nodes.inline("", f"claim {self.text}"),
            refdomain="std",
            reftype="ref",
            reftarget=f"claim-{self.text.lower()}",
            refdoc=self.env.docname,
            refexplicit=True,
            refwarn=True,
        )
        return [reference], []


def page_link(docname: str, here: str, text: str, explicit: bool = True) -> addnodes.pending_xref:
    """A link to a page by a text; it fails the build if there is no such page.

    Where the text is not explicit, the page's title is shown, and the text in a list of contents.
    """
    return addnodes.pending_xref(
        "",
        nodes.inline("", text),
        refdomain="std",
        reftype="doc",
        reftarget=f"/{docname}",
        refdoc=here,
        refexplicit=explicit,
        refwarn=True,
    )


def slug(text: str) -> str:
    """A text as part of a class name."""
    return text.replace(" ", "-")


def row(cells: Iterable[str | list[nodes.Node]], classes: Iterable[str] = ()) -> nodes.row:
    """Build a row of a table from texts and nodes."""
    made = nodes.row(classes=list(classes))
    for cell in cells:
        content = [nodes.paragraph("", cell)] if isinstance(cell, str) else cell
        made += nodes.entry("", *content)
    return made


def table(
    headings: Iterable[str], rows: Iterable[nodes.row], widths: Iterable[int], name: str
) -> nodes.table:
    """Build a table whose rows are ready."""
    made = nodes.table(classes=[name])
    group = nodes.tgroup(cols=len(list(widths)))
    group += [nodes.colspec(colwidth=width) for width in widths]
    group += nodes.thead("", row(headings))
    group += nodes.tbody("", *rows)
    made += group
    return made


def outdated(app: Sphinx, env: object, added: set, changed: set, removed: set) -> list[str]:
    """Run the claims at every build: they read code that Sphinx does not watch."""
    return ["book/claims"] if "book/claims" in app.env.found_docs else []


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive and the role."""
    app.add_directive("claims-table", ClaimsTable)
    app.add_role("claim", ClaimRole())
    app.add_js_file("claims.js", loading_method="defer")
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
