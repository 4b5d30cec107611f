"""Heads and layers of a trained vision transformer that still do something."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from course_lib.attention_maps import entropy
from course_lib.data.cifar import IMAGE_STD, load_cifar10, normalise
from course_lib.experiments.vit_ablations import SeeingRun, make_model
from course_lib.vit import ViT
from grader.base.files import write_whole

RECORD = Path(__file__).with_suffix(".json")
LAYERS = (6,), (5,), (5, 6), (4,), (3,)
"""Blocks left out of the report's model, one after the other."""
N_MAPPED = 200  # of the images: so many have their maps looked at


def decayed(norm: float, rate_sum: float, weight_decay: float, momentum: float) -> float:
    """Norm that weight decay alone leaves, after steps of SGD whose rates have that sum."""
    return norm * math.exp(-rate_sum * weight_decay / (1 - momentum))


def load(path: Path) -> ViT:
    """A transformer of ``vit-ablations`` from the weights that a run has kept, for evaluation."""
    with safe_open(path, framework="pt") as file:
        weights = {name: file.get_tensor(name).float() for name in file.keys()}
        config = json.loads(file.metadata()["config"])
    model = make_model(SeeingRun(**config), seed=0)
    assert isinstance(model, ViT)
    model.load_state_dict(weights)
    return model.eval()


def write(weights: Path, record: Path = RECORD, n_images: int = 4000) -> None:
    """Examine the transformer of a file on the first test images; pages read what is kept."""
    test = load_cifar10("test")
    images, labels = normalise(test.images[:n_images], std=IMAGE_STD), test.labels[:n_images]
    found = {"variant": test.variant, **examine(load(weights), images, labels, LAYERS)}
    write_whole(record, json.dumps(found, indent=1) + "\n")


def head_norms(model: ViT) -> dict[str, list[list[float]]]:
    """Norm of each head's share of the three projections, by layer and head."""
    weights = _by_layer(model)
    return {
        name: [
            [round(x, 5) for x in matrices.view(model.config.n_heads, -1).norm(dim=1).tolist()]
            for matrices in weights[f"attention.{name}.weight"]
        ]
        for name in ("q_proj", "k_proj", "v_proj")
    }


def feed_forward_norms(model: ViT) -> list[list[float]]:
    """Norms of the two matrices of each feed-forward sub-layer, by layer."""
    weights = _by_layer(model)
    both = (weights[f"feed_forward.{name}.weight"] for name in ("in_proj", "out_proj"))
    return [[round(part.norm().item(), 5) for part in layer] for layer in zip(*both, strict=True)]


def _by_layer(model: ViT) -> dict[str, list[Tensor]]:
    """Tensors of the blocks under each name, the first block first."""
    found: dict[str, list[Tensor]] = {}
    for block in model.blocks:
        for name, weights in block.state_dict().items():
            found.setdefault(name, []).append(weights)
    return found


@torch.no_grad()
def examine(
    model: ViT, images: Tensor, labels: Tensor, taken_out: Iterable[tuple[int, ...]]
) -> dict[str, Any]:
    """Entropies and norms of all heads, and the accuracy without some layers.

    ``images`` are normalised ``(N, 3, H, W)``; ``taken_out``: layers, from 1, that are left out
    together. Entropies are shares of the largest value, by layer and head, of all queries and of
    the class token; norms are those of :func:`head_norms` and :func:`feed_forward_norms`;
    accuracies have a name for the missing layers, such as ``"5 6"``.
    """
    _, maps = model(images[:N_MAPPED], return_weights=True)
    said = {
        name: [[round(x, 6) for x in row] for row in _shares(weights).tolist()]
        for name, weights in (("entropy", maps), ("entropy_of_class_token", maps[..., :1, :]))
    }
    right = Counter[str]()
    for chunk, wanted in zip(images.split(250), labels.split(250), strict=True):
        for missing, logits in _logits(model, chunk, ((), *taken_out)):
            right[" ".join(map(str, missing))] += int((logits.argmax(-1) == wanted).sum())
    found = {missing: round(n / len(labels), 5) for missing, n in right.items()}
    norms = {"norm": head_norms(model), "feed_forward_norm": feed_forward_norms(model)}
    return {**said, **norms, "n_images": len(labels), "accuracy": found}


def _shares(weights: Tensor) -> Tensor:
    return entropy(weights, normalised=True).mean(dim=1)


def _logits(
    model: ViT, images: Tensor, taken_out: Iterable[tuple[int, ...]]
) -> Iterator[tuple[tuple[int, ...], Tensor]]:
    """Logits without some layers, each time from the first of them on."""
    entered: list[Tensor] = []
    hooks = [
        block.register_forward_pre_hook(lambda block, given: entered.append(given[0]))
        for block in model.blocks
    ]
    whole = model(images)
    for hook in hooks:
        hook.remove()
    for missing in taken_out:
        if not missing:
            yield missing, whole
            continue
        x = entered[min(missing) - 1]
        for layer in range(min(missing), len(model.blocks) + 1):
            x = x if layer in missing else model.blocks[layer - 1](x)
        x = model.norm(x)
        yield missing, model.head(x[:, 0] if model.config.pooling == "cls" else x.mean(dim=1))
