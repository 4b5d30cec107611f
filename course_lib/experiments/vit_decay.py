"""The CIFAR-10 report's transformer, watched while it trains: when do its heads become uniform?

All settings are those of ``vit-ablations`` at size ``full`` but for the number of epochs, which is
a tenth and the same for all, and for products in bfloat16. ``decay-0`` has no weight decay, and
``adamw`` has the optimiser that transformers are usually trained with. The other settings take out
the components that the report's section V.D names, each in one run, like there.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.attention_maps import entropy
from course_lib.experiments.dead_heads import head_norms
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.vit_ablations import ARMS as REPORT
from course_lib.experiments.vit_ablations import FULL, Seeing, SeeingRun, as_config
from course_lib.vit import ViT

ARMS: dict[str, dict[str, Any]] = {
    "whole": {},
    "decay-0": {"weight_decay": 0.0},
    "adamw": {"optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 0.05},
    **{arm: REPORT[arm] for arm in ("no-positions", "one-head", "no-residual", "no-ffn")},
}
N_MAPPED = 200  # of the test images: so many have their maps looked at


class _Watched(Seeing):
    def loss(self, model: nn.Module, pictures: Tensor, labels: Tensor) -> Tensor:
        with torch.autocast(pictures.device.type, torch.bfloat16):
            return super().loss(model, pictures, labels)

    def watch(self, model: nn.Module, pictures: Tensor) -> dict[str, float]:
        """Entropy of the heads of each layer as a share of its maximum, and norms of queries."""
        assert isinstance(model, ViT)
        _, maps = model(pictures[:N_MAPPED], return_weights=True)
        shares = entropy(maps, normalised=True).mean(dim=(1, 2))
        norms = head_norms(model)["q_proj"]
        found = {f"entropy_{i}": round(x, 6) for i, x in enumerate(shares.tolist(), 1)}
        return found | {f"norm_{i}": round(sum(n) / len(n), 5) for i, n in enumerate(norms, 1)}

    def before(self, model: nn.Module, pictures: Tensor) -> dict[str, Any]:
        return {"at_start": self.watch(model, pictures)}


@experiment(
    "vit-decay",
    "a vision transformer on CIFAR-10, its attention watched while it trains",
    arms=ARMS,
    sizes={"full": Size(as_config(replace(FULL, epochs=30)), (0,), 5, "one GPU", step=5)},
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one setting, and look at its attention after each epoch."""
    return _Watched(job, SeeingRun(**job.config)).run()
