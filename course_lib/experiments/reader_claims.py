"""What the records of trained readers decide: claims of the documents, questions of the course."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from course_lib.experiments.record import Record
from course_lib.experiments.registry import Conclusion
from course_lib.experiments.verdict import verdict

__all__ = ["conclude"]

_ESSAY = "the patterns essay"
_LECTURE = "the lecture"
_SPARED = 0.02
"""What may be lost of the known verbs, if heads are to count as spared."""

Question = tuple[str, str, str, int, Callable[[Mapping[str, Any]], float]]
"""Key, claim, who makes it, the claimed sign, and from results to a difference."""


def conclude(records: Sequence[Record]) -> list[Conclusion]:
    """The documents' claims, the course's own questions, and controls.

    Args:
        records: Of one size, at least one.

    Returns:
        The conclusions, controls last.
    """
    found = [record.results for record in records]
    learned = [r.metrics[-1]["number"] - r.metrics[0]["number"] for r in records]
    n_layers = len(found[0]["subject_by_layer"])
    questions = (*_of_maps(n_layers), *_of_heads(found[0]), *_of_probes(n_layers))
    made = [
        Conclusion(
            claim,
            document,
            verdict([difference(f) for f in found], claimed_sign=sign),
            control=document == "control",
            key=key,
        )
        for key, claim, document, sign, difference in questions
    ]
    made.append(
        Conclusion(
            "After the last epoch the model knows the number of more verbs than after the first.",
            "control",
            verdict(learned, claimed_sign=1),
            control=True,
            key="learns",
        )
    )
    return sorted(made, key=lambda conclusion: conclusion.control)


def _of_maps(n_layers: int) -> tuple[Question, ...]:
    last, middle = str(n_layers), str((n_layers + 1) // 2)
    return (
        (
            "neighbours",
            "The first layer looks at neighbours more than the last one.",
            _ESSAY,
            1,
            lambda f: f["neighbours_by_layer"]["1"] - f["neighbours_by_layer"][last],
        ),
        (
            "subject",
            "The head that finds the subject best is better in the middle layer than in the first.",
            _ESSAY,
            1,
            lambda f: f["subject_by_layer"][middle] - f["subject_by_layer"]["1"],
        ),
        (
            "top-quarter",
            "A quarter of the keys holds more than three quarters of the attention.",
            _ESSAY,
            1,
            lambda f: f["top_quarter_mass"] - 0.75,
        ),
        (
            "even",
            "The more even a head's weights, the less it is worth.",
            _ESSAY,
            -1,
            lambda f: f["even_and_idle"],
        ),
        (
            "deletion",
            "Without the words that get most attention the answer is lost sooner than without "
            "random ones.",
            _LECTURE,
            1,
            lambda f: f["deletion_area"]["random"] - f["deletion_area"]["attention"],
        ),
        (
            "gradient",
            "And sooner than without the words with the largest gradients.",
            _LECTURE,
            1,
            lambda f: f["deletion_area"]["gradient"] - f["deletion_area"]["attention"],
        ),
    )


def _of_heads(first: Mapping[str, Any]) -> tuple[Question, ...]:
    half = str((len(first["known_without"]["random"]) - 1) // 2)

    def known(f: Mapping[str, Any], order: str, gone: str) -> float:
        return float(f["known_without"][order][gone])

    def all_along(f: Mapping[str, Any]) -> float:
        now, alone = (f["known_without"][f"least worth {when}"] for when in ("now", "alone"))
        return sum(now[n] - alone[n] for n in now) / len(now)

    return (
        (
            "least-head",
            "No head is redundant: even the one that is missed least is missed.",
            _LECTURE,
            1,
            lambda f: f["least_head_worth"],
        ),
        (
            "half-gone",
            "Without the half of its heads that it can spare best, a model gets at most two points "
            "less right.",
            "Michel et al. (2019)",
            1,
            lambda f: _SPARED + known(f, "least worth now", half) - known(f, "random", "0"),
        ),
        (
            "looks-again",
            "Heads that are chosen anew after each removal leave more right than those worth least "
            "from the beginning.",
            "beside the lecture",
            1,
            all_along,
        ),
        (
            "pairs",
            "Two heads are missed more together than one by one.",
            "beside the lecture",
            1,
            lambda f: f["pair_excess"],
        ),
        (
            "positional",
            "There is a head with more than half of its attention on one neighbour.",
            _ESSAY,
            1,
            lambda f: max(f["role_of_best"][name] for name in ("previous", "next")) - 0.5,
        ),
        (
            "syntactic",
            "The best head finds the subject of a hidden verb more often than a count of places.",
            _ESSAY,
            1,
            lambda f: f["role_of_best"]["agreement"] - f["role_of_counting"]["agreement"],
        ),
        (
            "coreference",
            "The best head finds what a pronoun means more often than a count of places.",
            _ESSAY,
            1,
            lambda f: f["role_of_best"]["coreference"] - f["role_of_counting"]["coreference"],
        ),
        (
            "separators",
            "There is a head that gives signs twice their share of the attention.",
            _ESSAY,
            1,
            lambda f: f["role_of_best"]["separators"] - 2,
        ),
        (
            "rare",
            "There is a head that gives rare names twice their share of the attention.",
            _ESSAY,
            1,
            lambda f: f["role_of_best"]["rare"] - 2,
        ),
        (
            "worth-counts",
            "The half of the heads that is worth most alone is missed more than the other half.",
            "control",
            1,
            lambda f: known(f, "least worth alone", half) - known(f, "most worth alone", half),
        ),
    )


def _of_probes(n_layers: int) -> tuple[Question, ...]:
    last, middle = str(n_layers), str((n_layers + 1) // 2)

    def gained(later: str, earlier: str) -> Callable[[Mapping[str, Any]], float]:
        return lambda f: f["probe"][f"subject, {later}"] - f["probe"][f"subject, {earlier}"]

    return (
        (
            "probe-first",
            "A probe tells subjects better after the middle layer than after the first.",
            _ESSAY,
            1,
            gained(middle, "1"),
        ),
        (
            "probe-last",
            "A probe tells subjects better after the middle layer than after the last.",
            _ESSAY,
            1,
            gained(middle, last),
        ),
        (
            "probe-memory",
            "A probe of the last layer learns labels by lot as well as what is plural, up to two "
            "points.",
            "Hewitt and Liang (2019)",
            1,
            lambda f: 0.02 + f["probe_control"][f"plural, {last}"] - f["probe"][f"plural, {last}"],
        ),
        (
            "probe-sentence",
            "A probe tells subjects better after the last layer than from the words alone.",
            "control",
            1,
            gained(last, "word"),
        ),
    )
