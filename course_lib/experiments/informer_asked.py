"""What is asked of the Informer's arms on ETTh1, and the form that all questions on series have."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from course_lib.experiments.questions import Question

_REPORT = "the ablation report"
MARGIN = 0.05
"""A tenth of what the report prints for its unchanged model, in either error."""


def compare(
    arm: str,
    other: str,
    sign: int,
    document: str,
    claim: str,
    fresh: Sequence[int] = (),
    **more: Any,
) -> tuple[Question, Question]:
    """Ask for the squared and for the absolute error over all test windows.

    ``sign``: whether the claimed error is larger (1) or smaller (-1). Returns a question for each
    error; those about the absolute one are a family of their own.
    """
    squared = Question(
        f"{arm}/{other}", claim, document, arm, other, "mse", sign=sign, margin=MARGIN,
        items="mse", block=24, fresh=fresh, **more,
    )  # fmt: skip
    said = f"{claim.rstrip('.')}, by absolute error."
    return squared, replace(
        squared, key=f"{arm}/{other}, mae", claim=said, metric="mae", items="mae",
        family="absolute errors",
    )  # fmt: skip


def beats_last_value(arm: str, other: str) -> Question:
    """The control: a trained model against the last value."""
    claim = "An Informer beats the last value."
    return Question(
        f"{arm}/{other}", claim, "control", arm, other, "mse", sign=-1, differs="attention forecast"
    )


_BESIDE = "beside the ablation report"
# The runs of full attention are in many questions: these get them in two parts, so that one lucky
# run does not decide all.
_FIRST, _SECOND, _THIRD = range(10, 30), range(30, 50), range(50, 65)
# Of those whose margin, or which themselves, are younger than the seeds that closed them.
_FOURTH = range(65, 75)
QUESTIONS = (
    *compare("delta-values", "full-attention", 1, _REPORT,
             "Steps between values don't replace positions and times.",
             differs="delta_value positions time"),
    *compare("delta-times", "full-attention", 1, _REPORT,
             "Steps between values don't replace positions where the calendar is kept.", _FIRST,
             differs="delta_value positions"),
    *compare("delta", "full-attention", -1, _REPORT,
             "Beside all embeddings, steps between values make forecasts better.", _FIRST,
             differs="delta_value"),
    *compare("delta-deep", "full-attention", -1, _REPORT,
             "Steps between values and a deep MLP make forecasts better.", _FIRST,
             differs="delta_value ff_depth"),
    *compare("delta-deep", "deep", -1, _BESIDE,
             "With a deep MLP on both sides, steps between values make forecasts better.", _FOURTH,
             differs="delta_value"),
    *compare("legendre", "full-attention", 1, _REPORT,
             "Legendre positions forecast worse than sinusoidal ones.", _SECOND,
             differs="positions"),
    *compare("legendre-delta", "full-attention", 1, _REPORT,
             "Legendre positions with steps between values forecast worse than sinusoidal ones.",
             _SECOND, differs="delta_value positions"),
    *compare("legendre-delta", "legendre", -1, _REPORT,
             "Beside Legendre positions, steps between values make forecasts better.", _SECOND,
             differs="delta_value"),
    *compare("legendre-even", "legendre", -1, _BESIDE,
             "Legendre positions that are equally strong forecast better than those that fade.",
             differs="normalise_positions"),
    *compare("legendre-basis", "full-attention", 1, _BESIDE,
             "With orders for channels, Legendre positions forecast worse than sinusoidal ones.",
             differs="positions"),
    *compare("cross", "every-layer", 1, _REPORT,
             "The two cross terms alone forecast worse than all four.", _THIRD, differs="terms"),
    *compare("cross-even", "every-layer-even", 1, _BESIDE,
             "At the same temperature the two cross terms alone forecast worse than all four.",
             _FOURTH, differs="terms"),
    *compare("position-only", "every-layer", 1, _REPORT,
             "The position-position term alone forecasts worse than all four.", _THIRD,
             differs="terms"),
    *compare("position-only", "every-layer-even", 1, _BESIDE,
             "At the same temperature the position-position term alone forecasts worse than all "
             "four.", _FOURTH, differs="rescale_terms terms", asked="2026-11-21T19:23:58+00:00"),
    *compare("no-positions", "full-attention", 1, _REPORT,
             "Without positions forecasts are worse.", _SECOND, differs="positions"),
    *compare("no-positions-sparse", "vanilla", 1, _REPORT,
             "With ProbSparse attention, too, forecasts without positions are worse.",
             differs="positions"),
    *compare("rotary", "full-attention", -1, _REPORT,
             "Rotary positions forecast better than sinusoidal ones.", differs="positions"),
    *compare("relative", "full-attention", -1, _REPORT,
             "Relative positions forecast better than sinusoidal ones.", differs="positions"),
    *compare("every-layer", "full-attention", -1, _BESIDE,
             "Positions in every layer forecast better than positions added once.",
             differs="positions_at"),
    *compare("full-attention", "vanilla", -1, _BESIDE,
             "Full attention forecasts better than ProbSparse attention.", differs="attention"),
    *compare("linear", "vanilla", -1, "Zeng et al. (2023)",
             "A linear map forecasts better than an Informer.", differs="attention forecast"),
    beats_last_value("vanilla", "repeat-last"),
)  # fmt: skip
