"""Findings of a claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from course_lib.experiments import settled
from course_lib.experiments.reach import FAR, REACHES, SEEN

# Verdict of a claim for each outcome of course_lib.experiments.verdict.
HOLDS: dict[str, bool | None] = {
    "holds": True,
    "fails": False,
    "no difference": None,
    "undecided": None,
    "not testable": None,
}


@dataclass(frozen=True)
class Finding:
    """The outcome of running a claim.

    ``holds``: whether the statement, as the document makes it, was seen to hold; ``None`` if it
    held in one of the cases that were run and failed in another; ``corrected``: whether the
    corrected statement of the ledger was seen to hold; ``None`` if there is none.
    """

    holds: bool | None
    evidence: str  # the measured numbers behind it, in one sentence
    corrected: bool | None = None
    outcome: str = ""  # what an experiment's rule says, key of HOLDS; nothing where none decides
    told: str = ""  # the same in a reader's words, and how far it reaches
    far: bool = False  # whether it reaches a document

    @classmethod
    def of_rule(cls, *named: Sequence[str]) -> Finding:
        """Verdicts of an experiment's questions, over all sizes that have run.

        It is undecided as soon as one is, or as two of them differ; and where one was seen at a
        small size alone, nothing holds or fails.
        """
        found = [settled(name, key) for name, key in named]
        outcomes = {one.outcome for one in found}
        outcome = outcomes.pop() if len(outcomes) == 1 else "undecided"
        least = max(found, key=lambda one: REACHES.index(one.reach))
        small = least.reach not in FAR
        return cls(
            holds=None if small else HOLDS[outcome],
            evidence="; ".join(f"{one.question.claim.rstrip('.')}: {one}" for one in found),
            outcome=outcome,
            told=f"{SEEN[outcome] if small else outcome}, {least.where}",
            far=not small,
        )
