"""The page a student gets: one file, no script, nothing of it alive that a student wrote."""

import base64
import hashlib
import itertools
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup
from nbformat import NotebookNode

from grader.base.course import course
from grader.cells import id_of, marks
from grader.checks.cell import HEADING
from grader.checks.exercise import find
from grader.intake.parsing import inert
from grader.judge.bare import PLEASE
from grader.judge.judge import Judged, Mark

# Marks of direction that go on to the end of a line, or to another that ends them.
_TURNS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")


def page(
    assignment: str, student: str, judged: Judged | None, url: str, *, reason: str = ""
) -> str:
    """Render feedback, or the ``reason`` for none; without ``url`` the book's pages are named."""
    return inert_page(
        "feedback.html",
        "feedback.css",
        assignment=assignment,
        student=student,
        reason=reason,
        score=judged.score if judged else 0,
        max_points=judged.max_points if judged else 0,
        notes=[note for note in judged.notes if PLEASE not in note] if judged else [],
        exercises=[_exercise(judged, m, url) for m in judged.marks] if judged else [],
    )


def inert_page(template: str, *styles: str, **content: Any) -> str:
    """A page whose policy admits its own style sheets and nothing else; content is escaped."""
    page, style, digest = _template(template, styles)
    return page.render(style=style, style_hash=digest, **content)


@cache
def _template(name: str, styles: tuple[str, ...]) -> tuple[jinja2.Template, str, str]:
    here = files("grader")
    style = "".join((here / sheet).read_text(encoding="utf-8") for sheet in styles)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        # Without the marks by which a browser turns a line round.
        finalize=lambda value: value.translate(_TURNS) if isinstance(value, str) else value,
    )
    environment.filters["code"] = _with_code
    page = environment.from_string((here / name).read_text(encoding="utf-8"))
    return page, style, digest


def _with_code(text: str) -> Markup:
    parts = enumerate(text.split("`"))
    return Markup("").join(Markup("<code>{}</code>" if n % 2 else "{}").format(p) for n, p in parts)


def _exercise(judged: Judged, mark: Mark, url: str) -> dict[str, Any]:
    shown = {
        "mark": mark,
        "title": title_of(judged.notebook, mark.grade_id),
        "source": answer_of(judged, mark),
        "report": mark.report,
    }
    if mark.report is None:
        return shown
    chapter = f"{course().pages}/{find(mark.report.exercise).chapter}"
    return {
        **shown,
        # One example is open to begin with: the others would bury what is said.
        "first": next((row for row in mark.report.rows if row.example), None),
        "chapter": chapter,
        "link": f"{url}/{chapter}" if url else "",
    }


def title_of(notebook: NotebookNode, grade_id: str) -> str:
    """The heading, with its number, below which a graded cell stands; else its id in words."""
    title = grade_id.partition("-")[2].replace("_", " ")
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (heading := HEADING.search(cell.source)):
            title = heading[1]
        if id_of(cell) == grade_id:
            break
    return title


def answer_of(judged: Judged, mark: Mark) -> str:
    """Submission for a graded cell: its solution cells, or what a person grades itself."""
    prefix = f"{mark.grade_id}-solution"
    return "\n\n".join(
        cell.source
        for cell in judged.notebook.cells
        if id_of(cell).startswith(prefix)
        or (id_of(cell) == mark.grade_id and marks(cell).get("solution"))
    )


def written_beside(notebook: NotebookNode, release: NotebookNode, grade_id: str) -> list[str]:
    """Texts of the student's own next to a marked cell."""
    given = {inert(c.source).strip() for c in release.cells if c.cell_type == "markdown"}
    place = next(n for n, c in enumerate(notebook.cells) if id_of(c) == grade_id)
    texts = []
    for cells in (notebook.cells[place + 1 :], reversed(notebook.cells[:place])):
        for cell in itertools.takewhile(lambda c: not id_of(c), cells):
            text = cell.source.strip()
            if cell.cell_type == "markdown" and text and text not in given:
                texts.append(text)
    return texts
