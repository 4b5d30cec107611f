"""The results page: every experiment, its conclusions and its numbers, read from the records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from course_claims import row, table
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment

    from course_lib.book.reported import Row

PAGES = ("book/results", "book/data_and_ethics")
NUMBERS = ("Arm", "Number", "Mean", "Lowest to highest", "Seeds", "The document's")
VERDICTS = (
    "Claim",
    "Made by",
    "Compared with",
    "Outcome",
    "Difference and 95 % interval",
    "p",
    "p, adjusted",
)


class ResultsTable(SphinxDirective):
    """Every experiment with a record, and the plain statement where there is none."""

    def run(self) -> list[nodes.Node]:
        """Read the records and build a section per experiment."""
        from course_lib.book.reported import load_known, load_reported
        from course_lib.experiments import EXPERIMENTS

        book = Path(self.env.srcdir) / "book"
        self.env.note_dependency(str(book / "results.yml"))
        for path in (book / "results").rglob("*.json"):
            self.env.note_dependency(str(path))
        all_records = load_known(book / "results")
        printed = load_reported(book / "results.yml", all_records)
        out: list[nodes.Node] = []
        for experiment in EXPERIMENTS.values():
            records = [r for r in all_records if r.experiment == experiment.name]
            section = nodes.section(ids=[f"results-{experiment.name}"])
            title = experiment.title[0].upper() + experiment.title[1:]
            section += nodes.title("", title)
            name = nodes.literal("", f"course run {experiment.name}")
            section += nodes.paragraph("", "", name)
            if not records:
                section += nodes.paragraph("", "No record yet.")
            for size in dict.fromkeys(record.size for record in records):
                chosen = [record for record in records if record.size == size]
                section += self.size(experiment, size, chosen, printed)
            out.append(section)
        return out

    def size(self, experiment, size, records, printed) -> list[nodes.Node]:
        """Describe the records of one size."""
        from course_lib.book.results import interval, outcome_of, scalar_table, summary, tables
        from course_lib.experiments import conclusions

        made: list[nodes.Node] = [nodes.paragraph("", f"Size {size}: {summary(records)}")]
        verdicts = []
        for c in conclusions(experiment, records, size):
            adjusted = "" if c.control else f"{c.p_adjusted:.2g}"
            said = [c.claim, c.document, c.sides[1], outcome_of(c), interval(c)]
            verdicts.append(row([*said, f"{c.verdict.p:.2g}", adjusted]))
        if verdicts:
            made.append(table(VERDICTS, verdicts, (30, 14, 12, 14, 18, 6, 6), "verdicts"))
        numbers = [row(cells) for cells in scalar_table(experiment, records, printed)]
        made.append(table(NUMBERS, numbers, (15, 20, 12, 18, 10, 25), "numbers"))
        for name, cells in tables(experiment, records).items():
            made.append(nodes.paragraph("", f"Mean {name}:"))
            widths = (10,) * len(cells[0])
            made.append(table(cells[0], map(row, cells[1:]), widths, "numbers"))
        return made


class EnergyTable(SphinxDirective):
    """What each folder of records has cost in computing time, and about how much energy that is."""

    def run(self) -> list[nodes.Node]:
        """Add up the records."""
        from course_lib.book.reported import load_known

        folder = Path(self.env.srcdir) / "book" / "results"
        all_records = load_known(folder)
        rows = []
        for name in dict.fromkeys(record.experiment for record in all_records):
            records = [record for record in all_records if record.experiment == name]
            rows.append(energy_row(name, records))
        rows.append(energy_row("all", all_records))
        headings = (
            "Experiment", "Runs", "Hours of computing", "Watt-hours", "Minutes on a GPU, at least",
        )  # fmt: skip
        return [table(headings, rows, (34, 10, 20, 16, 20), "numbers")]


def energy_row(name: str, records: list) -> nodes.row:
    """One line of it; what trains no network has no time on a GPU."""
    from course_lib.book.energy import gpu_seconds, short, watt_hours

    hours = sum(record.device_seconds for record in records) / 3600
    gpu = gpu_seconds(records)
    least = "" if gpu is None else short(gpu / 60)
    return row([name, str(len(records)), f"{hours:.2f}", f"{watt_hours(records):.1f}", least])


class SizesTable(SphinxDirective):
    """How many runs each size has, and how much of what is planned for size ``day`` has run."""

    def run(self) -> list[nodes.Node]:
        """Compare the plans with the records."""
        from course_lib.book.reported import load_known
        from course_lib.book.results import PLAN_HEADINGS, by_size, planned
        from course_lib.experiments import EXPERIMENTS

        known = load_known(Path(self.env.srcdir) / "book" / "results")
        records = [record for record in known if record.experiment in EXPERIMENTS]
        lines = [row(cells) for cells in planned(EXPERIMENTS, records, "day")]
        return [
            nodes.paragraph("", by_size(records)),
            table(PLAN_HEADINGS, lines, (18, 32, 36, 14), "numbers"),
        ]


class CostAssumptions(SphinxDirective):
    """What the estimates of energy and of time on a GPU assume."""

    def run(self) -> list[nodes.Node]:
        """Say it with the numbers that are computed with."""
        from course_lib.book.energy import assumptions

        return [nodes.paragraph("", assumptions())]


class ResultsPicture(SphinxDirective):
    """Every judged row as a dot with its interval."""

    def run(self) -> list[nodes.Node]:
        """Read the rows and the records, and draw."""
        from course_lib.book.forest import forest

        return [nodes.raw("", forest(document_rows(self.env)), format="html")]


def document_rows(env: BuildEnvironment) -> list[Row]:
    """The documents' rows with our numbers beside them."""
    from course_lib.book.reported import load_known, load_reported, rows

    book = Path(env.srcdir) / "book"
    env.note_dependency(str(book / "results.yml"))
    records = load_known(book / "results")
    return rows(load_reported(book / "results.yml", records), records)


class DocumentTables(SphinxDirective):
    """The documents' tables, row by row, with our numbers beside theirs."""

    def run(self) -> list[nodes.Node]:
        """Read the rows and the records, and build a section per table."""
        from course_lib.book.results import HEADINGS, by_table, cells, tally

        found = document_rows(self.env)
        out: list[nodes.Node] = [nodes.paragraph("", tally(found).capitalize() + ".")]
        for (document, name), members in by_table(found).items():
            title = f"{document[0].upper()}{document[1:]}: {name}"
            section = nodes.section(ids=[nodes.make_id(f"table {title}")])
            section += nodes.title("", title)
            widths = (14, 7, 6, 8, 9, 10, 12, 8, 5, 21)
            section += table(HEADINGS, [row(cells(r)) for r in members], widths, "document-rows")
            settings = dict.fromkeys(r.printed.setting for r in members if r.printed.setting)
            if settings:
                section += nodes.paragraph("", f"The document's setting: {'; or '.join(settings)}.")
            out.append(section)
        return out


def outdated(app: Sphinx, env: object, added: set, changed: set, removed: set) -> list[str]:
    """Read the page at every build: a new record is a new file, which Sphinx does not watch."""
    return [page for page in PAGES if page in app.env.found_docs]


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive."""
    app.add_directive("results-table", ResultsTable)
    app.add_directive("document-tables", DocumentTables)
    app.add_directive("results-picture", ResultsPicture)
    app.add_directive("energy-table", EnergyTable)
    app.add_directive("results-sizes", SizesTable)
    app.add_directive("cost-assumptions", CostAssumptions)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
