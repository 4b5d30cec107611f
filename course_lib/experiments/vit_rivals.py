"""A vision transformer and a convolutional network, on few images and on five times more.

The CIFAR-10 report says that transformers underperform a ResNet where data are limited. All arms
take the same number of steps with the same recipe; ``-few`` arms see a fifth of the pictures five
times as often.
"""

import json
from dataclasses import replace
from pathlib import Path

from safetensors import safe_open
from torch import nn

import course_lib
from course_lib.experiments import vit_ablations
from course_lib.experiments.questions import from_table
from course_lib.experiments.registry import Experiment, Size
from course_lib.experiments.vit_ablations import CPU, FULL, SeeingRun, as_config

RESULTS = Path(course_lib.__file__).parents[1] / "book" / "results"
ARMS = {
    f"{kind}{suffix}": {"kind": kind, "share": share}
    for suffix, share in (("", 1.0), ("-few", 0.2))
    for kind in ("vit", "resnet")
}
QUESTIONS = from_table("vit_rivals")
"""Questions: which network leads on few images, whether more close the gap, and a control."""

EXPERIMENT = Experiment(
    "vit-rivals",
    "transformer and convolutional network on few images and on more",
    ARMS,
    {
        "cpu": Size(
            as_config(replace(CPU, n_train=5_000, epochs=4)), tuple(range(5)), 0.5, "one CPU core"
        ),
        "full": Size(as_config(FULL), (0, 1, 2), 60, "one GPU", own=True),
    },
    vit_ablations.EXPERIMENT.train,
    QUESTIONS,
)
"""The experiment."""


def load_trained(path: Path) -> tuple[nn.Module, str]:
    """The network that a run has kept, for evaluation, and its variant of CIFAR-10."""
    with safe_open(path, framework="pt") as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}
        text = file.metadata()
    network = vit_ablations.make_model(SeeingRun(**json.loads(text["config"])), seed=0)
    network.load_state_dict(weights)
    return network.eval(), text["variant"]


KEPT_RESNET = RESULTS / "vit-rivals" / "resnet-cpu-0.safetensors"
"""The convolutional network of seed 0, trained on 5,000 images."""
