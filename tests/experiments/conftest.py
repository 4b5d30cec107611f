"""Small data in the place of the real ones: quadrants of shapes, and series of short months."""

from itertools import count

import numpy as np
import pytest
import torch

from course_lib.data import Cifar10, shape_images
from course_lib.data.ett import Ett
from course_lib.experiments import informer_ablations, informer_oil, scan_orders, vit_ablations
from course_lib.experiments.registry import Job


@pytest.fixture
def train(tmp_path):
    """Train one run by its settings; runs of one name share a checkpoint, the others have none."""
    number = count()

    def train(what, config, arm="arm", seed=0, name=None):
        place = tmp_path / (name or f"run-{next(number)}") / "c.pt"
        return what.train(Job(arm, config, seed, torch.device("cpu"), place, False))

    return train


@pytest.fixture
def shapes_as_cifar(monkeypatch):
    """Quadrants of shapes in the place of CIFAR-10: they cannot be told without positions."""

    def load(split):
        n, seed = (200, 0) if split == "train" else (50, 1)
        made = shape_images(n, torch.Generator().manual_seed(seed))
        return Cifar10((made.images * 255).byte(), made.quadrant[:, 0], "shapes", "0" * 64)

    for module in (vit_ablations, scan_orders):
        monkeypatch.setattr(module, "load_cifar10", load)


@pytest.fixture
def asked():
    return []


@pytest.fixture
def series(monkeypatch, asked):
    """Loads series whose months are a day long, so that their splits are short."""
    monkeypatch.setattr("course_lib.data.ett._HOURS_PER_MONTH", 24)

    def load(name="ETTh1", **_):
        asked.append(name)
        rows = {"ETTh1": 1, "ETTm1": 4}[name]
        i = np.arange(24 * 20 * rows)
        dates = np.datetime64("2016-07-01T00:00", "m") + i * (60 // rows)
        values = np.sin(i[:, None] / 4 + np.arange(7)) + 0.01 * i[:, None]
        return Ett(name, dates, values, "0" * 64)

    for module in (informer_ablations, informer_oil):
        monkeypatch.setattr(module, "load_ett", load)
    return load
