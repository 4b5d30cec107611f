"""Changes of a current vision transformer, one at a time, on the whole of CIFAR-10.

``vit`` is that of ``image-models``, whose data, recipe and epochs all arms have. How long patches
are behind the last block is kept, too: registers are said to keep single ones from growing long.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.attention import MultiHeadAttention, Rotate
from course_lib.experiments.image_models import DAY, RATES, ModelRun, Training
from course_lib.experiments.questions import Question, learned
from course_lib.experiments.registry import Experiment, Job, Outcome, Size
from course_lib.experiments.vit_ablations import as_config, vit_config
from course_lib.training import seeded_generator
from course_lib.vit import ViT, ViTConfig


@dataclass(frozen=True)
class CurrentRun(ModelRun):
    """All settings; ``registers`` is how many learned tokens no picture has and no answer reads."""

    rms_norm: bool = False
    qk_norm: bool = False
    registers: int = 0


class QKNormAttention(MultiHeadAttention):
    """Attention whose queries and keys have one length in each head, up to learned scales.

    Source: Dehghani et al., Scaling Vision Transformers to 22 Billion Parameters (2023), section 2,
    there by layer norms.
    """

    def __init__(self, plain: MultiHeadAttention, eps: float) -> None:
        super().__init__(plain.d_model, plain.n_heads, dropout=plain.dropout, fused=plain.fused)
        self.load_state_dict(plain.state_dict())
        self.q_norm, self.k_norm = (nn.RMSNorm(plain.d_head, eps) for _ in range(2))

    def forward(self, q: Tensor, *args: Any, rotate: Rotate | None = None, **others: Any) -> Any:
        """As :class:`MultiHeadAttention`; rotations come after the norms."""

        def change(q: Tensor, k: Tensor, offset: int) -> tuple[Tensor, Tensor]:
            # Mixed precisions would have no fused norm.
            q = self.q_norm(q.to(self.q_norm.weight.dtype)).to(q.dtype)
            k = self.k_norm(k.to(self.k_norm.weight.dtype)).to(k.dtype)
            return (q, k) if rotate is None else rotate(q, k, offset)

        return super().forward(q, *args, rotate=change, **others)


class RegisterViT(ViT):
    """A transformer with tokens to write to, which are dropped before the patches are averaged.

    Source: Darcet et al., Vision Transformers Need Registers (2024), section 2.2.
    """

    def __init__(self, config: ViTConfig, n_registers: int, generator: Generator) -> None:
        self.extra_tokens = n_registers  # which ViT reads as it is built
        super().__init__(config, generator=generator)
        self.registers = nn.Parameter(torch.empty(n_registers, config.d_model))
        nn.init.normal_(self.registers, std=0.02, generator=generator)

    def forward(self, images: Tensor, *, return_weights: bool = False) -> Any:
        """As :class:`ViT`, by the mean of the patches alone."""
        x, weights = self.encode(images, return_weights=return_weights)
        logits = self.head(x[:, self.n_prefix :].mean(dim=1))
        return logits if weights is None else (logits, weights)

    def prefix(self) -> Tensor:
        """The registers, ``(R, D)``."""
        return self.registers


def make_current(settings: CurrentRun, seed: int) -> ViT:
    """The transformer of a run, untrained; what arms share is drawn alike."""
    config, generator = vit_config(settings), seeded_generator(seed)
    n, eps = settings.registers, config.eps
    model = RegisterViT(config, n, generator) if n else ViT(config, generator=generator)
    for name, part in list(model.named_modules()):
        if settings.rms_norm and isinstance(part, nn.LayerNorm):
            model.set_submodule(name, nn.RMSNorm(config.d_model, eps))
        if settings.qk_norm and isinstance(part, MultiHeadAttention):
            model.set_submodule(name, QKNormAttention(part, eps))
    return model


def patch_norms(model: ViT, pictures: Tensor) -> dict[str, float]:
    """Lengths of patches before the last norm; shares longer than twice and 4 times the median."""
    found: list[Tensor] = []
    with (
        torch.no_grad(),
        model.norm.register_forward_pre_hook(
            lambda _, inputs: found.append(inputs[0][:, model.n_prefix :].norm(dim=-1))
        ),
    ):
        for part in pictures.split(500):
            model.encode(part)
    norms = torch.cat(found)
    median = norms.median()
    said = {"mean": norms.mean(), "median": median, "max": norms.max()}
    said |= {f"above_{n}": (norms > n * median).float().mean() for n in (2, 4)}
    return {name: value.item() for name, value in said.items()}


class _Current(Training):
    settings: CurrentRun
    kept = ()  # type: ignore[assignment]

    def build(self) -> nn.Module:
        return make_current(self.settings, self.job.seed)

    def after(self, model: nn.Module, pictures: Tensor, labels: Tensor) -> dict[str, Any]:
        assert isinstance(model, ViT)
        norms = {"patch_norms": patch_norms(model, pictures)}
        return super().after(model, pictures, labels) | norms


def _train(job: Job) -> Outcome:
    return _Current(job, CurrentRun(**job.config)).run()


ARMS: dict[str, dict[str, Any]] = {
    "vit": {},
    "rms-norm": {"rms_norm": True},
    "qk-norm": {"qk_norm": True},
    "rotary": {"positions": "axial"},
    "registers": {"registers": 4},
    "all": {"rms_norm": True, "qk_norm": True, "positions": "axial", "registers": 4},
}
_CHANGES = {
    "rms-norm": "RMSNorm in the place of layer norms",
    "qk-norm": "normalised queries and keys",
    "rotary": "rotations in the place of a learned table",
    "registers": "four registers",
    "all": "all four changes",
}
QUESTIONS = (
    *(
        Question(
            f"{arm}/vit",
            f"The transformer is more accurate with {what}.",
            "beside the CIFAR-10 report",
            arm,
            "vit",
            margin=0.01,
            differs=" ".join(sorted(ARMS[arm])),
        )
        for arm, what in _CHANGES.items()
    ),
    Question(
        "long",
        "With registers fewer patches are longer than twice the median.",
        "the paper on registers",
        "registers",
        "vit",
        "patch_norms.above_2",
        sign=-1,
        margin=0.01,
        differs="registers",
    ),
    Question(
        "learns",
        "After the last epoch the model is better than after the first.",
        "control",
        "*",
        metric=learned("accuracy"),
        minus=0.0,
    ),
)
"""Each change beside the transformer without it, what registers are for, and a control."""

_SETTINGS = as_config(CurrentRun(**vars(replace(DAY, learning_rate=RATES["vit"]))))
EXPERIMENT = Experiment(
    "vit-2026",
    "what a current vision transformer changes, one thing at a time",
    ARMS,
    {"day": Size(_SETTINGS, (0, 1, 2), 75, "one CPU core", step=6)},
    _train,
    QUESTIONS,
)
