"""Which heads and layers of a trained vision transformer still do something."""

import copy
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from course_lib.attention_maps import entropy
from course_lib.experiments.vit_ablations import SeeingRun, make_model
from course_lib.training import accuracy
from course_lib.vit import ViT

RECORD = Path(__file__).with_suffix(".json")
PARTS = "attention", "feed_forward"
N_MAPPED = 200  # of the images: so many have their maps looked at


def decayed(norm: float, rate_sum: float, weight_decay: float, momentum: float) -> float:
    """The norm that weight decay alone leaves, after steps of SGD whose rates have that sum.

    A step of rate r multiplies the weights by ``1 - r * weight_decay``, and momentum repeats it
    ``1 / (1 - momentum)`` times.
    """
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


def head_norms(model: ViT) -> dict[str, list[list[float]]]:
    """Norm of each head's share of the three projections, by layer and head."""
    return {
        name: [
            [round(x, 5) for x in _by_head(getattr(block.attention, name).weight, model).tolist()]
            for block in model.blocks
        ]
        for name in ("q_proj", "k_proj", "v_proj")
    }


def _by_head(weight: Tensor, model: ViT) -> Tensor:
    return weight.detach().view(model.config.n_heads, -1).norm(dim=1)


def without(model: ViT, parts: Iterable[tuple[int, str]]) -> ViT:
    """A copy in which some sub-layers add nothing: pairs of a layer, from 1, and a name in PARTS."""
    changed = copy.deepcopy(model)
    for layer, name in parts:
        out = getattr(changed.blocks[layer - 1], name).out_proj
        for parameter in out.parameters():
            torch.nn.init.zeros_(parameter)
    return changed


@torch.no_grad()
def examine(
    model: ViT, images: Tensor, labels: Tensor, taken_out: Iterable[tuple[tuple[int, str], ...]]
) -> dict[str, Any]:
    """Entropies and norms of all heads, and the accuracy without some sub-layers.

    Args:
        images, labels: Normalised ``(N, 3, H, W)``, and their classes ``(N,)``.
        taken_out: Sub-layers, as of :func:`without`, that are missing at the same time.

    Returns:
        Entropy of each head's maps as a share of its largest value, by layer and head, of all
        queries and of the class token; norms as of :func:`head_norms`; accuracies by what is
        missing, such as ``"6 attention"``.
    """
    _, maps = model(images[:N_MAPPED], return_weights=True)
    found = {"entropy": maps, "entropy_of_class_token": maps[..., :1, :]}
    said = {
        name: [[round(x, 6) for x in row] for row in _shares(weights).tolist()]
        for name, weights in found.items()
    }
    return {**said, "norm": head_norms(model), "n_images": len(labels), "accuracy": {
        " + ".join(f"{layer} {name}" for layer, name in missing):
        round(_accuracy(without(model, missing), images, labels), 5)
        for missing in ((), *taken_out)
    }}  # fmt: skip


def _shares(weights: Tensor) -> Tensor:
    return entropy(weights, normalised=True).mean(dim=1)


def _accuracy(model: ViT, images: Tensor, labels: Tensor) -> float:
    return accuracy(torch.cat([model(chunk) for chunk in images.split(250)]), labels)
