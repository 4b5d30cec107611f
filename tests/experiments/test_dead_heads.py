"""What is left of a transformer's heads and layers, on a small one of which we know it."""

import json
from dataclasses import asdict, replace

import pytest
import torch
from safetensors.torch import save_file

from course_lib.data.cifar import Cifar10
from course_lib.experiments import dead_heads
from course_lib.experiments.vit_ablations import CPU, make_model
from course_lib.vit import ViT

SETTINGS = replace(CPU, d_model=16, n_layers=3, n_heads=2, d_ff=32)


@pytest.fixture
def model():
    """Three layers, of which the second adds nothing and asks for nothing with its first head."""
    made = make_model(SETTINGS, seed=0)
    assert isinstance(made, ViT)
    weights = made.state_dict()
    weights["blocks.1.attention.q_proj.weight"][:8] = 0
    for part in ("attention", "feed_forward"):
        for name in ("weight", "bias"):
            weights[f"blocks.1.{part}.out_proj.{name}"].zero_()
    return made.eval()


def test_a_head_without_queries_is_uniform_and_an_empty_layer_is_not_missed(model):
    images = torch.randn(500, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        labels = model(images).argmax(-1)
    found = dead_heads.examine(model, images, labels, [(2,), (1,), (2, 3)])
    shares = torch.tensor(found["entropy"])
    assert shares[1, 0] == 1 and (shares.flatten() < 1).sum() == 5
    assert torch.tensor(found["entropy_of_class_token"]).shape == (3, 2)
    assert found["norm"]["q_proj"][1][0] == 0 < found["norm"]["q_proj"][1][1]
    assert found["feed_forward_norm"][1][1] == 0 < min(found["feed_forward_norm"][1][0], 1)
    assert found["accuracy"][""] == found["accuracy"]["2"] == 1 > found["accuracy"]["1"]
    assert found["accuracy"]["2 3"] < 1


def test_a_record_is_written_from_a_file_of_weights(model, tmp_path, monkeypatch):
    weights = {name: value.half() for name, value in model.state_dict().items()}
    path = tmp_path / "w.safetensors"
    save_file(weights, path, {"config": json.dumps(asdict(SETTINGS))})
    few = Cifar10(torch.zeros(9, 3, 32, 32).byte(), torch.zeros(9).long(), "made up", "0" * 64)
    monkeypatch.setattr(dead_heads, "load_cifar10", lambda split: few)
    monkeypatch.setattr(dead_heads, "LAYERS", [(3,)])
    dead_heads.write(path, tmp_path / "record.json", n_images=4)
    found = json.loads((tmp_path / "record.json").read_text())
    kept = json.loads(dead_heads.RECORD.read_text())
    assert found.keys() == kept.keys() and kept["n_images"] == 4000
    assert (found["variant"], found["n_images"], list(found["accuracy"])) == (
        "made up",
        4,
        ["", "3"],
    )
    assert found["norm"] == dead_heads.head_norms(dead_heads.load(path))


def test_decay_alone_leaves_what_the_formula_says():
    weights = torch.nn.Parameter(torch.ones(4))
    optimizer = torch.optim.SGD([weights], lr=0.1, momentum=0.9, weight_decay=1e-3)
    for _ in range(2000):
        weights.grad = torch.zeros(4)
        optimizer.step()
    expected = dead_heads.decayed(2.0, 2000 * 0.1, 1e-3, 0.9)
    assert weights.norm().item() == pytest.approx(expected, rel=0.02) and expected < 0.3
