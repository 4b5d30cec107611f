"""Shuffled patches, scans and scenes: what is run is what is said."""

import pytest
import torch

from course_lib.experiments import permutation, scan_orders, scene_positions
from course_lib.experiments.registry import Job

pytestmark = pytest.mark.usefixtures("shapes_as_cifar")


@pytest.fixture
def run(train):
    return lambda of, arm, seed=0, **changes: train(of, of.config(arm, "cpu") | changes, arm, seed)


SMALL = {"n_train": 200, "n_watched": 20, "n_test": 50, "epochs": 2, "d_model": 16}
SMALL |= {"n_layers": 1, "n_heads": 2, "d_ff": 32, "widths": (4, 8), "n_blocks": (1, 1)}


def test_positions_that_come_along_change_nothing(run):
    told = run(permutation.EXPERIMENT, "vit", **SMALL).results
    as_it_was = told["patches_shuffled"]["as it was"]
    assert as_it_was == told["accuracy"]
    assert set(told["positions_too"]) == {"grid 2", "grid 4", "grid 8"}
    assert all(share == as_it_was for share in told["positions_too"].values())
    assert set(told["patches_shuffled"]) == {"as it was", *(f"grid {g}" for g in (2, 4, 8, 16))}


def test_without_positions_no_order_of_patches_matters(run):
    none = run(permutation.EXPERIMENT, "vit", positions="none", **SMALL).results
    told = none["patches_shuffled"]
    assert told["as it was"] == told["grid 2"] == told["grid 8"]


def test_one_order_is_the_seeds(tmp_path):
    pictures = torch.arange(3 * 32 * 32).view(1, 3, 32, 32) % 251
    config = permutation.EXPERIMENT.config("vit-one-order", "cpu")
    made = [
        permutation.Shuffling(
            Job("a", config, seed, torch.device("cpu"), tmp_path, False),
            permutation.ShuffledRun(**config),
        ).change(pictures)
        for seed in (0, 0, 1)
    ]
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2]) and not torch.equal(made[0], pictures)
    assert torch.equal(made[0].flatten().sort().values, pictures.flatten().sort().values)


def test_convolutions_have_no_positions_and_keep_no_weights(run):
    outcome = run(permutation.EXPERIMENT, "resnet", **SMALL)
    assert "positions_too" not in outcome.results and outcome.weights is None


def test_rows_of_generated_pictures_pack_better_than_noise(run):
    of = scan_orders.EXPERIMENT
    shares = {
        arm: run(of, arm, n_pictures=20).results["packed_share"]
        for arm in ("raster", "hilbert", "random")
    }
    assert 0 < shares["raster"] < shares["random"] <= 1.1
    again = run(of, "raster", n_pictures=20)
    assert again.results["packed_share"] == shares["raster"] and again.data[0].variant == "shapes"


def test_a_scene_is_asked_about_at_two_sizes(run):
    small = {"n_train": 64, "n_test": 20, "steps": 2}
    for arm in ("learned", "mixed"):
        told = run(scene_positions.EXPERIMENT, arm, **small)
        for at in ("at_32", "at_48"):
            assert set(told.results[at]) == {"what", "where", "left of"}
    other = run(scene_positions.EXPERIMENT, "learned", seed=1, **small)
    assert other.data != told.data
