"""The ablation report's Informer on the other series and horizon, and in its published setting.

Arms, training and rule are those of ``informer-ablations``.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace

from course_lib.experiments import informer_ablations
from course_lib.experiments.informer_ablations import ARMS, CPU, FULL, Question, judge
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Conclusion, Experiment, Size

_TRAIN = informer_ablations.EXPERIMENT.train

_ETTM1_ARMS = (
    "repeat-last", "linear", "vanilla", "full-attention",
    "delta-values", "delta-times", "delta", "position-only",
)  # fmt: skip

_ETTM1_QUESTIONS: tuple[Question, ...] = (
    ("delta-values", "full-attention", 1, "the ablation report",
     "On ETTm1, steps between values don't replace positions and times."),
    ("delta-times", "full-attention", 1, "the ablation report",
     "On ETTm1, steps between values don't replace positions where the calendar is kept."),
    ("delta", "full-attention", -1, "the ablation report",
     "On ETTm1, beside all embeddings, steps between values make forecasts better."),
    ("delta-times", "delta-values", -1, "the ablation report",
     "On ETTm1, steps between values forecast better with the calendar than without."),
    # The best arm on ETTh1 was found by looking. Here is a series that nobody had looked at.
    ("position-only", "full-attention", -1, "found on ETTh1",
     "On ETTm1, weights that don't look at what is read forecast better than full attention."),
    ("full-attention", "vanilla", -1, "beside the report",
     "On ETTm1, full attention forecasts better than ProbSparse attention."),
    ("linear", "vanilla", -1, "Zeng et al. (2023)",
     "On ETTm1, a linear map forecasts better than an Informer."),
)  # fmt: skip


def _conclude_ettm1(records: Sequence[Record]) -> list[Conclusion]:
    return judge(records, _ETTM1_QUESTIONS)


ETTM1 = Experiment(
    "informer-ettm1",
    "an Informer on ETTm1, 96 quarters of an hour ahead, with steps between values and without",
    {arm: ARMS[arm] for arm in _ETTM1_ARMS},
    {
        "cpu": Size(
            {"series": "ETTm1", **asdict(replace(CPU, pred_len=96))}, (0, 1, 2), 0.5, "one CPU core"
        ),
        # Six epochs of four times as many windows.
        "full": Size(
            {"series": "ETTm1", **asdict(replace(FULL, pred_len=96, steps=1075))},
            (0, 1, 2),
            10,
            "one GPU",
        ),
    },
    _TRAIN,
    _conclude_ettm1,
)
"""Table 3 of the report, at the horizon that it names."""

# Windows, horizons and factor of the published scripts; rules and rest of the published code.
_PUBLISHED = {
    "etth1-24": ("ETTh1", 48, 48, 24, 3, 267),
    "ettm1-24": ("ETTm1", 672, 96, 24, 5, 1058),
    "ettm1-96": ("ETTm1", 384, 384, 96, 5, 1065),
}
_NAMES = ("series", "seq_len", "label_len", "pred_len", "published_factor", "steps")

PUBLISHED = Experiment(
    "informer-published",
    "the Informer as it was published, with other windows than the ablation report's",
    {arm: dict(zip(_NAMES, values, strict=True)) for arm, values in _PUBLISHED.items()},
    {
        "cpu": Size(asdict(CPU), (), 2, "one CPU core"),
        "full": Size(asdict(FULL), (0, 1, 2), 15, "one GPU"),
    },
    _TRAIN,
    lambda _: [],
)
"""Without records: a small model has nothing to say about how its errors compare."""
