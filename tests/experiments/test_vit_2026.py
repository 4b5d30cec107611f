"""The parts of a current transformer, each against a plain reference."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch
from torch import nn

from course_lib.experiments import image_models, vit_2026, vit_ablations
from course_lib.experiments.image_models import ModelRun
from course_lib.experiments.registry import Job
from course_lib.experiments.vit_2026 import (
    ARMS,
    EXPERIMENT,
    CurrentRun,
    QKNormAttention,
    make_current,
    patch_norms,
)
from course_lib.experiments.vit_ablations import make_model
from course_lib.training import count_parameters

D, H, L = 16, 2, 2
SMALL = replace(
    CurrentRun(**EXPERIMENT.config("vit", "day")), d_model=D, n_heads=H, n_layers=L, d_ff=32
)
PICTURES = torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))
# What a change adds to the numbers of the plain transformer.
ADDED = {
    "vit": 0,
    "rms-norm": -(2 * L + 1) * D,
    "qk-norm": 2 * L * D // H,
    "rotary": -64 * D,
    "registers": 2 * 4 * D,
    "all": -(2 * L + 1) * D + 2 * L * D // H - 64 * D + 4 * D,
}


def small(arm):
    return make_current(replace(SMALL, **ARMS[arm]), seed=0)


def root_mean_square(x):
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def test_the_plain_arm_is_the_transformer_of_image_models():
    ours, theirs = EXPERIMENT.config("vit", "day"), image_models.EXPERIMENT.config("vit", "day")
    of_both = {field.name for field in fields(ModelRun)}
    assert {k: v for k, v in ours.items() if k in of_both} == theirs
    mine, other = small("vit"), make_model(SMALL, seed=0)
    assert torch.equal(mine(PICTURES), other(PICTURES))


@pytest.mark.parametrize("arm", ARMS)
def test_an_arm_takes_a_step_that_moves_all_its_numbers(arm):
    model = small(arm)
    assert count_parameters(model) - count_parameters(small("vit")) == ADDED[arm]
    config = EXPERIMENT.config(arm, "day")
    training = vit_2026._Current(
        Job(arm, config, 0, torch.device("cpu"), Path(), False), CurrentRun(**config)
    )
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    loss = training.loss(model, PICTURES, torch.arange(3))
    loss.backward()
    training.optimizer(model).step()
    assert loss.isfinite()
    # Softmax does not see what is added to all scores of a query.
    still = [
        name
        for name, value in model.named_parameters()
        if value.numel() and torch.equal(value, before[name])
    ]
    assert all(name.endswith("k_proj.bias") for name in still), still


def test_rms_norm_keeps_the_mean_of_a_token():
    model = small("rms-norm")
    assert not any(isinstance(part, nn.LayerNorm) for part in model.modules())
    x = torch.randn(2, 5, D) + 3
    assert torch.allclose(model.norm(x), root_mean_square(x), atol=1e-6)


@pytest.mark.parametrize("arm", ["qk-norm", "all"])
def test_queries_and_keys_are_normalised_in_each_head(arm):
    model = small(arm)
    attend = model.blocks[0].attention
    assert isinstance(attend, QKNormAttention)
    attend.q_norm.weight.data.uniform_(0.5, 2)
    attend.k_norm.weight.data.uniform_(0.5, 2)
    n = 64 + model.n_prefix
    x = 10 * torch.randn(2, n, D)
    rotate = model.rotations[0] if model.rotations else None
    heads = []
    for h in range(H):
        own = slice(h * D // H, (h + 1) * D // H)
        q = root_mean_square(attend.q_proj(x)[..., own]) * attend.q_norm.weight
        k = root_mean_square(attend.k_proj(x)[..., own]) * attend.k_norm.weight
        if rotate is not None:
            q, k = rotate(q, k)
        weights = (q @ k.transpose(1, 2) / (D // H) ** 0.5).softmax(-1)
        heads.append(weights @ attend.v_proj(x)[..., own])
    wanted = attend.out_proj(torch.cat(heads, dim=-1))
    assert torch.allclose(attend(x, rotate=rotate), wanted, atol=1e-5)
    assert torch.allclose(attend(x, rotate=rotate, return_weights=True)[0], wanted, atol=1e-5)


def test_registers_are_seen_by_patches_and_not_by_the_classifier():
    model = small("registers").eval()
    assert model.n_prefix == 4
    x, weights = model.encode(PICTURES, return_weights=True)
    assert x.shape == (3, 68, D) and weights is not None and weights.shape[-2:] == (68, 68)
    assert (weights[..., 4:, :4] > 0).all()
    assert torch.allclose(model(PICTURES), model.head(x[:, 4:].mean(1)), atol=1e-6)
    # What is behind the last block in a register changes nothing.
    hook = model.norm.register_forward_hook(
        lambda _, __, out: out.index_fill(1, torch.arange(4), 1e3)
    )
    with hook:
        assert torch.allclose(model(PICTURES), model.head(x[:, 4:].mean(1)), atol=1e-6)


@pytest.mark.parametrize("arm", ["vit", "registers"])
def test_lengths_are_those_of_patches_before_the_last_norm(arm):
    model = small(arm).eval()
    made = []

    class Tenfold(nn.Module):
        def forward(self, x, **_):
            x = x.clone()
            x[:, : model.n_prefix] = 1e4
            x[:, -1] *= 10
            made.append(x)
            return x

    model.blocks[-1] = Tenfold()
    said = patch_norms(model, PICTURES)
    (x,) = made
    norms = x[:, model.n_prefix :].square().sum(-1).sqrt()
    assert norms.shape == (3, 64)
    assert said["max"] == pytest.approx(norms.max().item(), rel=1e-5)
    assert said["mean"] == pytest.approx(norms.mean().item(), rel=1e-5)
    assert said["above_2"] == said["above_4"] == pytest.approx(1 / 64)


def test_a_run_keeps_accuracy_and_lengths(shapes_as_cifar, train):
    run = replace(SMALL, **ARMS["all"], n_train=50, n_watched=20, epochs=1)
    outcome = train(EXPERIMENT, vit_ablations.as_config(run))
    assert outcome.weights is None and outcome.results["patch_norms"]["median"] > 0
    assert {"accuracy", "mirrored_accuracy", "n_parameters"} < outcome.results.keys()
