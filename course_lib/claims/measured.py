"""Claims that an experiment decides: what its rule says of the records that ship with the book."""

from pathlib import Path

import course_lib
from course_lib.claims.finding import Finding
from course_lib.experiments import EXPERIMENTS, conclusions, load_records

__all__ = ["bottleneck_costs_accuracy", "causal_models_lose_a_third", "rows_pack_better"]

RESULTS = Path(course_lib.__file__).parents[1] / "book" / "results"


def _decided(experiment: str, document: str, key: str = "") -> tuple[bool | None, str]:
    """What all conclusions about a document, or one, have in common if the controls stand."""
    records = load_records(RESULTS)
    found = conclusions(EXPERIMENTS[experiment], records, "cpu")
    about = [c for c in found if c.document == document and not c.control and key in ("", c.key)]
    if not about:
        raise ValueError(f"{RESULTS} holds no records of {experiment}: `course run {experiment}`")
    outcomes = {c.verdict.outcome for c in about}
    controlled = all(c.verdict.outcome == "stands" for c in found if c.control)
    holds = {frozenset({"stands"}): True, frozenset({"does not"}): False}.get(frozenset(outcomes))
    evidence = "; ".join(f"{c.claim.rstrip('.')}: {c.verdict}" for c in about)
    return holds if controlled else None, evidence


def bottleneck_costs_accuracy() -> Finding:
    """Exact translations of short and of long sentences, with and without attention."""
    holds, evidence = _decided("seq2seq-bottleneck", "the lecture")
    return Finding(holds=holds, evidence=evidence)


def rows_pack_better() -> Finding:
    """What zlib leaves of photographs row after row, and in the order of other scans."""
    holds, evidence = _decided("scan-orders", "the sequence-and-space essay")
    return Finding(holds=holds, evidence=evidence)


def causal_models_lose_a_third() -> Finding:
    """Next words guessed by a model that reads forwards, with positions and without."""
    holds, evidence = _decided("no-positions", "the sequence-and-space essay", "collapse")
    return Finding(holds=holds, evidence=evidence)
