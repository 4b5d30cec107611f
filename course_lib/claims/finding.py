"""What running a claim can find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from course_lib.experiments import decided

# What each outcome of course_lib.experiments.verdict says of a claim.
HOLDS: dict[str, bool | None] = {
    "stands": True,
    "does not": False,
    "no difference": None,
    "undecided": None,
    "not testable": None,
}


@dataclass(frozen=True)
class Finding:
    """The outcome of running a claim.

    Attributes:
        holds: Whether the statement, as the document makes it, was seen to hold; ``None`` if it
            held in one of the cases that were run and failed in another.
        evidence: The measured numbers behind it, in one sentence.
        corrected: Whether the corrected statement of the ledger was seen to hold; ``None`` if
            there is none.
        outcome: What an experiment's rule says, key of :data:`HOLDS`; nothing where none decides.

    Example:
        >>> rows = 0.72 + 0.15 + 0.13
        >>> Finding(holds=abs(rows - 1) < 1e-9, evidence=f"the weights add up to {rows:.2f}")
        Finding(holds=True, evidence='the weights add up to 1.00', corrected=None, outcome='')
    """

    holds: bool | None
    evidence: str
    corrected: bool | None = None
    outcome: str = ""

    @classmethod
    def of_rule(cls, *named: Sequence[str]) -> Finding:
        """What the rule says of conclusions, each by its experiment and its key.

        Runs of another size than ``cpu`` are named as ``experiment@size``. It is undecided as soon
        as one is, or as two of them differ.
        """
        found = []
        for experiment, key in named:
            name, _, size = experiment.partition("@")
            found.append((decided(name, key, size or "cpu"), size and f" ({size})"))
        outcomes = {conclusion.verdict.outcome for conclusion, _ in found}
        outcome = outcomes.pop() if len(outcomes) == 1 else "undecided"
        return cls(
            holds=HOLDS[outcome],
            evidence="; ".join(f"{c.claim.rstrip('.')}{size}: {c.verdict}" for c, size in found),
            outcome=outcome,
        )
