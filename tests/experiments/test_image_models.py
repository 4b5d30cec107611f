"""Whole networks: the residual one of few epochs, and the precision of the processor."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.data.cifar import Cifar10
from course_lib.experiments import image_models
from course_lib.experiments.fast_resnet import FastResNet, whitening_filters
from course_lib.experiments.image_models import ModelRun, Training
from course_lib.experiments.provenance import hardware
from course_lib.experiments.registry import Job
from course_lib.training import seeded_generator

PICTURES = torch.rand(40, 3, 32, 32, generator=seeded_generator(0)).cumsum(dim=-1) / 16 - 1


def test_answers_of_the_first_layer_are_uncorrelated_and_equally_large():
    # Neighbouring pixels of these pictures are alike, as those of photographs are.
    filters = whitening_filters(PICTURES)
    answers = F.conv2d(PICTURES, filters).movedim(1, 0).flatten(1)
    ours, negatives = answers[:12], answers[12:]
    assert torch.equal(ours, -negatives)
    covariance = ours @ ours.T / ours.shape[1]
    off = covariance - torch.diag(covariance.diag())
    assert off.abs().max() < 1e-3
    # A direction without variance is left small; one with much is brought to 1.
    assert covariance.diag()[0] == pytest.approx(1, abs=1e-2) and covariance.diag().max() < 1.01
    assert whitening_filters(2 * PICTURES)[0].norm() < 0.6 * filters[0].norm()


def test_the_same_seed_makes_the_same_network_and_the_first_layer_is_not_learned():
    one, same, other = (
        FastResNet(PICTURES, (8, 16), generator=seeded_generator(seed)) for seed in (1, 1, 2)
    )
    for (name, ours), theirs in zip(
        one.state_dict().items(), same.state_dict().values(), strict=True
    ):
        assert torch.equal(ours, theirs), name
    assert not torch.equal(one.head.weight, other.head.weight)
    one(PICTURES).logsumexp(dim=1).sum().backward()
    still = {name for name, p in one.named_parameters() if p.grad is None}
    assert still == {"whiten.weight"} | {
        f"stages.{i}.norm{k}.weight" for i in (0, 1) for k in (1, 2)
    }


def test_convolutions_begin_as_copies():
    model = FastResNet(PICTURES, (32,), generator=seeded_generator(0))
    x = torch.randn(2, 24, 6, 6, generator=seeded_generator(1))
    conv = model.stages[0].conv1
    assert torch.equal(conv(x)[:, :24], x) and not torch.equal(conv(x)[:, 24:], x[:, :8])


def test_offsets_learn_faster_and_do_not_decay(monkeypatch, tmp_path):
    pictures = (PICTURES * 50 + 100).clamp(0, 255).byte()
    few = Cifar10(pictures, torch.zeros(len(pictures), dtype=torch.uint8), "made up", "0" * 64)
    monkeypatch.setattr(image_models, "load_cifar10", lambda part: few)
    arm = image_models.EXPERIMENT.config("resnet", "day")
    settings = ModelRun(**arm)
    job = Job("resnet", arm, 0, torch.device("cpu"), tmp_path / "none", False)
    training = Training(job, settings)
    model = training.build()
    kernels, offsets = training.optimizer(model).param_groups
    assert offsets["lr"] == 64 * kernels["lr"] and offsets["weight_decay"] == 0
    assert kernels["weight_decay"] > 0 and all(p.ndim > 1 for p in kernels["params"])
    assert not any(p is model.whiten.weight for p in kernels["params"])
    loss = training.loss(model, PICTURES, torch.zeros(len(PICTURES), dtype=torch.long))
    loss.backward()
    # Products in bfloat16, weights and gradients not.
    assert loss.dtype == model.head.weight.grad.dtype == torch.float32


def test_a_picture_and_its_mirror_image_are_classified_together(tmp_path):
    class Left(torch.nn.Module):
        """Class 1 if the left edge is bright: of a picture or, with half its weight, of another."""

        def forward(self, pictures):
            bright = pictures[:, 0, 0, 0] - 0.5 * pictures[:, 0, 0, -1]
            return torch.stack([torch.zeros_like(bright), bright], dim=1)

    pictures = torch.zeros(3, 3, 4, 4)
    pictures[0, :, :, 0] = pictures[1, :, :, -1] = pictures[2] = 1
    labels = torch.tensor([1, 1, 0])
    found = {}
    for arm in ("resnet", "vit-plain"):
        settings = image_models.EXPERIMENT.config(arm, "day")
        job = Job(arm, settings, 0, torch.device("cpu"), tmp_path / "none", False)
        found[arm] = Training(job, ModelRun(**settings)).after(Left(), pictures, labels)
    assert found["vit-plain"] == {}
    # The second picture is dark on the left, and its mirror image bright.
    assert found["resnet"] == {"mirrored_accuracy": pytest.approx(2 / 3)}


@pytest.mark.parametrize(
    ("capabilities", "precision"),
    [
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"avx512_bf16": False}, torch.float32),
        ({"neon": True}, torch.float32),
    ],
)
def test_products_are_in_bfloat16_only_where_the_processor_has_them(
    monkeypatch, capabilities, precision
):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    cpu = torch.device("cpu")
    config = image_models.EXPERIMENT.config("vit", "day")
    training = Training(Job("vit", config, 0, cpu, Path(), False), ModelRun(**config))
    made = []
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 10))
    model.register_forward_hook(lambda *arguments: made.append(arguments[-1]))
    loss = training.loss(model, torch.rand(4, 3, 2, 2), torch.arange(4))
    loss.backward()
    assert made[0].dtype == precision and loss.dtype == torch.float32
    assert model[1].weight.grad is not None and model[1].weight.dtype == torch.float32
    assert hardware(cpu)["bfloat16"] is (precision == torch.bfloat16)
