"""Trained models as scripts of a site, which a page loads when a reader asks for them.

The weights come as base64 in a script: a page from a disk may load that and no other file.
"""

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from safetensors.torch import save

from course_lib.data.cifar import CLASSES, MEAN, PIXEL_STD
from course_lib.figures.base import script
from course_lib.informer import kept_weights, load_forecasters
from course_lib.trained import find_checkpoint
from course_lib.vit import ViT, load_kept

ARM = "many"
"""Run of ``vit-recipe`` that has trained the vision transformer."""


def trained_vit() -> ViT:
    """The vision transformer that figures show."""
    model = load_kept(ARM).model
    assert model is not None  # this arm keeps it
    return model


def _vit() -> bytes:
    """Its weights and what its images must be, without the logits that are kept beside them."""
    model = trained_vit()
    weights = {f"model.{name}": value.half() for name, value in model.state_dict().items()}
    told = asdict(model.config) | {"classes": CLASSES, "mean": MEAN, "std": PIXEL_STD}
    return save(weights, {"config": json.dumps(told)})


BEGIN = (2018, 5, 7)
"""Year, month and day of the first hour of a made-up series, a Monday."""


def _forecast() -> bytes:
    """The Informer and the line that ``informer-oil`` has kept, and when a series begins."""
    kept = load_forecasters()
    lines = {"line": kept.line[:-1].T.contiguous(), "constant": kept.line[-1].contiguous()}
    weights = kept_weights(kept.model) | {name: part.half() for name, part in lines.items()}
    config, (year, month, day) = kept.model.config, BEGIN
    told = {n: v for n, v in asdict(config).items() if isinstance(v, int)} | {
        "n_layers": config.n_encoder_layers,
        "mean": kept.mean,
        "std": kept.std,
        "begin": [year, month - 1, day],  # JavaScript counts months from 0
    }
    return save(weights, {"config": json.dumps(told)})


MODELS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "translator": ("encoder_decoder", lambda: find_checkpoint("translator").read_bytes()),
    "vit": ("vision_transformer", _vit),
    "forecast": ("forecaster", _forecast),
    "writer": ("gpt", lambda: find_checkpoint("writer").read_bytes()),
}
"""The script that computes each model, and what makes its file of weights."""


def model_files(*names: str) -> dict[str, str]:
    """Scripts that a page loads for models (all if none is named), by their names in the site."""
    files = {"runtime.js": script("runtime")}
    for name in names or MODELS:
        computes, weights = MODELS[name]
        data = f'(window.courseFiles ??= {{}})["{name}"] = "{b64encode(weights()).decode()}";\n'
        files[f"{name}.js"] = script(computes) + data
    return files


def kilobytes(name: str) -> int:
    """Files that a page loads for one model."""
    return round(sum(map(len, model_files(name).values())) / 1000)


def write_models(folder: Path) -> None:
    """Write all of :func:`model_files` into a folder, ``_static/live`` of a site."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in model_files().items():
        (folder / name).write_text(text, encoding="utf-8")
