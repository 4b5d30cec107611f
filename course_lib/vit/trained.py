"""A vision transformer that has been trained and ships with the course."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors import safe_open
from torch import Tensor

import course_lib
from course_lib.vit.config import ViTConfig
from course_lib.vit.model import ViT

_RESULTS = Path(course_lib.__file__).parents[1] / "book" / "results" / "vit-recipe"


@dataclass(frozen=True)
class Kept:
    """Kept model of a run of ``vit-recipe``, with its logits ``(10000, 10)`` of the test images.

    ``variant``: which CIFAR-10 these are; ``model``: of arms that keep it, in evaluation mode.
    """

    logits: Tensor
    labels: Tensor
    variant: str
    model: ViT | None


def load_kept(arm: str = "many", folder: Path | None = None) -> Kept:
    """Load what ``course run vit-recipe`` has kept, of ``"many"``, with its model, or ``"few"``."""
    path = (folder or _RESULTS) / f"{arm}-cpu-0.safetensors"
    if not path.exists():
        raise FileNotFoundError(
            f"nothing kept in {path.parent.name}/{path.name}: the course's repository has it in "
            f"book/results; `course run vit-recipe --arms {arm}` makes it anew"
        )
    with safe_open(path, framework="pt") as file:
        tensors: Mapping[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}
        text = file.metadata()
    weights = {n.removeprefix("model."): v for n, v in tensors.items() if n.startswith("model.")}
    model = None
    if weights:
        model = ViT(ViTConfig(**json.loads(text["config"])))
        model.load_state_dict(weights)
        model.eval()
    return Kept(tensors["logits"].float(), tensors["labels"].long(), text["variant"], model)
