"""What the records of trained readers decide: claims of the documents, questions of the course."""

from collections.abc import Callable, Sequence

from course_lib.experiments.questions import Measure, Question, learned
from course_lib.experiments.record import Record

_ESSAY = "the patterns essay"
_LECTURE = "the lecture"
_SPARED = 0.02
"""What may be lost of the known verbs, if heads are to count as spared."""
_FRESH = range(10, 25)


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
    """How many verbs are known without half of the heads, taken away in this order."""

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


def _ask(
    key: str,
    claim: str,
    document: str,
    metric: Measure,
    minus: Measure,
    *,
    sign: int = 1,
    margin: float | None = None,
    fresh: Sequence[int] = (),
    versus: str = "",
) -> Question:
    return Question(
        key, claim, document, "reader",
        metric=metric, minus=minus, sign=sign, margin=margin, fresh=fresh, versus=versus,
    )  # fmt: skip


QUESTIONS = (
    _ask("neighbours", "The first layer looks at neighbours more than the last one.", _ESSAY,
         "neighbours_by_layer.1", _at("neighbours_by_layer", "last"), margin=0.1,
         versus="the last layer", fresh=_FRESH),
    _ask("subject",
         "The head that finds the subject best is better in the middle layer than in the first.",
         _ESSAY, _at("subject_by_layer", "middle"), "subject_by_layer.1", margin=0.1,
         versus="the first layer", fresh=_FRESH),
    _ask("top-quarter", "A quarter of the keys holds more than three quarters of the attention.",
         _ESSAY, "top_quarter_mass", 0.75, margin=0.1),
    _ask("even", "The more even a head's weights, the less it is worth.", _ESSAY,
         "even_and_idle", 0.0, sign=-1, margin=0.3, fresh=_FRESH),
    _ask("deletion",
         "Without the words that get most attention the answer is lost sooner than without random "
         "ones.",
         _LECTURE, "deletion_area.random", "deletion_area.attention", margin=0.05),
    _ask("gradient", "And sooner than without the words with the largest gradients.", _LECTURE,
         "deletion_area.gradient", "deletion_area.attention", margin=0.05),
    _ask("least-head", "No head is redundant: even the one that is missed least is missed.",
         _LECTURE, "least_head_worth", 0.0, margin=0.01, fresh=_FRESH),
    _ask("half-gone",
         "Without the half of its heads that it can spare best, a model gets at most two points "
         "less right.",
         "Michel et al. (2019)", _known("least worth now"),
         lambda record: record.results["known_without"]["random"]["0"] - _SPARED,
         versus="all heads, less two points"),
    _ask("looks-again",
         "Heads that are chosen anew after each removal leave more right than those worth least "
         "from the beginning.",
         "beside the lecture", _all_along("least worth now"), _all_along("least worth alone"),
         margin=0.02),
    _ask("pairs", "Two heads are missed more together than one by one.", "beside the lecture",
         "pair_excess", 0.0, margin=0.01),
    _ask("positional", "There is a head with more than half of its attention on one neighbour.",
         _ESSAY,
         lambda record: max(record.results["role_of_best"][n] for n in ("previous", "next")),
         0.5, margin=0.05, fresh=_FRESH),
    _ask("syntactic",
         "The best head finds the subject of a hidden verb more often than a count of places.",
         _ESSAY, "role_of_best.agreement", "role_of_counting.agreement", margin=0.05,
         fresh=_FRESH),
    _ask("coreference",
         "The best head finds what a pronoun means more often than a count of places.", _ESSAY,
         "role_of_best.coreference", "role_of_counting.coreference", margin=0.05),
    _ask("separators", "There is a head that gives signs twice their share of the attention.",
         _ESSAY, "role_of_best.separators", 2.0, margin=0.3, fresh=_FRESH),
    _ask("rare", "There is a head that gives rare names twice their share of the attention.",
         _ESSAY, "role_of_best.rare", 2.0, margin=0.3),
    _ask("probe-first",
         "A probe tells subjects better after the middle layer than after the first.", _ESSAY,
         _at("probe.subject", "middle"), "probe.subject, 1", margin=0.02,
         versus="the first layer"),
    _ask("probe-last", "A probe tells subjects better after the middle layer than after the last.",
         _ESSAY, _at("probe.subject", "middle"), _at("probe.subject", "last"), margin=0.02,
         versus="the last layer"),
    _ask("probe-memory",
         "A probe of the last layer learns labels by lot as well as what is plural, up to two "
         "points.",
         "Hewitt and Liang (2019)",
         _at("probe_control.plural", "last"),
         lambda record: _at("probe.plural", "last")(record) - 0.02,
         versus="what is plural, less two points"),
    _ask("worth-counts",
         "The half of the heads that is worth most alone is missed more than the other half.",
         "control", _known("least worth alone"), _known("most worth alone")),
    _ask("probe-sentence",
         "A probe tells subjects better after the last layer than from the words alone.",
         "control", _at("probe.subject", "last"), "probe.subject, word"),
    _ask("learns",
         "After the last epoch the model knows the number of more verbs than after the first.",
         "control", learned("number"), 0.0),
)  # fmt: skip
"""The documents' claims, the course's own questions, and controls."""
