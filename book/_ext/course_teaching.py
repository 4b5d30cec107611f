"""An assignment as its instructor sees it: effort, points, and the mistakes that have a name."""

import re
from pathlib import Path

from course_claims import row, table
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PAGE = "book/teaching"
HEADINGS = ("Exercise", "Kind", "Difficulty", "Minutes", "Points", "Outcomes")
WIDTHS = (27, 17, 11, 9, 8, 28)


class Teaching(SphinxDirective):
    """The exercises of one assignment and what students get wrong in them."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the exercises and build a table and a list that opens."""
        from course_lib.book.teaching import minutes, misconceptions, tasks

        name = self.arguments[0]
        root = Path(self.env.srcdir)
        try:
            asked = tasks(name, root)
        except (KeyError, ValueError) as error:
            raise self.error(f"teaching {name}: {error.args[0]}") from error
        self.env.note_dependency(str(root / "solutions" / name / f"{name}.md"))
        rows = []
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
        return [table(HEADINGS, rows, WIDTHS, "teaching"), box]


def phrase(text: str) -> list[nodes.Node]:
    """A docstring's sentence; what stands between backquotes is code."""
    parts = re.split(r"`+([^`]+)`+", text)
    return [nodes.literal("", p) if n % 2 else nodes.Text(p) for n, p in enumerate(parts) if p]


def outdated(app: Sphinx, env: object, added: set, changed: set, removed: set) -> list[str]:  # type: ignore[type-arg]
    """Read the exercises at every build: they are code that Sphinx does not watch."""
    return [PAGE] if PAGE in app.env.found_docs else []


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive."""
    app.add_directive("teaching", Teaching)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
