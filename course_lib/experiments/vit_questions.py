"""Questions about a vision transformer whose answers are not in the book: assignment 13 asks them.

No records ship with the course. Whoever wants to know states a prediction, runs an arm beside
``whole`` with ``--seeds 0 1 2``, and lets the rule speak. Recipe and size are those of
``vit-ablations``.
"""

from collections.abc import Sequence

from course_lib.experiments import vit_ablations
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Conclusion, Experiment, Size
from course_lib.experiments.verdict import verdict
from course_lib.experiments.vit_ablations import CPU, FULL, as_config, paired_gains

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


def conclude(records: Sequence[Record]) -> list[Conclusion]:
    """Each arm that has been run against ``whole``, and a control."""
    made = []
    for arm in ARMS:
        gains = [] if arm == "whole" else paired_gains(records, arm, "whole")
        if gains:
            claim = f"{arm} is more accurate than whole."
            judged = verdict(gains, claimed_sign=1)
            made.append(Conclusion(claim, "a question", judged, key=f"{arm}/whole"))
    whole = [r.metrics for r in records if r.arm == "whole"]
    if whole:
        learned = [rows[-1]["accuracy"] - rows[0]["accuracy"] for rows in whole]
        claim = "After the last epoch the model is better than after the first."
        judged = verdict(learned, claimed_sign=1)
        made.append(Conclusion(claim, "control", judged, control=True, key="learns"))
    return made


EXPERIMENT = Experiment(
    "vit-questions",
    "changes to a vision transformer that nobody has tried here: run them yourself",
    ARMS,
    {
        "cpu": Size(as_config(CPU), (), 0.5, "one CPU core"),
        "full": Size(as_config(FULL), (), 60, "one GPU"),
    },
    vit_ablations.EXPERIMENT.train,
    conclude,
)
"""The experiment."""
