"""A vision transformer and a convolutional network, on few images and on five times more.

The CIFAR-10 report says that transformers underperform a ResNet where data are limited. All arms
take the same number of steps with the same recipe; ``-few`` arms see a fifth of the pictures five
times as often.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from safetensors import safe_open
from torch import nn

import course_lib
from course_lib.experiments import vit_ablations
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Conclusion, Experiment, Size
from course_lib.experiments.verdict import verdict
from course_lib.experiments.vit_ablations import CPU, FULL, SeeingRun, as_config, paired_gains

RESULTS = Path(course_lib.__file__).parents[1] / "book" / "results"
ARMS = {
    f"{kind}{suffix}": {"kind": kind, "share": share}
    for suffix, share in (("", 1.0), ("-few", 0.2))
    for kind in ("vit", "resnet")
}


def conclude(records: Sequence[Record]) -> list[Conclusion]:
    """Who leads on few images, whether more images close the gap, and a control."""
    report = "the CIFAR-10 report"
    few = paired_gains(records, "resnet-few", "vit-few")
    many = paired_gains(records, "resnet", "vit")
    more = paired_gains(records, "vit", "vit-few")
    made = []
    if few:
        claim = "On few images a transformer is less accurate than a convolutional network."
        made.append(Conclusion(claim, report, verdict(few, claimed_sign=1), key="few"))
    if few and len(few) == len(many):
        shrink = [a - b for a, b in zip(few, many, strict=True)]
        claim = "With five times the images the convolutional network's lead is smaller."
        made.append(Conclusion(claim, report, verdict(shrink, claimed_sign=1), key="gap"))
    if more:
        claim = "Five times the images make the transformer more accurate."
        judged = verdict(more, claimed_sign=1)
        made.append(Conclusion(claim, "control", judged, control=True, key="more"))
    return made


EXPERIMENT = Experiment(
    "vit-rivals",
    "transformer and convolutional network on few images and on more",
    ARMS,
    {
        "cpu": Size(
            as_config(replace(CPU, n_train=5_000, epochs=4)), tuple(range(5)), 0.5, "one CPU core"
        ),
        "full": Size(as_config(FULL), (0, 1, 2), 60, "one GPU"),
    },
    vit_ablations.EXPERIMENT.train,
    conclude,
)
"""The experiment."""


def load_trained(path: Path) -> tuple[nn.Module, str]:
    """Load the network that a run has kept beside its record.

    Args:
        path: The ``.safetensors`` file.

    Returns:
        The network in evaluation mode, and the variant of CIFAR-10 that it was trained on.

    Example:
        >>> network, variant = load_trained(KEPT_RESNET)
        >>> type(network).__name__, variant
        ('ResNet', 'CIFAR-10 (JPEG copy)')
    """
    with safe_open(path, framework="pt") as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}
        text = file.metadata()
    network = vit_ablations.make_model(SeeingRun(**json.loads(text["config"])), seed=0)
    network.load_state_dict(weights)
    return network.eval(), text["variant"]


KEPT_RESNET = RESULTS / "vit-rivals" / "resnet-cpu-0.safetensors"
"""The convolutional network of seed 0, trained on 5,000 images."""
