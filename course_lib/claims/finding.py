"""What running a claim can find."""

from dataclasses import dataclass

__all__ = ["Finding"]


@dataclass(frozen=True)
class Finding:
    """The outcome of running a claim.

    Attributes:
        holds: Whether the statement, as the document makes it, was seen to hold; ``None`` if it
            held in one of the cases that were run and failed in another.
        evidence: The measured numbers behind it, in one sentence.
        corrected: Whether the corrected statement of the ledger was seen to hold; ``None`` if
            there is none.

    Example:
        >>> rows = 0.72 + 0.15 + 0.13
        >>> Finding(holds=abs(rows - 1) < 1e-9, evidence=f"the weights add up to {rows:.2f}")
        Finding(holds=True, evidence='the weights add up to 1.00', corrected=None)
    """

    holds: bool | None
    evidence: str
    corrected: bool | None = None
