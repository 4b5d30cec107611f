"""Conclusions of trained readers' records: claims of the documents, questions of the course."""

from collections.abc import Callable

from course_lib.experiments.questions import from_table
from course_lib.experiments.record import Record

_SPARED = 0.02
"""Allowed loss of known verbs, if heads are to count as spared."""


def _layers(record: Record) -> int:
    return len(record.results["subject_by_layer"])


def _at(name: str, place: str) -> Callable[[Record], float]:
    """A number by layer: in the ``"middle"``, in the ``"last"`` one, or where the place says."""

    def measure(record: Record) -> float:
        n = _layers(record)
        layer = {"middle": str((n + 1) // 2), "last": str(n)}.get(place, place)
        group, _, kind = name.partition(".")
        return float(record.results[group][f"{kind}, {layer}" if kind else layer])

    return measure


def _known(order: str) -> Callable[[Record], float]:
    """Count how many verbs are known without half of the heads, taken away in this order."""

    def measure(record: Record) -> float:
        left = record.results["known_without"]
        return float(left[order][str((len(left["random"]) - 1) // 2)])

    return measure


def _all_along(order: str) -> Callable[[Record], float]:
    """The mean over all numbers of heads taken away."""

    def measure(record: Record) -> float:
        left = record.results["known_without"][order]
        return float(sum(left.values()) / len(left))

    return measure


QUESTIONS = from_table(
    "reader_claims",
    {
        "neighbours in the last layer": _at("neighbours_by_layer", "last"),
        "subject in the middle": _at("subject_by_layer", "middle"),
        "random, less two points": lambda record: (
            record.results["known_without"]["random"]["0"] - _SPARED
        ),
        "least worth now": _known("least worth now"),
        "least worth alone": _known("least worth alone"),
        "most worth alone": _known("most worth alone"),
        "least worth now, all along": _all_along("least worth now"),
        "least worth alone, all along": _all_along("least worth alone"),
        "best for a neighbour": lambda record: max(
            record.results["role_of_best"][name] for name in ("previous", "next")
        ),
        "probe in the middle": _at("probe.subject", "middle"),
        "probe in the last layer": _at("probe.subject", "last"),
        "plural by lot": _at("probe_control.plural", "last"),
        "plural, less two points": lambda record: _at("probe.plural", "last")(record) - 0.02,
    },
)
"""The documents' claims, the course's own questions, and controls."""
