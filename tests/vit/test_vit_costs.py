"""What a vision transformer holds and multiplies, the named ones among them."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_lib.training import count_parameters
from course_lib.vit import ViT, ViTConfig, vit, vit_costs
from course_tests.refusals import refusals

SMALL = {"image_size": 12, "d_model": 24, "n_heads": 2, "d_ff": 33, "n_layers": 3, "dropout": 0.0}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"positions": "learned"},
        {"positions": "none", "pooling": "mean"},
        {"positions": "learned", "pooling": "mean", "n_classes": 7, "n_channels": 1},
        {"feed_forward": False},
        {"layer_norm": False},
    ],
)
def test_the_formula_counts_what_is_built_and_what_is_run(changes):
    config = ViTConfig(**(SMALL | changes))
    model = ViT(config, fused=False).eval()
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, config.n_channels, 12, 12))
    found = vit_costs(config)
    assert found.parameters == count_parameters(model)
    assert 2 * found.multiplications == counter.get_total_flops()


def test_models_with_a_name_have_their_published_size():
    for name, parameters, billions in (
        ("ti16", 5_717_416, 1.25),
        ("s16", 22_050_664, 4.60),
        ("b16", 86_567_656, 17.56),
    ):
        with torch.device("meta"):
            found = vit_costs(vit(name).config)
        assert found.parameters == parameters
        assert round(found.multiplications / 1e9, 2) == billions
    assert vit_costs(vit("cifar").config).parameters == 6_347_082


test_what_does_not_fit_is_refused = refusals(
    (lambda: vit_costs(ViTConfig(positions="axial")), "positions is 'axial'"),
    (lambda: vit("l16"), "no preset 'l16'; there are ti16, s16, b16, cifar"),
)


def test_recomputing_drops_the_same_channels_twice():
    config = ViTConfig(**(SMALL | {"dropout": 0.5}))
    model = ViT(config, recompute=True, generator=torch.Generator().manual_seed(1))
    plain = ViT(config, generator=torch.Generator().manual_seed(1))
    images = torch.randn(2, 3, 12, 12, generator=torch.Generator().manual_seed(0))
    found = []
    for m in (model, plain):
        torch.manual_seed(3)
        m(images).square().sum().backward()
        found.append(m.patch_proj.weight.grad)
    torch.testing.assert_close(*found)
