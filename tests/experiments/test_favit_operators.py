"""Ways to fuse windows, side by side: what differs between the arms and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from course_lib.experiments import favit_operators
from course_lib.experiments.favit_operators import EXPERIMENT, FusionRun, make_fusing
from course_lib.favit import FaViT
from course_lib.swin import Swin
from course_lib.training import count_parameters

pytestmark = pytest.mark.usefixtures("shapes_as_cifar")
FEW = {"n_train": 100, "epochs": 1, "n_test": 40}


def settings(arm: str, size: str = "cpu") -> FusionRun:
    return FusionRun(**EXPERIMENT.config(arm, size))


@pytest.mark.parametrize("arm", EXPERIMENT.arms)
def test_every_arm_trains_and_tells_its_cost(arm, train) -> None:
    told = train(EXPERIMENT, EXPERIMENT.config(arm, "cpu") | FEW).results
    assert 0 <= told["accuracy"] <= 1
    assert 1.5e6 < told["multiplications"] < 2.5e6
    assert told["n_parameters"] == count_parameters(make_fusing(settings(arm), 0))


def test_budgets_of_favit_and_swin_are_near() -> None:
    favit, swin = (make_fusing(settings(arm), 0) for arm in ("mean", "swin"))
    assert isinstance(favit, FaViT) and isinstance(swin, Swin)
    assert count_parameters(swin) == pytest.approx(count_parameters(favit), rel=0.02)
    costs = [favit_operators.multiplications(model, 32) for model in (favit, swin)]
    assert costs[1] == pytest.approx(costs[0], rel=0.15)


def test_operators_with_weights_begin_as_the_mean() -> None:
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        out = {arm: make_fusing(settings(arm), 3).eval()(x) for arm in EXPERIMENT.arms}
    for arm in ("pointwise", "linear"):
        torch.testing.assert_close(out[arm], out["mean"])
    for arm in ("max", "prob-sparse", "released", "swin"):
        assert not torch.allclose(out[arm], out["mean"], atol=1e-4)


def test_full_is_favit_b0_on_enlarged_pictures() -> None:
    full = settings("prob-sparse", "full")
    assert (full.image_size, full.stage_widths, full.window) == (224, [32, 64, 128, 256], 7)
    assert (full.optimizer, full.learning_rate, full.batch_size) == ("adamw", 1e-3, 128)
    with torch.device("meta"):
        network = make_fusing(replace(full, operator="mean"), 0)
    assert 3.1e6 < count_parameters(network) < 3.3e6


def test_pictures_are_enlarged(train) -> None:
    larger = {"image_size": 64, "reductions": (4, 2)}
    told = train(EXPERIMENT, EXPERIMENT.config("mean", "cpu") | FEW | larger).results
    assert told["multiplications"] > 5e6
