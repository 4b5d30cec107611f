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
    """What ``informer-oil`` has kept. Both forecast 24 standardised hours from 96.

    Attributes:
        model: The Informer, in evaluation mode.
        line: Weights of a line and, in the last row, its constant ``(97, 24)``.
        mean: Of the training rows, in degrees.
        std: Of the training rows, in degrees.

    Example:
        >>> kept = load_forecasters()
        >>> kept.line.shape, kept.model.config.n_heads
        (torch.Size([97, 24]), 4)
    """

    model: Informer
    line: Tensor
    mean: float
    std: float


def load_forecasters(folder: Path | None = None) -> Forecasters:
    """Load what ``course run informer-oil`` has kept, which needs no data set.

    Args:
        folder: Of the records; the course's own if not given.

    Raises:
        FileNotFoundError: If there is none; the message says how to make it.

    Example:
        >>> import torch
        >>> model = load_forecasters().model
        >>> model(torch.zeros(1, 96, 1), torch.zeros(1, 96, 4), torch.zeros(1, 24, 4)).shape
        torch.Size([1, 24, 1])
    """
    weights, text = _read("informer", folder)
    model = Informer(InformerConfig(**json.loads(text["config"])))
    # How many batches a norm has seen is no weight, and not kept.
    counts = {n: v for n, v in model.state_dict().items() if n.endswith("num_batches_tracked")}
    model.load_state_dict({**counts, **weights})
    line = _read("linear", folder)[0]["line"].double()
    return Forecasters(model.eval(), line, float(text["mean"]), float(text["std"]))


def kept_weights(model: Informer) -> dict[str, Tensor]:
    """What is kept of an Informer: its weights and the statistics of its norms.

    Args:
        model: What was trained. Its weights are rounded in place to what half precision can hold,
            so that what is measured afterwards is measured of what is kept.

    Returns:
        Tensors ``(...)`` by name, in half precision.

    Example:
        >>> config = InformerConfig(d_model=8, n_heads=2, d_ff=8)
        >>> {value.dtype for value in kept_weights(Informer(config)).values()}
        {torch.float16}
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
