"""Why something is not defined: a cell that raised before, or one that comes too late."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nbformat import NotebookNode

from grader.checks.report import Report, missing_file, undefined
from grader.intake.matching import defines
from grader.intake.parsing import plain

_CELL = re.compile(r" \((?:<[^<>]{1,100}>|[^()/]{1,100}\.py), (line \d+)\)$")


@dataclass(frozen=True)
class Raised:
    """A cell that an exception ended before its last line."""

    source: str
    error: str

    def __str__(self) -> str:
        return f"{beginning(self.source)} raised {self.error}"

    @property
    def sentence(self) -> str:
        """The same with what to do about it, to go on from a word."""
        return f"{self}. {missing_file(self.error)}".strip()

    @property
    def note(self) -> str:
        """The same by itself."""
        return f"{self.sentence[0].upper()}{self.sentence[1:]}"

    @cached_property
    def words(self) -> frozenset[str]:
        """All words in its source."""
        return frozenset(re.findall(r"\w+", self.source))

    @cached_property
    def missing(self) -> list[str]:
        """The name that was not defined, if that is what ended it."""
        return undefined(self.error)


def raised(source: str, outputs: Sequence[dict[str, Any]]) -> Raised | None:
    """Exception of a cell, from its outputs; None if it ran to its end."""
    for output in outputs:
        if output["output_type"] == "error":
            # A cell has no file: its name would be another one in every kernel.
            message = _CELL.sub(r" (\1)", str(output["evalue"]))
            words = (plain(word, 160).strip() for word in (str(output["ename"]), message))
            return Raised(source, ": ".join(word for word in words if word))
    return None


def beginning(source: str) -> str:
    """A cell by its first line of code."""
    lines = [s for line in source.splitlines() if (s := line.strip()) and not s.startswith("#")]
    return f"the cell that begins with `{plain((lines or ['nothing'])[0], 60)}`"


def explain(report: Report, failed: Sequence[Raised], later: Sequence[NotebookNode]) -> None:
    """Put before a report where a name is lost that was not defined.

    The cells that ``failed`` raised before the check, and the ``later`` ones come after it.
    """
    sentences: dict[str, None] = {}
    for name in report.undefined():
        late = next((cell for cell in later if name in defines(cell)), None)
        if cell := root(name, failed):
            sentences[f"Before that, {cell.sentence}"] = None
        elif late is not None:
            sentences[
                f"`{name}` is defined only further down, in {beginning(late.source)}: a notebook is"
                " run from top to bottom, so the order counts. Move that cell up."
            ] = None
        elif failed:
            sentences[f"Before that, {failed[0].sentence}"] = None
    report.cause = " ".join(sentences) or report.cause


def root(name: str, failed: Sequence[Raised]) -> Raised | None:
    """The cell that would have given a name; if it only lacked another name, the cause of that."""
    found, names, number = None, [name], len(failed)
    while number:
        number -= 1
        if not failed[number].words.isdisjoint(names):
            found = failed[number]
            names = found.missing
    return found


def worth_a_note(cell: Raised, failed: Sequence[Raised]) -> bool:
    """True for more than a stub not written yet, or what an earlier cell has left undone."""
    if cell.error == "NotImplementedError":
        return False
    return not any(root(name, failed) for name in cell.missing)
