"""Exercise ``vit.vit_size``."""

import math
from typing import Any

import torch
from torch import nn

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial, Wrong
from course_lib.vit import ViTConfig, vit_costs


def reference(
    image_size: int,
    patch_size: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
    n_layers: int,
    n_classes: int = 10,
    learned: bool = True,
    pooling: str = "cls",
) -> tuple[int, int]:
    """Parameters, and multiplications for one image."""
    config = ViTConfig(
        image_size=image_size,
        patch_size=patch_size,
        d_model=d_model,
        d_ff=d_ff,
        n_layers=n_layers,
        n_classes=n_classes,
        n_heads=n_heads,
        positions="learned" if learned else "none",
        pooling="cls" if pooling == "cls" else "mean",
    )
    parameters, multiplications = vit_costs(config)
    return parameters, multiplications


exercise = Exercise(
    id="vit.vit_size",
    function="vit_size",
    reference=reference,
    points=5,
    minutes=25,
    difficulty=3,
    chapter="12_vit.html#vit-count",
    outcomes=("vit.count",),
    severe={
        "grey": "both numbers of every model with colours are wrong",
        "biases_forgotten": "every number of parameters is wrong",
        "no_last_norm": "every number of parameters is wrong",
    },
    returns=("the number of parameters", "the number of multiplications"),
    example=lambda t: (8, 4, 6, 2, 12, 2),
)


def _sizes(t: Trial) -> tuple[int, int, int, int, int]:
    """Image, patch, width, heads and hidden width that nobody would guess."""
    patch = t.integer(3, 5)
    return patch * t.integer(3, 5), patch, 4 * t.integer(5, 10), 4, t.integer(60, 99)


def _one_of_two(t: Trial, which: int, *arguments: int, **more: Any) -> None:
    """Expect one of the two numbers to be right."""
    found = t.call(*arguments, **more)
    if not isinstance(found, (list, tuple)) or len(found) != 2:
        raise Wrong("wanted two whole numbers: parameters, multiplications")
    want = t.want(*arguments, **more)[which]
    t.close(found[which], want, t.exercise.returns[which], note=f"called with {arguments}, {more}")


@exercise.prop(
    "parameters of a model that has no table of positions and reads the mean of its patches",
    points=1.5,
    hint="Build `nn.TransformerEncoderLayer(6, 2, 12)` and list its parameters. What else is there,"
    " before the blocks and behind them?",
)
def parameters(t: Trial) -> None:
    for n_layers in (1, t.integer(2, 7)):
        _one_of_two(t, 0, *_sizes(t), n_layers, learned=False, pooling="mean")
    _one_of_two(t, 0, *_sizes(t), 2, t.integer(20, 90), learned=False, pooling="mean")


@exercise.prop(
    "parameters of class token and learned table, which has a row for every token",
    points=1,
    hint="How many tokens are there with a class token, and how many without?",
)
def tokens(t: Trial) -> None:
    _one_of_two(t, 0, *_sizes(t), 3)
    _one_of_two(t, 0, *_sizes(t), 3, learned=False)
    _one_of_two(t, 0, *_sizes(t), 3, pooling="mean")


@exercise.prop(
    "multiplications of a model that reads the mean of its patches",
    points=1,
    hint="A matrix (m, n) times a matrix (n, p) is m n p multiplications. List the products of a"
    " block: which of them grow with the square of the tokens?",
)
def multiplications(t: Trial) -> None:
    for n_layers in (1, t.integer(2, 7)):
        _one_of_two(t, 1, *_sizes(t), n_layers, pooling="mean")


@exercise.prop(
    "multiplications with a class token",
    points=0.5,
    hint="The class token goes through the blocks like the others. Is it made of pixels, too?",
)
def with_class(t: Trial) -> None:
    _one_of_two(t, 1, *_sizes(t), 2)
    _one_of_two(t, 1, *_sizes(t), 2, t.integer(20, 90))


@exercise.prop(
    "whole numbers, the same for any number of heads; and those of three models with a name",
    points=1,
    hint="Heads cut the width into pieces. Does that add a weight, or a multiplication?",
)
def named(t: Trial) -> None:
    image, patch, d_model, _, d_ff = _sizes(t)
    for n_heads in (1, 2, d_model):
        t.same(image, patch, d_model, n_heads, d_ff, 2)
    t.same(224, 16, 192, 3, 768, 12, 1000, note="ViT-Ti/16")
    t.same(224, 16, 768, 12, 3072, 12, 1000, note="ViT-B/16")
    t.same(32, 4, 400, 8, 512, 6, learned=False, note="the CIFAR-10 report's")


@exercise.mistake("A gradient flows into the table of positions: what is it, then?")
def table_is_free(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
                  learned=True, pooling="cls"):  # fmt: skip
    """Positions come from a formula, so they cost no parameters."""
    N, pixels, front = (image_size // patch_size) ** 2, 3 * patch_size**2, int(pooling == "cls")
    T = N + front
    block = 4 * d_model * (d_model + 1) + 2 * d_model * d_ff + d_ff + 5 * d_model
    parameters = (pixels + 1 + front) * d_model + n_layers * block + 2 * d_model
    parameters += (d_model + 1) * n_classes
    products = 4 * T * d_model**2 + 2 * T * T * d_model + 2 * T * d_model * d_ff
    return parameters, N * pixels * d_model + n_layers * products + d_model * n_classes


@exercise.mistake("How many tokens enter the first block? Count them in the table, too.")
def class_forgotten(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
                    learned=True, pooling="cls"):  # fmt: skip
    """There are as many tokens as patches."""
    N, pixels = (image_size // patch_size) ** 2, 3 * patch_size**2
    block = 4 * d_model * (d_model + 1) + 2 * d_model * d_ff + d_ff + 5 * d_model
    parameters = (pixels + 1) * d_model + n_layers * block + 2 * d_model
    parameters += (d_model + 1) * n_classes + N * d_model * learned
    products = 4 * N * d_model**2 + 2 * N * N * d_model + 2 * N * d_model * d_ff
    return parameters, N * pixels * d_model + n_layers * products + d_model * n_classes


@exercise.mistake("How many numbers does a patch have, in a picture with colours?")
def grey(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
         learned=True, pooling="cls"):  # fmt: skip
    """A patch has as many numbers as pixels."""
    N, pixels, front = (image_size // patch_size) ** 2, patch_size**2, int(pooling == "cls")
    T = N + front
    block = 4 * d_model * (d_model + 1) + 2 * d_model * d_ff + d_ff + 5 * d_model
    parameters = (pixels + 1 + front + T * learned) * d_model + n_layers * block + 2 * d_model
    parameters += (d_model + 1) * n_classes
    products = 4 * T * d_model**2 + 2 * T * T * d_model + 2 * T * d_model * d_ff
    return parameters, N * pixels * d_model + n_layers * products + d_model * n_classes


@exercise.mistake("Each projection is a matrix, and something is added to its product.")
def biases_forgotten(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
                     learned=True, pooling="cls"):  # fmt: skip
    """Linear layers are matrices."""
    N, pixels, front = (image_size // patch_size) ** 2, 3 * patch_size**2, int(pooling == "cls")
    T = N + front
    block = 4 * d_model**2 + 2 * d_model * d_ff + 4 * d_model
    parameters = (pixels + front + T * learned) * d_model + n_layers * block + 2 * d_model
    parameters += d_model * n_classes
    products = 4 * T * d_model**2 + 2 * T * T * d_model + 2 * T * d_model * d_ff
    return parameters, N * pixels * d_model + n_layers * products + d_model * n_classes


@exercise.mistake("Pre-norm: what comes out of the last block has not been normalised.")
def no_last_norm(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
                 learned=True, pooling="cls"):  # fmt: skip
    """All norms stand in the blocks."""
    N, pixels, front = (image_size // patch_size) ** 2, 3 * patch_size**2, int(pooling == "cls")
    T = N + front
    block = 4 * d_model * (d_model + 1) + 2 * d_model * d_ff + d_ff + 5 * d_model
    parameters = (pixels + 1 + front + T * learned) * d_model + n_layers * block
    parameters += (d_model + 1) * n_classes
    products = 4 * T * d_model**2 + 2 * T * T * d_model + 2 * T * d_model * d_ff
    return parameters, N * pixels * d_model + n_layers * products + d_model * n_classes


@exercise.mistake("The weights are there. What are they multiplied with?")
def scores_only(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
                learned=True, pooling="cls"):  # fmt: skip
    """The square of the tokens comes in once, with the scores."""
    N, pixels, front = (image_size // patch_size) ** 2, 3 * patch_size**2, int(pooling == "cls")
    T = N + front
    block = 4 * d_model * (d_model + 1) + 2 * d_model * d_ff + d_ff + 5 * d_model
    parameters = (pixels + 1 + front + T * learned) * d_model + n_layers * block + 2 * d_model
    parameters += (d_model + 1) * n_classes
    products = 4 * T * d_model**2 + T * T * d_model + 2 * T * d_model * d_ff
    return parameters, N * pixels * d_model + n_layers * products + d_model * n_classes


@exercise.mistake("Twice as many tokens with the same weights: is that twice the work, or none?")
def a_product_for_each_weight(image_size, patch_size, d_model, n_heads, d_ff, n_layers,
                              n_classes=10, learned=True, pooling="cls"):  # fmt: skip
    """A model multiplies as often as it has weights."""
    N, pixels, front = (image_size // patch_size) ** 2, 3 * patch_size**2, int(pooling == "cls")
    T = N + front
    block = 4 * d_model * (d_model + 1) + 2 * d_model * d_ff + d_ff + 5 * d_model
    parameters = (pixels + 1 + front + T * learned) * d_model + n_layers * block + 2 * d_model
    parameters += (d_model + 1) * n_classes
    return parameters, parameters


@exercise.alternative
def built(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
          learned=True, pooling="cls"):  # fmt: skip
    """Builds the layers without their numbers and counts; warns."""
    import warnings

    warnings.warn("building", stacklevel=1)
    n = (image_size // patch_size) ** 2
    tokens = n + (pooling == "cls")
    with torch.device("meta"):
        embed = nn.Conv2d(3, d_model, patch_size, patch_size)
        blocks = [nn.TransformerEncoderLayer(d_model, 1, d_ff) for _ in range(n_layers)]
        rest = [nn.LayerNorm(d_model), nn.Linear(d_model, n_classes)]
    count = sum(p.numel() for m in (embed, *blocks, *rest) for p in m.parameters())
    count += d_model * (tokens - n)
    if learned:
        count += tokens * d_model
    matrices = [p for block in blocks for p in block.parameters() if p.ndim == 2]
    work = n * embed.weight.numel() + rest[1].weight.numel()
    work += tokens * sum(p.numel() for p in matrices)
    return count, work + n_layers * 2 * tokens * tokens * d_model


@exercise.alternative
def shapes_listed(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
                  learned=True, pooling="cls"):  # fmt: skip
    """Lists every matrix with how often it is used."""
    rows = image_size // patch_size
    N = rows * rows
    T = N + 1 if pooling == "cls" else N
    uses = [((3 * patch_size * patch_size, d_model), N), ((d_model, n_classes), 1)]
    for _ in range(n_layers):
        uses += [((d_model, d_model), T)] * 4
        uses += [((d_model, d_ff), T), ((d_ff, d_model), T)]
    weights = sum(math.prod(shape) + shape[1] for shape, _ in uses)
    norms = (2 * n_layers + 1) * 2 * d_model
    extra = (T - N) * d_model + (T * d_model if learned else 0)
    mixing = sum(T * T * d_model * 2 for _ in range(n_layers))
    return weights + norms + extra, sum(math.prod(s) * n for s, n in uses) + mixing
