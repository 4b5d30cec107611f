"""Plans for instructors: a term, and of an assignment effort, points and named mistakes."""

import re
from datetime import date
from pathlib import Path

from course_claims import page_link, row, table
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PAGES = ("book/teaching", "book/instructors_term", "book/progress")
HEADINGS = ("Exercise", "Kind", "Difficulty", "Minutes", "Points", "Outcomes")
WIDTHS = (27, 17, 11, 9, 8, 28)


class Teaching(SphinxDirective):
    """The exercises of one assignment, what students get wrong in them, and its rubrics."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read exercises and rubrics and build a list, a table and a list that opens."""
        from course_lib.book.teaching import minutes, misconceptions, tasks
        from grader import rubrics

        name = self.arguments[0]
        root = Path(self.env.srcdir)
        try:
            asked = tasks(name, root)
            written = rubrics.load(root, name)
        except (KeyError, ValueError) as error:
            raise self.error(f"teaching {name}: {error.args[0]}") from error
        for path in (root / rubrics.FILE, root / "solutions" / name / f"{name}.md"):
            self.env.note_dependency(str(path))
        rows, marks = [], []
        for task in asked:
            exercise = task.exercise
            rows.append(
                row(
                    [
                        task.title,
                        task.kind,
                        f"{exercise.difficulty} of 5" if exercise else "",
                        str(exercise.minutes) if exercise else "",
                        f"{task.points:g}",
                        ", ".join(exercise.outcomes) if exercise else "",
                    ]
                )
            )
            if rubric := written.get(task.cell):
                title = f"**{task.title}**: {task.points:g} points, for"
                marks += self.parse_text_to_nodes(f"{title}\n\n{rubric.markdown()}")
        points = sum(task.points for task in asked)
        total = ["together", "", "", str(minutes(asked)), f"{points:g}", ""]
        rows.append(row(total, classes=["total"]))
        bank = misconceptions(asked)
        box = nodes.admonition(classes=["dropdown", "misconceptions"])
        count = sum(map(len, bank.values()))
        box += nodes.title("", f"What the checks of this assignment recognise: {count} mistakes")
        for title, mistakes in bank.items():
            box += nodes.paragraph("", "", nodes.strong("", title))
            items = nodes.bullet_list()
            for mistake, says in mistakes:
                line = nodes.paragraph("", "", *phrase(says))
                line += [nodes.Text(" "), nodes.literal("", mistake)]
                items += nodes.list_item("", line)
            box += items
        return [*marks, table(HEADINGS, rows, WIDTHS, "teaching"), box]


class Syllabus(SphinxDirective):
    """A term's plan, as ``course syllabus`` prints it: ``{syllabus} DATE WEEKS``."""

    required_arguments = 2
    # A page is narrower than a terminal: titles end at their colon, and assignments go unnamed.
    HEADINGS = ("Week", "From", "Chapters", "To read", "To do", "Points", "Due")
    SHARES = (7, 14, 40, 9, 9, 9, 14)

    def run(self) -> list[nodes.Node]:
        """Read the chapters and lay them out."""
        from course_lib.book import syllabus

        root = Path(self.env.srcdir)
        try:
            start, weeks = date.fromisoformat(self.arguments[0]), int(self.arguments[1])
            planned = syllabus.plan(syllabus.chapters(root), weeks, start)
        except ValueError as error:
            raise self.error(f"syllabus {' '.join(self.arguments)}: {error}") from error
        rows = []
        for week in planned:
            chapters = "; ".join(f"{c.number} {c.title.partition(':')[0]}" for c in week.chapters)
            counts = [
                f"{sum(getattr(c, what) for c in week.chapters):g}" if week.chapters else ""
                for what in ("reading", "work", "points")
            ]
            due = f"{week.due:%d\u00a0%b}" if any(c.points for c in week.chapters) else ""
            cells = [str(week.number), f"{week.starts:%d\u00a0%b}", chapters or "nothing new"]
            rows.append(row([*cells, *counts, due]))
        return [table(self.HEADINGS, rows, self.SHARES, "syllabus")]


class ClusterSpeed(SphinxDirective):
    """The measured gain of more workers, from the records of ``book/results/cluster-speed``."""

    HEADINGS = ("Workers", "Seconds a submission", "Times as fast", "Writing, ms a submission")
    SHARES = (20, 27, 24, 29)

    def run(self) -> list[nodes.Node]:
        """Read the record and build a table and what follows from it."""
        from course_lib.experiments import load_records

        folder = Path(self.env.srcdir, "book", "results")
        (record,) = load_records(folder, "cluster-speed")
        self.env.note_dependency(str(folder / "cluster-speed.zip"))
        measured = record.results
        alone = measured["loads"][0]["each"]
        rows = []
        for load in measured["loads"]:
            each, writing = load["each"], 1000 * load["driver"]
            rows.append(
                row([str(load["workers"]), f"{each:.3f}", f"{alone / each:.2f}", f"{writing:.1f}"])
            )
        where = (
            f"Measured on {record.finished[:10]} with {measured['students']} submissions on"
            f" {measured['cores']} cores ({record.hardware['processor']}), which scheduler and"
            f" workers share. The writing command needs {1000 * measured['driver_seconds']:.1f} ms"
            f" for each submission, so on paper {measured['most_workers']} workers keep it busy."
        )
        return [table(self.HEADINGS, rows, self.SHARES, "teaching"), nodes.paragraph("", where)]


class Progress(SphinxDirective):
    """All outcomes, each with what asks for it; a script tells what of it is open."""

    def run(self) -> list[nodes.Node]:
        """Read outcomes, questions and exercises and build a list for each chapter."""
        from course_lib.book import outcomes, syllabus

        root = Path(self.env.srcdir)
        out: list[nodes.Node] = [nodes.raw("", '<div id="progress" hidden></div>', format="html")]
        named = {int(c.number): c for c in syllabus.chapters(root)}
        for number, found in outcomes.assessed(root).items():
            chapter = named[number]
            section = nodes.section(ids=[f"progress-of-chapter-{number}"])
            text = f"{number} · {chapter.title}"
            title = page_link(f"book/chapters/{chapter.name}", self.env.docname, text)
            items = nodes.bullet_list(classes=["progress-outcomes"])
            for outcome in found:
                item = nodes.list_item("", nodes.paragraph("", *phrase(outcome.says)))
                asked = nodes.paragraph(classes=["progress-asked"])
                for where, name in outcome.questions:
                    # All but the topic, which the names of questions begin with.
                    asks = " ".join(name.split("-")[1:]).capitalize() + "?"
                    asked += self.entry("question", name, where, asks)
                for assignment, name, text in outcome.exercises:
                    asked += self.entry("exercise", name, f"book/chapters/{assignment}", text)
                asked.pop()  # the last separator
                item += asked
                items += item
            section += [nodes.title("", "", title), items]
            out.append(section)
        return out

    def entry(self, kind: str, name: str, page: str, text: str) -> list[nodes.Node]:
        """A link, within reach of the script."""
        start = f'<span class="progress-entry" data-kind="{kind}" data-name="{name}">'
        return [
            nodes.raw("", start, format="html"),
            page_link(page, self.env.docname, text),
            nodes.raw("", '<span class="progress-state"></span></span>', format="html"),
            nodes.Text("; "),
        ]


def phrase(text: str) -> list[nodes.Node]:
    """A docstring's sentence; what stands between backquotes is code."""
    parts = re.split(r"`+([^`]+)`+", text)
    return [nodes.literal("", p) if n % 2 else nodes.Text(p) for n, p in enumerate(parts) if p]


def outdated(app: Sphinx, env: object, added: set, changed: set, removed: set) -> list[str]:
    """Read the exercises at every build: they are code that Sphinx does not watch."""
    return [page for page in PAGES if page in app.env.found_docs]


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive."""
    app.add_directive("teaching", Teaching)
    app.add_directive("syllabus", Syllabus)
    app.add_directive("progress", Progress)
    app.add_directive("cluster-speed", ClusterSpeed)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
