"""The named vision transformers have the published numbers of parameters."""

import pytest
import torch

from course_lib.vit import PRESETS, vit


def count(name, **changes):
    with torch.device("meta"):
        return sum(p.numel() for p in vit(name, **changes).parameters())


def test_parameter_counts():
    assert {name: count(name) for name in PRESETS} == {
        "ti16": 5_717_416,
        "s16": 22_050_664,
        "b16": 86_567_656,
        "cifar": 6_347_082,
    }


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="no preset 'l16'; there are ti16, s16, b16, cifar"):
        vit("l16")


def test_another_resolution_costs_positions_and_other_classes_a_classifier():
    assert count("ti16", image_size=384) - count("ti16") == (24**2 - 14**2) * 192
    assert count("ti16", n_classes=10) - count("ti16") == -990 * 193


def test_weights_come_from_the_generator():
    first, second = (vit("cifar", generator=torch.Generator().manual_seed(0)) for _ in range(2))
    same = zip(first.parameters(), second.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in same)
    assert first(torch.zeros(1, 3, 32, 32)).shape == (1, 10)
