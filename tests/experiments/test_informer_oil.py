from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from course_lib.data.ett import Ett, ett_windows
from course_lib.experiments import informer_oil as oil
from course_lib.experiments.informer_ablations import measure
from course_lib.experiments.record import load_records
from course_lib.informer import load_forecasters
from course_lib.training import write_tensors

RESULTS = Path(__file__).parents[2] / "book" / "results"
TINY = {"d_model": 8, "n_heads": 2, "d_ff": 8, "rounds": 1, "steps": 2, "batch_size": 4}
TINY |= {"seq_len": 8, "label_len": 4, "pred_len": 4}


def test_what_is_kept_gives_the_results_that_are_recorded(
    tmp_path: Path, series: Callable[[str], Ett], train
) -> None:
    errors = {}
    for arm in ("informer", "linear"):
        outcome = train(oil.EXPERIMENT, oil.EXPERIMENT.config(arm, "cpu") | TINY, arm)
        assert outcome.weights is not None
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


def test_the_shipped_models_are_those_of_the_records() -> None:
    records = {r.arm: r for r in load_records(RESULTS, "informer-oil")}
    assert records.keys() == set(oil.ARMS)
    kept = load_forecasters()
    weights = sum(p.numel() for p in kept.model.parameters())
    assert weights == records["informer"].results["n_parameters"] <= 60_000
    assert not kept.model.training and kept.line.dtype == torch.float64


def test_what_is_not_there_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="course run informer-oil"):
        load_forecasters(tmp_path)
