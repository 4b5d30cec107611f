"""A vision transformer with parts taken out, and on CIFAR-10 as it is."""

from dataclasses import asdict, replace

import pytest
import torch

from course_lib.experiments import (
    EXPERIMENTS,
    vit_ablations,
    vit_cifar10,
    vit_questions,
    vit_rivals,
)
from course_lib.experiments.vit_ablations import CPU, SeeingRun, make_model
from course_lib.hybrid import Hybrid
from course_lib.resnet import ResNet
from course_lib.vit import ViT, ViTConfig

SMALL = {"n_train": 200, "n_watched": 20, "epochs": 2, "d_model": 16, "n_layers": 2}
SMALL |= {"n_heads": 2, "d_ff": 32}
pytestmark = pytest.mark.usefixtures("shapes_as_cifar")


@pytest.fixture
def run(train):
    def run(arm="whole", **changes):
        return train(vit_ablations.EXPERIMENT, asdict(CPU) | SMALL | changes, arm)

    return run


def test_a_run_reports_all_test_images_and_distances(run):
    outcome = run()
    assert outcome.data[0].variant == "shapes" and outcome.weights is None
    assert 0 <= outcome.results["accuracy"] <= 1
    wanted = ["1.1", "1.2", "2.1", "2.2"]
    for key in ("attention_distance_at_start", "attention_distance"):
        assert list(outcome.results[key]) == wanted
        assert all(0 < far < 32 * 2**0.5 for far in outcome.results[key].values())
    assert outcome.results["attention_distance_at_start"] != outcome.results["attention_distance"]


def test_a_share_of_the_images_takes_as_many_steps(run):
    whole, few = run(), run(share=0.5)
    assert (len(whole.metrics), len(few.metrics)) == (2, 4)


def test_what_is_hidden_changes_nothing(run):
    hidden = run(visible=0, epochs=1)
    # One colour in place of all pictures gets one answer: as many are right as one class has.
    labels = vit_ablations.load_cifar10("test").labels
    shares = (labels.bincount() / len(labels)).tolist()
    assert any(hidden.results["accuracy"] == pytest.approx(share) for share in shares)


@pytest.mark.parametrize(("kind", "made"), [("vit", ViT), ("resnet", ResNet), ("hybrid", Hybrid)])
def test_kinds_of_networks(kind, made):
    network = make_model(replace(CPU, kind=kind), 0)
    assert isinstance(network, made)
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_a_resnet_of_seed_0_keeps_its_weights(run):
    kept = run("resnet", kind="resnet", epochs=1).weights
    config, variant = kept[1]["config"], kept[1]["variant"]
    assert '"kind": "resnet"' in config and variant == "shapes"


@pytest.mark.parametrize("module", [vit_ablations, vit_questions, vit_rivals])
def test_arms_change_settings_that_there_are(module):
    for name, changes in module.ARMS.items():
        made = SeeingRun(**(asdict(CPU) | changes))
        assert (made == CPU) == (name in ("whole", "vit"))


EXPERIMENT = EXPERIMENTS["vit-cifar10"]


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_both_optimisers_and_crops_run(train, optimizer):
    changes = {"optimizer": optimizer, "epochs": 1, "learning_rate": 0.01, "crop": True}
    changes |= {"n_watched": 50}  # all of them
    outcome = train(EXPERIMENT, EXPERIMENT.config("fixed", "cpu") | SMALL | changes)
    assert outcome.metrics[0]["lr"] < 0.01
    assert outcome.results["accuracy"] == outcome.metrics[-1]["accuracy"]


def test_full_is_the_setting_of_the_report():
    full = vit_ablations.SeeingRun(**EXPERIMENT.config("fixed", "full"))
    assert (full.epochs, full.batch_size, full.learning_rate, full.weight_decay) == (
        300,
        100,
        0.1,
        1e-4,
    )
    assert (full.d_model, full.n_layers, full.n_heads, full.d_ff) == (400, 6, 8, 512)
    assert full.optimizer == "sgd" and full.crop and full.std == "image" and full.n_train == 50_000
    config = ViTConfig(
        d_model=full.d_model, n_layers=full.n_layers, n_heads=full.n_heads, d_ff=full.d_ff
    )
    assert sum(p.numel() for p in ViT(config).parameters()) == 6_347_082


def test_crops_are_windows_of_the_padded_image():
    images = torch.randint(1, 256, (64, 3, 32, 32), dtype=torch.uint8)
    made = vit_cifar10.augment(images, torch.Generator().manual_seed(0), crop=True)
    padded = torch.nn.functional.pad(images, (4, 4, 4, 4))
    shifts = set()
    for image, candidates in zip(made, padded, strict=True):
        found = [
            (flipped, down, right)
            for flipped in (False, True)
            for down in range(9)
            for right in range(9)
            if torch.equal(
                image,
                (candidates.flip(-1) if flipped else candidates)[
                    :, down : down + 32, right : right + 32
                ],
            )
        ]
        assert len(found) == 1
        shifts.add(found[0])
    assert len(shifts) > 30 and {flipped for flipped, _, _ in shifts} == {True, False}


def test_without_crop_images_are_only_flipped():
    images = torch.randint(0, 256, (200, 3, 8, 8), dtype=torch.uint8)
    made = vit_cifar10.augment(images, torch.Generator().manual_seed(0), crop=False)
    same = (made == images).flatten(1).all(dim=1)
    flipped = (made == images.flip(-1)).flatten(1).all(dim=1)
    assert (same | flipped).all() and 60 < same.sum() < 140
    again = vit_cifar10.augment(images, torch.Generator().manual_seed(0), crop=False)
    assert torch.equal(made, again)
