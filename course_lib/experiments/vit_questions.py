"""Questions about a vision transformer whose answers are not in the book: assignment 13 asks them.

No records ship with the course. Whoever wants to know states a prediction, runs an arm beside
``whole`` with ``--seeds 0 1 2``, and lets the rule speak. Recipe and size are those of
``vit-ablations``.
"""

from course_lib.experiments import vit_ablations
from course_lib.experiments.questions import Question, learned
from course_lib.experiments.registry import Experiment, Size
from course_lib.experiments.vit_ablations import CPU, FULL, as_config

ARMS: dict[str, dict[str, object]] = {
    "whole": {},
    "learned": {"positions": "learned"},
    "one-line": {"positions": "sinusoid"},
    "rotary": {"positions": "mixed"},
    "two-layers": {"n_layers": 2},
    "sixteen-heads": {"n_heads": 16},
    "narrow-ffn": {"d_ff": 32},
    "fine": {"patch_size": 4},
    "hybrid": {"kind": "hybrid"},
    "crop": {"crop": True},
    "dropout": {"dropout": 0.1},
    "no-warmup": {"warmup": 0.0},
    "sgd": {"optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 1e-4},
}


QUESTIONS = (
    *(
        Question(
            f"{arm}/whole",
            f"{arm} is more accurate than whole.",
            "a question",
            arm,
            "whole",
            margin=0.02,
            differs=" ".join(sorted(changed)),
        )
        for arm, changed in ARMS.items()
        if arm != "whole"
    ),
    Question(
        "learns",
        "After the last epoch the model is better than after the first.",
        "control",
        "whole",
        metric=learned("accuracy"),
        minus=0.0,
    ),
)
"""Each arm that has been run against ``whole``, and a control."""

EXPERIMENT = Experiment(
    "vit-questions",
    "changes to a vision transformer that nobody has tried here: run them yourself",
    ARMS,
    {
        "cpu": Size(as_config(CPU), (), 0.5, "one CPU core"),
        "full": Size(as_config(FULL), (), 60, "one GPU"),
    },
    vit_ablations.EXPERIMENT.train,
    QUESTIONS,
)
"""The experiment."""
