"""Ways to fuse windows, side by side: what differs between the arms and what does not."""

from dataclasses import replace

import pytest
import torch

from course_lib.data.ett import ett_windows
from course_lib.experiments import SHIPPED_RESULTS, favit_operators
from course_lib.experiments import informer_oil as oil
from course_lib.experiments.favit_operators import EXPERIMENT, FusionRun, make_fusing
from course_lib.experiments.informer_ablations import measure
from course_lib.experiments.record import load_records
from course_lib.favit import FaViT
from course_lib.informer import load_forecasters
from course_lib.swin import Swin
from course_lib.training import count_parameters, write_tensors

pytestmark = pytest.mark.usefixtures("shapes_as_cifar")
FEW = {"n_train": 100, "epochs": 1, "n_test": 40}


def settings(arm, size="cpu"):
    return FusionRun(**EXPERIMENT.config(arm, size))


@pytest.mark.parametrize("arm", EXPERIMENT.arms)
def test_every_arm_trains_and_tells_its_cost(arm, train):
    told = train(EXPERIMENT, EXPERIMENT.config(arm, "cpu") | FEW).results
    assert 0 <= told["accuracy"] <= 1
    assert 1.5e6 < told["multiplications"] < 2.5e6
    assert told["n_parameters"] == count_parameters(make_fusing(settings(arm), 0))


def test_budgets_of_favit_and_swin_are_near():
    favit, swin = (make_fusing(settings(arm), 0) for arm in ("mean", "swin"))
    assert isinstance(favit, FaViT) and isinstance(swin, Swin)
    assert count_parameters(swin) == pytest.approx(count_parameters(favit), rel=0.02)
    costs = [favit_operators.multiplications(model, 32) for model in (favit, swin)]
    assert costs[1] == pytest.approx(costs[0], rel=0.15)


def test_operators_with_weights_begin_as_the_mean():
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        out = {arm: make_fusing(settings(arm), 3).eval()(x) for arm in EXPERIMENT.arms}
    for arm in ("pointwise", "linear"):
        torch.testing.assert_close(out[arm], out["mean"])
    for arm in ("max", "prob-sparse", "released", "swin"):
        assert not torch.allclose(out[arm], out["mean"], atol=1e-4)


def test_full_is_favit_b0_on_enlarged_pictures():
    full = settings("prob-sparse", "full")
    assert (full.image_size, full.stage_widths, full.window) == (224, [32, 64, 128, 256], 7)
    assert (full.optimizer, full.learning_rate, full.batch_size) == ("adamw", 1e-3, 128)
    with torch.device("meta"):
        network = make_fusing(replace(full, operator="mean"), 0)
    assert 3.1e6 < count_parameters(network) < 3.3e6


def test_pictures_are_enlarged(train):
    larger = {"image_size": 64, "reductions": (4, 2)}
    told = train(EXPERIMENT, EXPERIMENT.config("mean", "cpu") | FEW | larger).results
    assert told["multiplications"] > 5e6


TINY = {"d_model": 8, "n_heads": 2, "d_ff": 8, "rounds": 1, "steps": 2, "batch_size": 4}
TINY |= {"seq_len": 8, "label_len": 4, "pred_len": 4}


def test_what_is_kept_gives_the_results_that_are_recorded(tmp_path, series, train):
    errors = {}
    for arm in ("informer", "linear"):
        outcome = train(oil.EXPERIMENT, oil.EXPERIMENT.config(arm, "cpu") | TINY, arm)
        assert {part.dtype for part in outcome.weights[0].values()} == {torch.float16}
        write_tensors(tmp_path / f"{arm}-cpu-0.safetensors", *outcome.weights)
        errors[arm] = outcome.results["mse"]
    kept = load_forecasters(tmp_path)
    test = oil.oil_alone(ett_windows(series("ETTh1"), "test", 8, 4))
    assert test.x.shape[1:] == (8, 1) and kept.mean == pytest.approx(test.mean.item())
    again = measure(kept.model, test)["mse"]
    assert again == pytest.approx(errors["informer"], rel=1e-5)
    made = test.x[..., 0].double() @ kept.line[:-1] + kept.line[-1]
    error = (made - test.y[..., 0]).square().mean().item()
    assert error == pytest.approx(errors["linear"], rel=1e-5)


def test_the_shipped_models_are_those_of_the_records():
    records = {r.arm: r for r in load_records(SHIPPED_RESULTS, "informer-oil")}
    assert records.keys() == set(oil.ARMS)
    kept = load_forecasters()
    weights = sum(p.numel() for p in kept.model.parameters())
    assert weights == records["informer"].results["n_parameters"] <= 60_000
    assert not kept.model.training and kept.line.dtype == torch.float64


def test_what_is_not_there_says_how_to_make_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="course run informer-oil"):
        load_forecasters(tmp_path)
