"""FaViT with six ways to fuse its windows, and Swin beside it.

The ablation report compares five operators on FaViT-B0 and CIFAR-100 enlarged to 224 x 224, one run
of 300 epochs each, and takes 1.87 points between two of them for progress. ``full`` is that
setting, but on CIFAR-10, which is what this course can load. ``cpu`` is a model of two stages for
32 x 32 pixels that sees 2,500 pictures three times. ``released`` is the mean as the official
release computes it. ``swin`` has about as many parameters and multiplications as ``mean``.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from course_lib.experiments.questions import from_table
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.vit_ablations import CPU, FULL, Seeing, SeeingRun, as_config
from course_lib.favit import FaViT, FaViTConfig, Operator
from course_lib.swin import Swin, SwinConfig
from course_lib.training import seeded_generator


@dataclass(frozen=True)
class FusionRun(SeeingRun):
    """All settings of a run; those of other kinds of networks do nothing.

    ``stage_widths``: width of each stage of FaViT; Swin has the first and doubles it;
    ``mlp_ratios``: hidden width of each stage's feed-forward sub-layers, in units of its width;
    Swin has the last for all.
    """

    family: Literal["favit", "swin"] = "favit"
    operator: Operator = "mean"  # how FaViT fuses windows, as in CrossWindow
    pool_channels: bool = False  # whether its mean is over neighbouring channels, as released
    image_size: int = 224  # side to which pictures are enlarged
    stage_widths: tuple[int, ...] = (32, 64, 128, 256)
    depths: tuple[int, ...] = (2, 2, 6, 2)  # blocks of each stage of FaViT
    swin_depths: tuple[int, ...] = (2, 2, 2, 2)  # blocks of each stage of Swin
    stage_heads: tuple[int, ...] = (1, 2, 4, 8)  # heads of each stage
    mlp_ratios: tuple[int, ...] = (8, 6, 4, 4)
    reductions: tuple[int, ...] = (8, 4, 2, 1)  # reduction of each stage of FaViT
    window: int = 7  # samples along a side of FaViT's windows
    swin_window: int = 7  # side of Swin's windows
    n_test: int = 10_000  # the first so many test images count at the end


def _run(settings: SeeingRun, **changes: Any) -> FusionRun:
    shared = {field.name: getattr(settings, field.name) for field in fields(SeeingRun)}
    return FusionRun(**(shared | changes))


_CPU = _run(
    replace(CPU, n_train=2_500, n_watched=500, epochs=3),
    image_size=32,
    stage_widths=(32, 64),
    depths=(1, 2),
    swin_depths=(2, 2),
    stage_heads=(2, 4),
    mlp_ratios=(2, 2),
    reductions=(2, 1),
    window=2,
    swin_window=4,
    n_test=2_000,
)
# Four times the weights, eight times the pictures, four times as often.
_DAY = replace(
    _CPU, stage_widths=(64, 128), n_train=20_000, epochs=12, batch_size=100, n_test=10_000
)
_FULL = _run(
    replace(
        FULL,
        optimizer="adamw",
        learning_rate=1e-3,
        weight_decay=0.05,
        batch_size=128,
        warmup=1 / 30,
    )
)
ARMS: dict[str, dict[str, Any]] = {
    "pointwise": {"operator": "pointwise"},
    "linear": {"operator": "linear"},
    "mean": {},
    "max": {"operator": "max"},
    "prob-sparse": {"operator": "prob_sparse"},
    "released": {"pool_channels": True},
    "swin": {"family": "swin"},
}
QUESTIONS = from_table("favit_operators")
"""The report's order of operators, Swin, and a control."""


def make_fusing(settings: FusionRun, seed: int) -> nn.Module:
    """The network of a run, untrained."""
    generator = seeded_generator(seed)
    if settings.family == "favit":
        favit = FaViTConfig(
            image_size=settings.image_size,
            n_classes=10,
            widths=tuple(settings.stage_widths),
            depths=tuple(settings.depths),
            n_heads=tuple(settings.stage_heads),
            mlp_ratios=tuple(settings.mlp_ratios),
            reductions=tuple(settings.reductions),
            window=settings.window,
            operator=settings.operator,
            pool_channels=settings.pool_channels,
            dropout=settings.dropout,
            drop_path=0.0,
        )
        model = FaViT(favit, generator=generator)
        # Drawn weights of an operator, which begins as the mean anyway, have moved those that were
        # drawn after them; all arms shall share what they can.
        mean = FaViT(
            replace(favit, operator="mean", pool_channels=False), generator=seeded_generator(seed)
        )
        model.load_state_dict(mean.state_dict(), strict=False)
        return model
    if settings.family != "swin":
        raise ValueError(f"family is {settings.family!r}, wanted 'favit' or 'swin'")
    swin = SwinConfig(
        image_size=settings.image_size,
        n_classes=10,
        d_model=settings.stage_widths[0],
        depths=tuple(settings.swin_depths),
        n_heads=tuple(settings.stage_heads),
        window=settings.swin_window,
        mlp_ratio=settings.mlp_ratios[-1],
        dropout=settings.dropout,
        drop_path=0.0,
    )
    return Swin(swin, generator=generator)


def multiplications(model: nn.Module, image_size: int) -> int:
    """Multiplications of matrix products and convolutions for one picture."""
    device = next(model.parameters()).device
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(1, 3, image_size, image_size, device=device))
    return int(counter.get_total_flops() // 2)


class Fusing(Seeing):
    """A run of FaViT or Swin, on pictures that may be enlarged."""

    settings: FusionRun

    def build(self) -> nn.Module:
        """The network, which enlarges pictures by itself."""
        return _Enlarged(make_fusing(self.settings, self.job.seed), self.settings.image_size)

    def n_test(self) -> int:
        """As the settings say."""
        return self.settings.n_test

    def before(self, model: nn.Module, pictures: Tensor) -> dict[str, Any]:
        """Multiplications of the network for an image."""
        assert isinstance(model, _Enlarged)
        return {"multiplications": multiplications(model.network, self.settings.image_size)}


class _Enlarged(nn.Module):
    def __init__(self, network: nn.Module, side: int) -> None:
        super().__init__()
        self.network, self.side = network, side

    def forward(self, pictures: Tensor) -> Tensor:
        if pictures.shape[-1] != self.side:
            pictures = F.interpolate(pictures, self.side, mode="bilinear", antialias=True)
        logits: Tensor = self.network(pictures)
        return logits


@experiment(
    "favit-operators",
    "FaViT with six ways to fuse windows, and Swin, on CIFAR-10",
    arms=ARMS,
    sizes={
        "cpu": Size(as_config(_CPU), (0, 1, 2, 3, 4), 0.2, "one CPU core"),
        "day": Size(as_config(_DAY), (0, 1, 2), 15, "one CPU core", step=7),
        "full": Size(as_config(_FULL), (0, 1, 2), 600, "one GPU", own=True),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm."""
    return Fusing(job, FusionRun(**job.config)).run()
