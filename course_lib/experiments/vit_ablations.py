"""Losses of a vision transformer without each of its components, one at a time.

The CIFAR-10 report takes five parts out of its model and prints five drops, one run each, after
300 epochs. ``full`` is that setting. ``cpu`` is a much smaller model that sees 8,000 pictures five
times: it can show the sign of a difference early in training, not its size at the end of a long
one. ``day`` sees 20,000 pictures fifteen times, in patches of 4. All arms share the recipe, the
order of the pictures and, by the seed, what is drawn.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from statistics import mean
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention_maps import attention_distance
from course_lib.data.cifar import IMAGE_STD, PIXEL_STD, Cifar10, load_cifar10, normalise
from course_lib.experiments.provenance import Clock
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse, Record
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.vit_cifar10 import augment, make_optimizer
from course_lib.hybrid import Hybrid, HybridConfig
from course_lib.resnet import ResNet, ResNetConfig
from course_lib.training import (
    accuracy,
    count_parameters,
    fit,
    minibatches,
    seeded_generator,
    warmup_cosine,
)
from course_lib.vit import Pooling, Positions, ViT, ViTConfig

Kind = Literal["vit", "resnet", "hybrid"]


@dataclass(frozen=True)
class SeeingRun:
    """All settings of a run; what concerns another kind of network does nothing.

    Args:
        widths: Channels of each stage of a convolutional network.
        visible: Side of the upper left square that is shown of each picture; the rest is grey.
        share: Of them that is seen, more often in proportion, so that the steps stay the same.
        crop: Whether training images are shifted by up to 4 pixels, besides being flipped.
        std: What pixels are divided by: the report's mean ``"image"`` deviation or the ``"pixel"``
            deviation.
    """

    kind: Kind = "vit"  # "vit", "resnet" or "hybrid"
    patch_size: int = 4
    positions: Positions = "fixed"  # how patches are told where they stand
    pooling: Pooling = "cls"  # what the classifier reads
    residual: bool = True  # whether blocks add to what comes in
    layer_norm: bool = True  # whether there are norms
    feed_forward: bool = True  # whether blocks have a feed-forward sub-layer
    d_model: int = 400
    n_layers: int = 6
    n_heads: int = 8
    d_ff: int = 512
    dropout: float = 0.1
    widths: tuple[int, ...] = (64, 128, 256, 512)
    n_blocks: tuple[int, ...] = (2, 2, 2, 2)  # blocks of each of its stages
    visible: int = 32
    n_train: int = 50_000  # the first so many training images
    share: float = 1.0
    n_watched: int = 10_000  # the first so many test images are looked at after every epoch
    epochs: int = 300
    batch_size: int = 100
    optimizer: Literal["sgd", "adamw"] = "sgd"  # "sgd" with momentum 0.9, or "adamw"
    learning_rate: float = 0.1
    weight_decay: float = 1e-4  # of the optimiser
    warmup: float = 0.05  # share of all steps in which the learning rate rises
    crop: bool = True
    std: Literal["image", "pixel"] = "image"


CPU = SeeingRun(
    patch_size=8,
    d_model=64,
    n_layers=4,
    n_heads=4,
    d_ff=128,
    dropout=0.0,
    widths=(8, 16, 32, 64),
    n_blocks=(1, 1, 1, 1),
    n_train=8_000,
    n_watched=2_000,
    epochs=5,
    batch_size=50,
    optimizer="adamw",
    learning_rate=2e-3,
    weight_decay=0.05,
    warmup=0.1,
    crop=False,
    std="pixel",
)
FULL = SeeingRun()
# Small, but trained until the whole model gets most pictures right.
DAY = replace(
    CPU,
    patch_size=4,
    d_model=96,
    n_layers=6,
    d_ff=192,
    n_train=20_000,
    epochs=15,
    batch_size=100,
    learning_rate=1e-3,
    crop=True,
)
ARMS: dict[str, dict[str, Any]] = {
    "whole": {},
    "no-positions": {"positions": "none"},
    "one-head": {"n_heads": 1},
    "no-residual": {"residual": False},
    "no-norm": {"layer_norm": False},
    "no-ffn": {"feed_forward": False},
    "mean": {"pooling": "mean"},
    "coarse": {"patch_size": 16},
    "quarter": {"visible": 16},
}
# Small models with the report's optimiser, and with twice our learning rate.
_SGD = {name: getattr(FULL, name) for name in ("optimizer", "learning_rate", "weight_decay")}
_PARTS = "whole no-positions one-head no-residual no-norm no-ffn".split()
ARMS |= {f"{arm}-sgd": ARMS[arm] | _SGD for arm in _PARTS}
ARMS |= {f"{arm}-fast": {**ARMS[arm], "learning_rate": 4e-3} for arm in ("whole", "no-norm")}
KEPT = ("resnet",)
"""Arms whose trained weights stay beside the record of seed 0."""


def _by_layer(record: Record) -> list[float]:
    """The mean attention distance of each layer, the first one's first."""
    layers: dict[int, list[float]] = {}
    for head, distance in record.results["attention_distance"].items():
        layers.setdefault(int(head.split(".")[0]), []).append(distance)
    return [mean(distances) for _, distances in sorted(layers.items())]


QUESTIONS = from_table(
    "vit_ablations",
    {
        "70 % of the accuracy": lambda record: 0.7 * record.results["accuracy"],
        "first layer": lambda record: _by_layer(record)[0],
        "last layer": lambda record: _by_layer(record)[-1],
    },
)
"""The report's ablations, patches, pooling, and a control."""


def as_config(settings: SeeingRun) -> dict[str, Any]:
    """Settings as a record keeps them, lists in the place of tuples."""
    config: dict[str, Any] = json.loads(json.dumps(asdict(settings)))
    return config


def make_model(settings: SeeingRun, seed: int) -> nn.Module:
    """The network of a run, untrained.

    Example:
        >>> count_parameters(make_model(CPU, seed=0))
        147082
    """
    if settings.kind not in get_args(Kind):
        raise ValueError(f"kind is {settings.kind!r}, wanted one of {get_args(Kind)}")
    generator = seeded_generator(seed)
    if settings.kind == "resnet":
        network = ResNetConfig(widths=tuple(settings.widths), n_blocks=tuple(settings.n_blocks))
        return ResNet(network, generator=generator)
    if settings.kind == "hybrid":
        # The transformer with a stem and a stage of convolutions in the place of patches and of
        # its first block; as many tokens come to attention as it has patches.
        hybrid = HybridConfig(
            stem_stride=settings.patch_size // 2,
            widths=(settings.d_model // 2, settings.d_model),
            n_blocks=(1, settings.n_layers - 1),
            n_conv_stages=1,
            d_head=settings.d_model // settings.n_heads,
            dropout=settings.dropout,
        )
        return Hybrid(hybrid, generator=generator)
    return ViT(vit_config(settings), generator=generator)


def vit_config(settings: SeeingRun) -> ViTConfig:
    """Configuration of a transformer from the settings.

    Example:
        >>> vit_config(CPU).n_patches
        16
    """
    of_vit = {field.name for field in fields(ViTConfig)}
    return ViTConfig(**{name: value for name, value in vars(settings).items() if name in of_vit})


def pixel_distances(model: ViT, weights: Tensor) -> Tensor:
    """Measure how far a transformer's heads look, in pixels.

    ``weights``: as it returns them, ``(L, B, H, N, N)``. Returns distances as of
    :func:`course_lib.attention_maps.attention_distance`, ``(L, B, H)``.
    """
    side = model.config.side
    return attention_distance(
        weights, (side, side), n_prefix=model.n_prefix, patch_size=model.config.patch_size
    )


def head_distances(model: ViT, images: Tensor) -> dict[str, float]:
    """Measure how far each head looks on average, in pixels.

    ``images``: normalised, ``(B, 3, 32, 32)``. Returns a mean over images and patches that ask, for
    each ``"layer.head"``, counted from 1.
    """
    with torch.no_grad():
        _, weights = model(images, return_weights=True)
    far = pixel_distances(model, weights).mean(dim=1)  # (L, H)
    return {
        f"{layer}.{head}": round(value, 3)
        for layer, heads in enumerate(far.tolist(), 1)
        for head, value in enumerate(heads, 1)
    }


class Seeing:
    """One run on CIFAR-10, in parts that other experiments change in subclasses."""

    kept: tuple[str, ...] = ()  # arms whose trained weights stay beside the record of seed 0

    def __init__(self, job: Job, settings: SeeingRun) -> None:
        self.job, self.settings = job, settings

    def build(self) -> nn.Module:
        """The network, untrained."""
        return make_model(self.settings, self.job.seed)

    def change(self, pictures: Tensor) -> Tensor:
        """Training pictures, bytes ``(B, 3, 32, 32)``, as they are shown."""
        return pictures

    def change_test(self, pictures: Tensor) -> Tensor:
        """Test pictures as they are shown; as those of training."""
        return self.change(pictures)

    def n_test(self) -> int:
        """The first so many test pictures count at the end: all of them."""
        return 10_000

    def pictures(self, training: Cifar10, test: Cifar10) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Training pictures and classes, test pictures and classes; all bytes."""
        n_seen = round(self.settings.n_train * self.settings.share)
        return training.images[:n_seen], training.labels[:n_seen], test.images, test.labels

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """Configuration from the settings."""
        settings = self.settings
        return make_optimizer(
            model, settings.optimizer, settings.learning_rate, settings.weight_decay
        )

    def clip_norm(self) -> float | None:
        """The largest norm of the whole gradient that is left as it is, or None for any."""
        return 1.0

    def vary(self, pictures: Tensor, generator: torch.Generator) -> Tensor:
        """Training pictures, flipped and shifted anew each time."""
        return augment(pictures, generator, self.settings.crop)

    def weights(self, model: nn.Module) -> dict[str, Tensor]:
        """Kept tensors of a trained network."""
        return {name: value.cpu() for name, value in model.state_dict().items()}

    def loss(self, model: nn.Module, pictures: Tensor, labels: Tensor) -> Tensor:
        """Loss of normalised images and their classes."""
        return F.cross_entropy(model(pictures), labels)

    def measure(self, logits: Tensor, labels: Tensor) -> dict[str, float]:
        """Measures after each epoch and at the end, of test images' logits."""
        return {
            "accuracy": accuracy(logits, labels),
            "test_loss": F.cross_entropy(logits, labels).item(),
        }

    def before(self, model: nn.Module, pictures: Tensor) -> dict[str, Any]:
        """More results, of the untrained network and all normalised test pictures."""
        return {}

    def watch(self, model: nn.Module, pictures: Tensor) -> dict[str, float]:
        """More columns after each epoch, of all normalised test pictures."""
        return {}

    def after(self, model: nn.Module, pictures: Tensor, labels: Tensor) -> dict[str, Any]:
        """More results, of the trained network, the test pictures that count, and their classes."""
        return {}

    def run(self) -> Outcome:
        """Train; the accuracy is that after the last epoch, nothing was chosen by it."""
        job, settings = self.job, self.settings
        training, test = load_cifar10("train"), load_cifar10("test")
        std = PIXEL_STD if settings.std == "pixel" else IMAGE_STD
        epochs = round(settings.epochs / settings.share)
        images, labels, seen_test, test_labels = (
            part.to(job.device) for part in self.pictures(training, test)
        )

        def shown(pictures: Tensor) -> Tensor:
            made = normalise(pictures, std=std)
            made[..., settings.visible :, :] = 0
            made[..., settings.visible :] = 0
            return made

        test_images = shown(self.change_test(seen_test))
        model = self.build().to(job.device)
        model.eval()
        with torch.no_grad():
            before = self.before(model, test_images)
        optimizer = self.optimizer(model)
        total_steps = epochs * -(-len(images) // settings.batch_size)
        clock = Clock(job.device)

        def batches(epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
            generator = seeded_generator(job.seed, epoch)
            for chosen, answers in minibatches(
                images, labels, batch_size=settings.batch_size, generator=generator
            ):
                pictures = self.change(self.vary(chosen, generator))
                yield shown(pictures), answers

        def answered(n: int) -> tuple[Tensor, Tensor]:
            logits = torch.cat([model(chunk) for chunk in test_images[:n].split(500)])
            return logits, test_labels[:n]

        history = fit(
            model,
            optimizer,
            batches,
            lambda model, batch: self.loss(model, *batch),
            epochs=epochs,
            seed=job.seed,
            schedule=lambda step: warmup_cosine(
                step, total_steps=total_steps, warmup_steps=int(settings.warmup * total_steps)
            ),
            evaluate=lambda model: (
                self.measure(*answered(settings.n_watched))
                | self.watch(model, test_images)
                | clock.lap()
            ),
            clip_norm=self.clip_norm(),
            checkpoint=job.checkpoint,
            progress=job.progress,
        )
        model.eval()
        with torch.no_grad():
            n = self.n_test()
            logits, wanted = answered(n)
            results: dict[str, Any] = dict(self.measure(logits, wanted))
            results |= {"n_parameters": count_parameters(model)} | before
            results |= self.after(model, test_images[:n], test_labels[:n])
        data = [DataUse("cifar10", training.variant, training.sha256)]
        weights = None
        if job.arm in self.kept and job.seed == 0:
            text = {"config": json.dumps(asdict(settings)), "variant": training.variant}
            weights = self.weights(model), text
        items = {"correct": logits.argmax(dim=-1) == wanted}
        return Outcome(data, history, results, weights, items)


class _Distances(Seeing):
    """A run that also tells how far a transformer's heads look, before training and after it."""

    kept = KEPT

    def before(self, model: nn.Module, pictures: Tensor) -> dict[str, Any]:
        return _far("attention_distance_at_start", model, pictures)

    def after(self, model: nn.Module, pictures: Tensor, labels: Tensor) -> dict[str, Any]:
        return _far("attention_distance", model, pictures)


def _far(name: str, model: nn.Module, pictures: Tensor) -> dict[str, Any]:
    return {name: head_distances(model, pictures[:200])} if isinstance(model, ViT) else {}


@experiment(
    "vit-ablations",
    "a vision transformer on CIFAR-10 with one part at a time taken out",
    arms=ARMS,
    sizes={
        "cpu": Size(as_config(CPU), (0, 1, 2, 3, 4), 0.5, "one CPU core"),
        "day": Size(as_config(DAY), (0, 1, 2), 18, "one CPU core", step=3),
        "full": Size(as_config(FULL), (0, 1, 2), 60, "one GPU", own=True),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm, and measure how far its heads look."""
    return _Distances(job, SeeingRun(**job.config)).run()
