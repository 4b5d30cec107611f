"""Convolutions, patches and both on the whole of CIFAR-10, each with a recipe of its own.

The CIFAR-10 report's table of models comes from 300 epochs on a GPU. Here every network has at most
about an hour and a half of one processor core, but for ``resnet-long``, which takes two hours.

A learning rate that suits one network is unfair to another. So ``image-recipes`` tries some for
each, on 12,500 training pictures, and looks at 5,000 other *training* pictures; the test pictures
are not asked. The residual network is tried on 45,000. The best rate of each arm is its rate in
``image-models``, which a test holds.

Products of matrices are computed in bfloat16, weights and sums kept in float32, where the processor
has such products: an epoch then takes 0.6 of the time. Elsewhere all is float32. A record says in
``hardware`` which it was; from before that entry all are mixed.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_lib.data.cifar import PIXEL_STD, Cifar10, load_cifar10, normalise
from course_lib.experiments.fast_resnet import FastResNet
from course_lib.experiments.provenance import multiplies_bfloat16
from course_lib.experiments.questions import Question, from_table, learned
from course_lib.experiments.registry import Experiment, Job, Outcome, Size
from course_lib.experiments.vit_ablations import Seeing, SeeingRun, as_config
from course_lib.experiments.vit_cifar10 import augment
from course_lib.training import accuracy, seeded_generator


@dataclass(frozen=True)
class ModelRun(SeeingRun):
    """All settings of a run.

    ``mirrored``: pixels of the largest shift that brings in the picture's mirror image; if 0,
    shifts are by up to 4 pixels and bring in black, as in the report; ``offset_rate``: factor on
    the learning rate of what is added or multiplied by channel; ``held_out``: if above 0, so many
    training pictures, the last ones, are what is measured on, and the test pictures are left alone.
    """

    vary: bool = True  # whether training pictures are flipped and shifted
    mirrored: int = 0
    cut_out: int = 0  # side in pixels of a square that is made grey at a random place; 0 for none
    label_smoothing: float = 0.1  # share of the target that is spread over all classes
    offset_rate: float = 1.0
    held_out: int = 0


DAY = ModelRun(
    patch_size=4,
    positions="learned",
    pooling="mean",
    d_model=128,
    n_layers=6,
    n_heads=4,
    d_ff=256,
    dropout=0.0,
    n_watched=2_000,
    epochs=20,
    batch_size=125,
    optimizer="adamw",
    weight_decay=0.05,
    warmup=0.1,
    std="pixel",
)
_CONVOLUTIONS = {
    "kind": "resnet",
    "widths": [64, 256, 256],
    "epochs": 20,
    "batch_size": 250,
    "optimizer": "sgd",
    "weight_decay": 1.5e-3,
    "warmup": 0.2,
    "label_smoothing": 0.2,
    "offset_rate": 64.0,
    "mirrored": 4,
    "cut_out": 8,
}
NETWORKS: dict[str, dict[str, Any]] = {
    "resnet": _CONVOLUTIONS,
    "vit": {},
    "vit-plain": {"vary": False},
    # An epoch of it takes half as long again.
    "hybrid": {"kind": "hybrid", "epochs": 14},
}
# In steps of two; those of ``image-models`` are the best of them.
_SEARCHED: dict[str, tuple[float, ...]] = {
    "resnet": (0.2, 0.4),
    "vit": (5e-4, 1e-3, 2e-3),
    "vit-plain": (5e-4, 1e-3, 2e-3),
    "hybrid": (5e-4, 1e-3, 2e-3),
}
RATES = {"resnet": 0.4, "vit": 1e-3, "vit-plain": 1e-3, "hybrid": 2e-3}
SEARCH = replace(DAY, n_train=12_500, n_watched=5_000, epochs=4, held_out=5_000)


class Training(Seeing):
    """A run with label smoothing, and no weight decay where a weight is a factor or an offset."""

    settings: ModelRun
    kept = ("vit",)

    def build(self) -> nn.Module:
        """The network; convolutions are faster where channels lie side by side in memory."""
        if self.settings.kind == "vit":
            return super().build()
        if self.settings.kind == "resnet":
            pictures = normalise(load_cifar10("train").images[:2_000], std=PIXEL_STD)
            generator = seeded_generator(self.job.seed)
            model: nn.Module = FastResNet(pictures, self.settings.widths, generator=generator)
        else:
            model = super().build()
        return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def pictures(self, training: Cifar10, test: Cifar10) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The test pictures, or training pictures held out in their place."""
        n, held = self.settings.n_train, self.settings.held_out
        if not held:
            return super().pictures(training, test)
        if n + held > len(training):
            raise ValueError(f"n_train {n} and held_out {held} are more than {len(training)}")
        kept = slice(len(training) - held, None)
        seen = training.images[:n], training.labels[:n]
        return *seen, training.images[kept], training.labels[kept]

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """AdamW, or SGD with Nesterov's momentum; matrices and kernels decay, the rest doesn't."""
        settings = self.settings
        learned = [p for p in model.parameters() if p.requires_grad]
        rate = settings.learning_rate
        groups = [
            {"params": [p for p in learned if p.ndim > 1], "weight_decay": settings.weight_decay},
            {
                "params": [p for p in learned if p.ndim <= 1],
                "weight_decay": 0.0,
                "lr": rate * settings.offset_rate,
            },
        ]
        if settings.optimizer == "sgd":
            return torch.optim.SGD(groups, rate, momentum=0.85, nesterov=True)
        return torch.optim.AdamW(groups, rate)

    def clip_norm(self) -> float | None:
        """None for SGD: it steps by the gradient's size, and 1 cuts convolutions' early steps."""
        return None if self.settings.optimizer == "sgd" else super().clip_norm()

    def vary(self, pictures: Tensor, generator: torch.Generator) -> Tensor:
        """Flipped, shifted and cut out, or as they are."""
        settings = self.settings
        if not settings.vary:
            return pictures
        if settings.mirrored:
            flipped = augment(pictures, generator, crop=False)
            pictures = _shifted(flipped, settings.mirrored, generator)
        else:
            pictures = super().vary(pictures, generator)
        return _cut_out(pictures, settings.cut_out, generator) if settings.cut_out else pictures

    def loss(self, model: nn.Module, pictures: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy with label smoothing, of logits in mixed precision where that is faster."""
        smoothing, kind = self.settings.label_smoothing, pictures.device.type
        mixed = multiplies_bfloat16(pictures.device)
        # On a processor, the fused attention's way back takes longer than plain products do in
        # bfloat16, and less long in float32.
        plain = sdpa_kernel(SDPBackend.MATH) if mixed and kind == "cpu" else nullcontext()
        with torch.autocast(kind, torch.bfloat16, enabled=mixed), plain:
            logits = model(pictures)
        return F.cross_entropy(logits.float(), labels, label_smoothing=smoothing)

    def after(self, model: nn.Module, pictures: Tensor, labels: Tensor) -> dict[str, Any]:
        """The accuracy of the mean over a picture and its mirror image, if mirrored ones are seen.

        Source: Jordan, 94% on CIFAR-10 in 3.29 Seconds on a Single GPU (2024), section 3.
        """
        if not self.settings.vary:
            return {}
        logits = [model(chunk) + model(chunk.flip(-1)) for chunk in pictures.split(500)]
        return {"mirrored_accuracy": accuracy(torch.cat(logits), labels)}

    def weights(self, model: nn.Module) -> dict[str, Tensor]:
        """In half precision."""
        return {name: value.half() for name, value in super().weights(model).items()}


def _shifted(pictures: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Each picture ``(B, 3, H, W)`` shifted by up to ``most`` pixels, mirrored at the edges."""
    n, _, height, width = pictures.shape
    down, right = torch.randint(2 * most + 1, (2, n, 1), generator=generator).to(pictures.device)
    padded = F.pad(pictures.float(), (most,) * 4, mode="reflect").byte()
    rows = down + torch.arange(height, device=pictures.device)
    columns = right + torch.arange(width, device=pictures.device)
    batch = torch.arange(n, device=pictures.device).view(n, 1, 1)
    # Two index tensors around a slice: channels come last.
    return padded[batch, :, rows.unsqueeze(2), columns.unsqueeze(1)].movedim(-1, 1)


def _cut_out(pictures: Tensor, side: int, generator: torch.Generator) -> Tensor:
    """Pictures without a square each, which becomes grey.

    Source: DeVries and Taylor, Improved Regularization of Convolutional Neural Networks with Cutout
    (2017), section 3; here squares lie whole in the picture. ``pictures``: bytes ``(B, 3, H, W)``.
    Returns bytes ``(B, 3, H, W)``.
    """
    inside = []
    for size in pictures.shape[2:]:
        first = torch.randint(size - side + 1, (len(pictures), 1), generator=generator)
        place = torch.arange(size)
        inside.append((place >= first) & (place < first + side))
    square = inside[0].unsqueeze(2) & inside[1].unsqueeze(1)
    return pictures.masked_fill(square.unsqueeze(1).to(pictures.device), 128)


def _train(job: Job) -> Outcome:
    return Training(job, ModelRun(**job.config)).run()


_REPORT = "the CIFAR-10 report"
_RECIPE = (
    "batch_size cut_out kind label_smoothing learning_rate mirrored offset_rate optimizer warmup "
    "weight_decay"
)
# `learned` belongs to what the digests of records are made of.
QUESTIONS = from_table("image_models", {"learned accuracy": learned("accuracy")})
"""The table of models, and a control."""


def _model_arms() -> dict[str, dict[str, Any]]:
    arms = {name: {**arm, "learning_rate": RATES[name]} for name, arm in NETWORKS.items()}
    # With the transformer's recipe, whose rate suits it and not them: one thing differs.
    matched = {
        f"{name}-matched": {**network, "learning_rate": RATES["vit"]}
        for name, network in (
            ("resnet", {"kind": "resnet", "widths": _CONVOLUTIONS["widths"]}),
            ("hybrid", {"kind": "hybrid"}),
        )
    }
    return {**arms, **matched, "resnet-long": {**arms["resnet"], "epochs": 40}}


_PLANNED = tuple(name for name in _model_arms() if name != "resnet-long")
EXPERIMENT = Experiment(
    "image-models",
    "a residual network, vision transformers and a hybrid on the whole of CIFAR-10",
    _model_arms(),
    # Runs of twice the time are beside the report's table: run when asked for.
    {"day": Size(as_config(DAY), (0, 1, 2), 75, "one CPU core", step=2, arms=_PLANNED)},
    _train,
    QUESTIONS,
)


_SHARES = {1: 0.02, 5: 0.1, 20: 0.4, 50: 1.0}


def _curve_arms() -> dict[str, dict[str, Any]]:
    # As many steps for all: fewer pictures are seen more often.
    shared = {"epochs": 5, "widths": [40, 160, 160]}
    return {
        f"{name}-{n}": {
            **NETWORKS[name],
            "learning_rate": RATES[name],
            "share": share,
            **shared,
            # 250 short epochs: looking at 2,000 pictures after each would take 2/5 of the time.
            **({"n_watched": 200} if n == 1 else {}),
        }
        for name in ("resnet", "vit")
        for n, share in _SHARES.items()
    }


def _curve_question(thousand: int) -> Question:
    document = _REPORT if thousand < 50 else "beside the CIFAR-10 report"
    arms = f"resnet-{thousand}", f"vit-{thousand}"
    claim = f"On {thousand},000 pictures the convolutional network with its recipe leads."
    return Question("/".join(arms), claim, document, *arms, margin=0.01, differs=_RECIPE)


CURVE = Experiment(
    "image-data-curve",
    "a residual network and a vision transformer on 1, 5, 20 and 50 thousand pictures",
    _curve_arms(),
    {"day": Size(as_config(DAY), (0, 1, 2), 17, "one CPU core", step=5)},
    _train,
    (
        *map(_curve_question, _SHARES),
        Question(
            "gap",
            "With 50 times the pictures the convolutional network's recipe leads by less.",
            _REPORT,
            "resnet-1",
            "vit-1",
            beyond=("resnet-50", "vit-50"),
            margin=0.02,
            differs=f"{_RECIPE} share",
        ),
        Question(
            "vit-50/vit-1",
            "More pictures make the transformer more accurate.",
            "control",
            "vit-50",
            "vit-1",
            differs="share",
        ),
    ),
)
"""One curve of accuracy over the number of pictures, for two networks of about as many weights."""


def _recipe_arms() -> dict[str, dict[str, Any]]:
    short = {"epochs": SEARCH.epochs}
    long = {"n_train": 45_000}
    return {
        f"{name}-{i}": {**arm, **(long if name == "resnet" else short), "learning_rate": rate}
        for name, arm in NETWORKS.items()
        for i, rate in enumerate(_SEARCHED[name])
    }


RECIPES = Experiment(
    "image-recipes",
    "learning rates for each of these networks, judged on held-out training pictures",
    _recipe_arms(),
    {"day": Size(as_config(SEARCH), (0,), 4, "one CPU core", step=1)},
    _train,
)
"""The search for the learning rates of ``image-models``; it concludes nothing."""
