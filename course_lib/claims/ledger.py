"""The ledger of claims: reading it, and holding its verdicts against what the code finds."""

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BeforeValidator

from course_lib.claims.finding import Finding
from course_lib.strict import strict
from grader.base.errors import Refused

DOCUMENTS = {
    "lecture": "the lecture",
    "cifar-report": "the CIFAR-10 report",
    "ablation-report": "the ablation report",
    "patterns-essay": "the patterns essay",
    "space-essay": "the sequence-and-space essay",
    "several": "several documents",
}

# Findings that each verdict needs: (holds, corrected); ... = anything.
VERDICTS: dict[str, tuple[object, object]] = {
    "holds": (True, ...),
    "with correction": (False, True),
    "wrong": (False, ...),
    "contested": (None, ...),
    "measured here": (..., ...),
    "not checkable": (..., ...),
}


@strict()
class Claim:
    """One entry of the ledger.

    ``decided``: instead of a function the conclusions of experiments whose rule decides, each as
    ``experiment/key``; ``cell``: instead of both a page whose cells tagged ``claim-ID`` assert
    the verdict; none of the three only where the claim is not checkable.
    """

    id: Annotated[str, BeforeValidator(str)]  # stable name, cited by chapters
    document: str  # key of DOCUMENTS
    claim: str  # the statement, in our words
    verdict: str  # key of VERDICTS
    chapter: int  # number of the chapter that deals with it
    note: str = ""  # the correction, or why the verdict is what it is
    show: str = ""  # function in course_lib.claims that returns the Finding, as module.function
    decided: Sequence[str] = ()
    cell: str = ""  # page, as chapters/03_attention

    def __post_init__(self) -> None:
        if self.document not in DOCUMENTS:
            raise Refused(f"document {self.document!r}, not in {[*DOCUMENTS]}")
        if self.verdict not in VERDICTS:
            raise Refused(f"verdict {self.verdict!r}, not in {[*VERDICTS]}")
        ways = sum(map(bool, (self.show, self.decided, self.cell)))
        if ways != (self.verdict != "not checkable"):
            raise Refused("expected a function, conclusions or a page, unless it is not checkable")
        if not self.note and self.verdict != "holds":
            raise Refused(f"expected a note that says why it is {self.verdict}")
        if self.verdict == "measured here" and not self.decided:
            raise Refused("expected the conclusions by which it is measured here")


def load_claims(path: Path) -> list[Claim]:
    """Read the ledger. Returns the claims in the order of the file."""
    claims: list[Claim] = []
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        try:
            claims.append(Claim(**entry))
        except Refused as error:
            raise Refused(f"{path.name}, claim {entry.get('id')}: {error}") from error
    ids = [claim.id for claim in claims]
    if twice := {name for name in ids if ids.count(name) > 1}:
        raise Refused(f"claims {sorted(twice)} come more than once")
    return claims


def shown(claim: Claim) -> Finding | None:
    """Run the function of a claim, or ask the rule of its experiments.

    Returns what it found, or ``None`` if a page shows it or if it is not checkable.
    """
    if claim.decided:
        return Finding.of_rule(*(one.split("/", 1) for one in claim.decided))
    if not claim.show:
        return None
    module, _, name = claim.show.rpartition(".")
    try:
        function: Callable[[], Finding] = getattr(
            import_module(f"course_lib.claims.{module}"), name
        )
    except (ImportError, AttributeError) as error:
        raise Refused(f"claim {claim.id}: no function course_lib.claims.{claim.show}") from error
    return function()


def asserts(claim: Claim, page: str) -> list[str]:
    """The statements of a page's cells that are tagged as the claim's and assert something."""
    tagged = re.compile(rf"(?ms)^:?tags: \[[^\]\n]*\bclaim-{claim.id}\b[^\]\n]*\]\n(.*?)^```")
    return [code for code in tagged.findall(page) if re.search(r"\bassert", code)]


def contradiction(claim: Claim, finding: Finding | None) -> str | None:
    """Compare a verdict with what the code found.

    Returns what does not fit, or ``None`` if the verdict stands.
    """
    if finding is None:
        return None
    holds, corrected = VERDICTS[claim.verdict]
    if holds is not ... and finding.holds is not holds:
        return (
            f"claim {claim.id} is called {claim.verdict}, but the code found "
            f"holds={finding.holds} ({finding.evidence})"
        )
    if corrected is not ... and finding.corrected is not corrected:
        return f"claim {claim.id}: the correction was not seen to hold ({finding.evidence})"
    return None
