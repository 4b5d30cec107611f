"""The named vision transformers have the published numbers of parameters."""

import pytest
import torch

from course_lib.vit import vit_b16, vit_cifar, vit_s16, vit_ti16


def count(make, **kwargs):
    with torch.device("meta"):
        return sum(p.numel() for p in make(**kwargs).parameters())


@pytest.mark.parametrize(
    "make, wanted",
    [
        (vit_ti16, 5_717_416),
        (vit_s16, 22_050_664),
        (vit_b16, 86_567_656),
        (vit_cifar, 6_347_082),
    ],
)
def test_parameter_counts(make, wanted):
    assert count(make) == wanted


def test_another_resolution_costs_positions_and_other_classes_a_classifier():
    assert count(vit_ti16, image_size=384) - count(vit_ti16) == (24**2 - 14**2) * 192
    assert count(vit_ti16, n_classes=10) - count(vit_ti16) == -990 * 193


def test_weights_come_from_the_generator():
    first, second = (vit_cifar(generator=torch.Generator().manual_seed(0)) for _ in range(2))
    same = zip(first.parameters(), second.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in same)
    assert first(torch.zeros(1, 3, 32, 32)).shape == (1, 10)
