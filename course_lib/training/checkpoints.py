"""Files that hold numbers and no code: what a run needs to go on, and weights to be kept."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn


class CheckpointError(ValueError):
    """A checkpoint from which a run cannot go on."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor], text: Mapping[str, str]) -> None:
    """Write a safetensors file with tensors of any shape and text, each by name.

    It is written beside its place and then moved there in one go, so that a kill at any moment
    leaves either the old file or the new one. Tensors that share memory are written separately.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    apart = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    save_file(apart, partial, dict(text))
    os.replace(partial, path)


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    history: list[dict[str, float]],
    step: int,
    *,
    seed: int,
) -> None:
    """Write all that a run needs to go on, as :func:`write_tensors` does."""
    state = optimizer.state_dict()
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    # Moments are tensors; what else an optimiser remembers of a parameter is text.
    plain: dict[str, dict[str, Any]] = {}
    for number, values in state["state"].items():
        for name, value in values.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{number}.{name}"] = value
            else:
                plain.setdefault(str(number), {})[name] = value
    text = {
        "groups": state["param_groups"],
        "plain": plain,
        "history": history,
        "step": step,
        "seed": seed,
    }
    lines = {name: json.dumps(value, default=_as_text) for name, value in text.items()}
    write_tensors(path, tensors, lines)


def _as_text(setting: Tensor) -> dict[str, Any]:
    """A setting that is a tensor, such as a learning rate."""
    return {"tensor": setting.tolist(), "dtype": str(setting.dtype).removeprefix("torch.")}


def _of_text(data: dict[str, Any]) -> Any:
    if data.keys() != {"tensor", "dtype"}:
        return data
    return torch.tensor(data["tensor"], dtype=getattr(torch, data["dtype"]))


def load_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, *, seed: int
) -> tuple[list[dict[str, float]], int]:
    """Put model and optimiser back to where :func:`save_checkpoint` left them.

    Returns the rows of the finished epochs and the number of the next step.
    """
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}
            lines = (file.metadata() or {}).items()
            text = {name: json.loads(value, object_hook=_of_text) for name, value in lines}
        found, groups = text["seed"], text["groups"]
        history, step, moments = text["history"], text["step"], text["plain"]
    except (SafetensorError, KeyError, ValueError) as error:
        raise CheckpointError(
            f"{path} is no checkpoint ({error}): delete it, and the run begins from the start"
        ) from error
    if found != seed:
        raise CheckpointError(f"{path} is of a run with seed {found}, wanted seed {seed}")
    weights: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        owner, _, rest = name.partition(".")
        if owner == "model":
            weights[rest] = tensor
        else:
            number, _, moment = rest.partition(".")
            moments.setdefault(number, {})[moment] = tensor
    for group in groups:
        for name, value in group.items():
            if isinstance(value, list) and name != "params":
                group[name] = tuple(value)
    model.load_state_dict(weights)
    state = {int(number): values for number, values in moments.items()}
    optimizer.load_state_dict({"state": state, "param_groups": groups})
    return history, step
