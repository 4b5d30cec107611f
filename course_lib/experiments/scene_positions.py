"""Three questions about scenes: what, where and left of; positions and finer grids.

A small transformer answers three questions about generated pictures of 32 x 32 pixels, told by four
schemes where its patches stand, or by none, and is then shown pictures of 48 x 48. Learned
positions are resampled; formulas and rotations simply go on. The sequence-and-space essay says that
position helps with places and hardly matters for classes.
"""

import hashlib
from typing import Any

import torch

from course_lib.experiments.provenance import Clock
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.training import count_parameters, seeded_generator
from course_lib.vit import answers_right, red_scenes, train_on_scenes

ARMS: dict[str, dict[str, Any]] = {
    name: {"positions": name} for name in ("none", "learned", "fixed", "axial", "mixed")
}
_ESSAY, _SMALL, _LARGE = "the sequence-and-space essay", "at_32", "at_48"
QUESTIONS = from_table("scene_positions")
"""Questions with and without positions, schemes on a finer grid, and a control."""


@experiment(
    "scene-positions",
    "three questions about generated pictures, by position scheme, at 32 and at 48 pixels",
    arms=ARMS,
    sizes={
        "cpu": Size(
            {"n_train": 3_000, "n_test": 500, "steps": 250}, (0, 1, 2, 3, 4), 0.2, "one CPU core"
        ),
        "day": Size(
            {"n_train": 3_000, "n_test": 2_000, "steps": 2_000},
            (10, 11, 12, 13, 14),
            1,
            "one CPU core",
            step=7,
        ),
        "full": Size(
            {"n_train": 50_000, "n_test": 10_000, "steps": 20_000}, (0, 1, 2), 10, "one GPU"
        ),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one model on scenes of 32 x 32; it is asked again about larger ones."""
    config = job.config
    scenes = red_scenes(config["n_train"], seeded_generator(job.seed, 0), size=32)
    test = red_scenes(config["n_test"], seeded_generator(job.seed, 1), size=32)
    larger = red_scenes(config["n_test"], seeded_generator(job.seed, 2), size=48)
    clock = Clock(torch.device("cpu"))
    model = train_on_scenes(scenes, config["positions"], steps=config["steps"], seed=job.seed)
    at_32, at_48 = answers_right(model, test), answers_right(model.resized(48), larger)
    row = {"epoch": 1, "accuracy": sum(at_32.values()) / len(at_32)} | clock.lap()
    results = {_SMALL: at_32, _LARGE: at_48, "n_parameters": count_parameters(model)}
    digest = hashlib.sha256(scenes.answers.numpy().tobytes()).hexdigest()
    data = [DataUse("scenes", f"two shapes, one red, seed {job.seed}", digest)]
    return Outcome(data, [row], results)
