"""Named experiments, the records they leave, and the rule that judges their conclusions."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import course_lib
from course_lib.experiments.questions import Conclusion, Question, conclusions
from course_lib.experiments.reach import Settled, settle
from course_lib.experiments.record import (
    DataUse,
    Record,
    RecordError,
    load_record,
    load_records,
    measured,
    pack_records,
    pair_by_seed,
    unpack_items,
    validate,
)
from course_lib.experiments.registry import Experiment, Size
from course_lib.experiments.runner import Bill, bill, run, stale
from course_lib.experiments.unattended import run_all
from course_lib.experiments.verdict import Verdict, verdict
from course_lib.experiments.verify import verify
from grader.base.errors import Refused

_NAMES = (
    "contrastive cost extrapolation favit-operators image-data-curve image-models image-recipes "
    "informer-ablations informer-ettm1 informer-horizons informer-oil informer-published "
    "informer-report informer-tokens no-positions norm-depth order-tasks permutation "
    "read-translation read-words scan-orders scene-positions seq2seq-bottleneck translator "
    "translator-korean vit-2026 vit-ablations vit-cifar10 vit-curves vit-positions "
    "vit-questions vit-recipe vit-rivals vit-study writer writer-blocks writer-positions "
    "writer-reward writer-scaling"
).split()
# A module has the name of its experiment, which is called EXPERIMENT there; but for these.
_SHARED = {
    "image-data-curve": ("image_models", "CURVE"),
    "image-recipes": ("image_models", "RECIPES"),
    "vit-cifar10": ("vit_positions", "REPORT"),
    **{
        f"informer-{part}": ("informer_series", part.upper())
        for part in ("ettm1", "horizons", "published", "tokens")
    },
}


class _Experiments(Mapping[str, Experiment]):
    """By name; a module is imported when its experiment is asked for, and no sooner."""

    def __getitem__(self, name: str) -> Experiment:
        if name not in _NAMES:
            raise KeyError(name)
        module, attribute = _SHARED.get(name, (name.replace("-", "_"), "EXPERIMENT"))
        experiment: Experiment = getattr(import_module(f"{__name__}.{module}"), attribute)
        return experiment

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


# Beside the package, in a checkout.
SHIPPED_RESULTS = Path(course_lib.__file__).parents[1] / "book" / "results"

EXPERIMENTS: Mapping[str, Experiment] = _Experiments()
"""All experiments by name."""


def get(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise Refused(f"no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def decided(
    name: str, key: str, size: str = "cpu", results_dir: Path = SHIPPED_RESULTS
) -> Conclusion:
    """One conclusion of an experiment, by the rule and its controls.

    Example:
        >>> decided("no-positions", "collapse").verdict.outcome
        'fails'
    """
    found = conclusions(get(name), load_records(results_dir, name), size)
    for conclusion in found:
        if conclusion.key == key:
            return conclusion
    raise Refused(
        f"the records of {name} ({size}) in {results_dir} decide"
        f" {', '.join(c.key for c in found) or 'nothing'}, not {key!r}: `course run {name}`"
    )


def settled(name: str, key: str, results_dir: Path = SHIPPED_RESULTS) -> Settled:
    """Conclusion of all sizes on one of an experiment's questions; arguments as above."""
    what = get(name)
    for found in settle(what, load_records(results_dir, name)):
        if found.question.key == key:
            return found
    raise Refused(f"no record of {name} in {results_dir} is about {key!r}: `course run {name}`")
