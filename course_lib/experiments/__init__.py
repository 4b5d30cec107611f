"""Named experiments, the records they leave, and the rule that judges their conclusions."""

from course_lib.experiments import (
    contrastive,
    cost,
    extrapolation,
    favit_operators,
    informer_ablations,
    informer_series,
    no_positions,
    norm_depth,
    order_tasks,
    permutation,
    read_translation,
    read_words,
    scan_orders,
    scene_positions,
    seq2seq_bottleneck,
    vit_ablations,
    vit_cifar10,
    vit_curves,
    vit_positions,
    vit_questions,
    vit_recipe,
    vit_rivals,
    vit_study,
)
from course_lib.experiments.record import (
    DataUse,
    Record,
    RecordError,
    load_record,
    load_records,
    pair_by_seed,
    validate,
)
from course_lib.experiments.registry import Conclusion, Experiment, Size
from course_lib.experiments.runner import Bill, bill, conclusions, run
from course_lib.experiments.unattended import run_all
from course_lib.experiments.verdict import Verdict, verdict

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        contrastive.EXPERIMENT,
        cost.EXPERIMENT,
        extrapolation.EXPERIMENT,
        favit_operators.EXPERIMENT,
        informer_ablations.EXPERIMENT,
        informer_series.ETTM1,
        informer_series.HORIZONS,
        informer_series.PUBLISHED,
        no_positions.EXPERIMENT,
        norm_depth.EXPERIMENT,
        order_tasks.EXPERIMENT,
        permutation.EXPERIMENT,
        read_translation.EXPERIMENT,
        read_words.EXPERIMENT,
        scan_orders.EXPERIMENT,
        scene_positions.EXPERIMENT,
        seq2seq_bottleneck.EXPERIMENT,
        vit_ablations.EXPERIMENT,
        vit_cifar10.EXPERIMENT,
        vit_curves.EXPERIMENT,
        vit_positions.EXPERIMENT,
        vit_questions.EXPERIMENT,
        vit_recipe.EXPERIMENT,
        vit_rivals.EXPERIMENT,
        vit_study.EXPERIMENT,
    )
}
"""All experiments by name."""


def get(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        ValueError: If there is none.
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"experiments are {', '.join(EXPERIMENTS)}, got {name!r}")
    return EXPERIMENTS[name]


__all__ = [
    "EXPERIMENTS",
    "Bill",
    "Conclusion",
    "DataUse",
    "Experiment",
    "Record",
    "RecordError",
    "Size",
    "Verdict",
    "bill",
    "conclusions",
    "get",
    "load_record",
    "load_records",
    "pair_by_seed",
    "run",
    "run_all",
    "validate",
    "verdict",
]
