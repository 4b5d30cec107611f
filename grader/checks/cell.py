"""``check("topic.name")``: what a graded cell calls in the student's kernel."""

from __future__ import annotations

import contextlib
import importlib
import json
import linecache
import os
import re
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.base.files import write_whole
from grader.checks import seeds

# The report as data, for whoever runs the notebook from outside.
MIME = "application/vnd.course.report+json"
# Set by nbgrader's Validate, which says nothing but "partial credit" unless stderr has more.
VALIDATING = "NBGRADER_VALIDATING"

# Set by nbgrader while it runs a notebook: it reads points from what a cell displays.
NBGRADER = "NBGRADER_EXECUTION"

# Solved functions, and every check with its answer where that file is there already; both
# in the home folder.
PROGRESS, PATH = "course-progress.json", "course-path.jsonl"
# Names the socket of a lecture's page, on a hub.
LECTURE = "COURSE_LECTURE"

# Stubs for imports between the cells of a rehearsal.
_behind = contextlib.ExitStack()

# Exercises' headings in a notebook, such as "3.1 Attention, from the formula".
HEADING = re.compile(r"^## (\d+\.\d+ .+)", re.M)
# Advice that has been given in this kernel, where once is enough.
_advised: set[str] = set()


class Points(float):
    """Points that a notebook doesn't repeat below the table which says them."""

    def _ipython_display_(self) -> None:
        pass


if TYPE_CHECKING:
    from grader.checks.report import Report


def check(identifier: str, names: Mapping[str, Any] | None = None) -> float:
    """Check an exercise, print what holds and what doesn't, and return the points.

    Without ``names`` the answer is in the notebook's global names. Points lie between 0 and the
    exercise's maximum, as nbgrader's partial credit wants them.
    """
    from IPython import get_ipython

    # Where somebody waits for it: a shell with a kernel is that of a notebook.
    seed, in_notebook = seeds.current(), hasattr(get_ipython(), "kernel")
    report = examine(identifier, names, seed, progress=in_notebook)
    report.title = title_of(identifier)
    failing = report.score < report.max_points and VALIDATING in os.environ
    print(report.table(), file=sys.stderr if failing else sys.stdout)
    if "JPY_SESSION_NAME" in os.environ:  # somebody's own notebook, not one that is graded
        keep(identifier, report.score, float(report.max_points), Path.home() / PROGRESS)
        keep_step(report, seed, Path.home() / PATH, names or sys.modules["__main__"].__dict__)
        tell(report)
    return Points(report.score) if in_notebook and NBGRADER not in os.environ else report.score


def tell(report: Report) -> None:
    """Tell the lecture's page, while one is on, which properties fail; never fail, never wait."""
    if not (place := os.environ.get(LECTURE)):
        return
    fallen = [row.name for row in report.rows if not row.passed]
    message = json.dumps({"exercise": report.exercise, "fallen": fallen}).encode()
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.settimeout(0.2)
        out.sendto(message, place)
        print(
            "The lecture's page is on: it counts which requirements fail, and shows no names."
            f" `%env {LECTURE}=` in a cell leaves your checks out."
        )


def keep_step(report: Report, seed: str, path: Path, names: Mapping[str, Any]) -> None:
    """Add a check to the student's own path where there is one; never fail a check."""
    with contextlib.suppress(OSError, ValueError):
        if not path.is_file():
            return
        answer = names.get(report.function)
        parts = [answer, *(vars(answer).values() if isinstance(answer, type) else ())]
        files = [p.__code__.co_filename for p in parts if hasattr(p, "__code__")]
        step = {
            "on": datetime.now(UTC).isoformat(timespec="seconds"),
            "exercise": report.exercise,
            "source": "".join(linecache.getlines(files[0])) if files else "",
            "seed": seed,
            "points": report.score,
            "fallen": [row.name for row in report.rows if not row.passed],
        }
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(step) + "\n")


def keep(identifier: str, points: float, most: float, path: Path) -> None:
    """Write points into the student's own file, which the book's page of progress can read.

    More points for the same exercise stay. Where the file holds something else, or can't be
    written, it is left alone: a check must not fail for it.
    """
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        text = path.read_text("utf-8") if path.exists() else '{"version": 1}'
        progress: dict[str, Any] = json.loads(text)
        earlier = progress.setdefault("exercises", {}).get(identifier, {"points": -1})
        if progress["version"] != 1 or earlier["points"] >= points:
            return
        today = date.today().isoformat()
        progress["exercises"][identifier] = {"points": points, "of": most, "on": today}
        write_whole(path, json.dumps(progress, indent=1))


def rehearse() -> None:
    """Put the library out of reach of all cells that follow, as it is while they are graded."""
    from grader.checks.import_stubs import LIBRARY, PRESENT, hidden

    there = {name: importlib.import_module(f"{LIBRARY}.{name}") for name in PRESENT}
    if "figures" in there:
        vars(there["figures"])["figure"] = lambda name, **settings: None
    _behind.enter_context(hidden({}))


def publish(identifier: str) -> None:
    """Check an exercise over the notebook's global names and display the report as data.

    The library is within reach of the check, and afterwards until :func:`rehearse`.
    """
    from IPython.display import display

    _behind.close()
    report = examine(identifier, None)
    fields = ("name", "says", "passed", "points", "why", "hint", "open")
    data = {
        "exercise": report.exercise,
        "score": report.score,
        "max_points": float(report.max_points),
        "mistake": report.named or None,
        "rows": [{name: getattr(row, name) for name in fields} for row in report.rows],
        "table": report.table(),
    }
    display({MIME: data}, raw=True)


def examine(
    identifier: str,
    names: Mapping[str, Any] | None,
    seed: str | None = None,
    *,
    progress: bool = False,
) -> Report:
    """The report on an exercise; its note tells how to have the same samples again."""
    from grader.checks.answer_proxy import AnswerProxy
    from grader.checks.exercise import find
    from grader.checks.grading import grade
    from grader.checks.import_stubs import hidden
    from grader.checks.recognition import recognise
    from grader.checks.settings import Aside

    exercise = find(identifier)
    given = os.environ.get(seeds.ENVIRONMENT)
    seed = seed or seeds.current()
    names = sys.modules["__main__"].__dict__ if names is None else names
    with Aside() as aside, stderr_to_stdout():

        @contextlib.contextmanager
        def as_graded(names: Mapping[str, Any]) -> Iterator[None]:
            with hidden(names), aside.back():
                yield

        report = grade(exercise, AnswerProxy.local(names, as_graded), seed, progress=progress)
        if not report.full:
            report.mistakes = recognise(exercise, report, seed, progress=progress)
    advice = {}
    if given is None and not report.full:
        advice["seed"] = (
            f"For the same samples in every check, run `%env {seeds.ENVIRONMENT}={seed}` in a cell."
        )
    back = f"`course reset {notebook_name()} {identifier}` in a terminal"
    if exercise.function in report.undefined():
        report.cause += f" Is its cell gone? {back} gives it back as it was handed out."
    elif not report.full:
        advice["reset"] = f"To start over: {back}."
    if not report.one_reason:  # which is all that is said then
        report.note = " ".join(text for what, text in advice.items() if what not in _advised)
        _advised.update(advice)
    return report


def title_of(identifier: str) -> str:
    """The heading above an exercise's check in the notebook that runs here, if it can be read."""
    title, name = "", os.environ.get("JPY_SESSION_NAME", "")
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        for cell in json.loads(Path(name).read_text("utf-8"))["cells"] if name else ():
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown" and (heading := HEADING.search(source)):
                title = heading[1]
            elif f'check("{identifier}")' in source:
                return title
    return ""


def notebook_name() -> str:
    """The file of the notebook that runs here, where Jupyter says it; else ``NOTEBOOK``."""
    name = Path(os.environ.get("JPY_SESSION_NAME", "")).name
    return name if name.endswith(".ipynb") and " " not in name else "NOTEBOOK"


@contextlib.contextmanager
def stderr_to_stdout() -> Iterator[None]:
    """Print on stdout, afterwards, all that goes to stderr meanwhile, file descriptor 2 included.

    nbgrader takes every point of a graded cell with output on stderr, an honest warning too.
    """
    errors = StringIO()
    held = sys.stderr
    own_write = held.__dict__.get("write") if hasattr(held, "__dict__") else None
    with tempfile.TemporaryFile() as low:
        held.flush()
        saved = os.dup(2)
        os.dup2(low.fileno(), 2)
        sys.stderr = errors
        # A logging handler made in an earlier cell holds the stream itself, not its name.
        with contextlib.suppress(AttributeError):
            held.write = errors.write  # type: ignore[method-assign]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                yield
        finally:
            with contextlib.suppress(AttributeError):
                if own_write is None:
                    del held.write
                else:
                    held.write = own_write  # type: ignore[method-assign]
            sys.stderr = held
            os.dup2(saved, 2)
            os.close(saved)
            low.seek(0)
            text = errors.getvalue() + low.read(20_000).decode(errors="replace")
            if text.strip():
                print("Your code also said:", text.strip()[:20_000], sep="\n")
