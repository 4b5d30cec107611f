"""An Informer and a line that have been trained on one variable and ship with the course."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors import safe_open
from torch import Tensor

import course_lib
from course_lib.informer.config import InformerConfig
from course_lib.informer.model import Informer

_RESULTS = Path(course_lib.__file__).parents[1] / "book" / "results" / "informer-oil"


@dataclass(frozen=True)
class Forecasters:
    """Kept models of ``informer-oil``. Both forecast 24 standardised hours from 96.

    ``line``: weights ``(97, 24)``, the last row a constant; ``mean`` and ``std`` are in degrees.
    """

    model: Informer
    line: Tensor
    mean: float
    std: float


def load_forecasters(folder: Path | None = None) -> Forecasters:
    """Load what ``course run informer-oil`` has kept, which needs no data set."""
    weights, text = _read("informer", folder)
    model = Informer(InformerConfig(**json.loads(text["config"])))
    # The number of batches that a norm has seen is no weight, and not kept.
    counts = {n: v for n, v in model.state_dict().items() if n.endswith("num_batches_tracked")}
    model.load_state_dict({**counts, **weights})
    line = _read("linear", folder)[0]["line"].double()
    return Forecasters(model.eval(), line, float(text["mean"]), float(text["std"]))


def kept_weights(model: Informer) -> dict[str, Tensor]:
    """An Informer's weights and the statistics of its norms ``(...)``, in half precision.

    The model's own are rounded in place, so that what is measured afterwards is what is kept.
    """
    model.load_state_dict(
        {n: v.half() if v.is_floating_point() else v for n, v in model.state_dict().items()}
    )
    named = model.state_dict().items()
    return {name: value.half().cpu() for name, value in named if value.is_floating_point()}


def _read(arm: str, folder: Path | None) -> tuple[Mapping[str, Tensor], Mapping[str, str]]:
    path = (folder or _RESULTS) / f"{arm}-cpu-0.safetensors"
    if not path.exists():
        raise FileNotFoundError(
            f"nothing kept in {path.parent.name}/{path.name}: the course's repository has it in "
            "book/results; `course run informer-oil` makes it anew"
        )
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()
