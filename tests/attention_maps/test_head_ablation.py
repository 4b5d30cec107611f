"""Heads silenced one after another, and in pairs."""

import pytest
import torch
from torch import Tensor

from course_lib.attention_maps import pair_excess, silencing_curve, spare_one_by_one


def twins(mask: Tensor) -> float:
    """Heads 0 and 3 do the same, head 1 does a little, head 2 nothing."""
    first, second, _, fourth = mask.flatten().tolist()
    return 1.0 - max(first, fourth) - 0.1 * second


def test_a_curve_starts_with_all_heads_and_follows_the_order() -> None:
    assert silencing_curve(twins, [2, 0, 3], (2, 2)) == pytest.approx([-0.1, -0.1, -0.1, 0.9])
    assert silencing_curve(twins, [], (2, 2)) == pytest.approx([-0.1])


@pytest.mark.parametrize("order", [[0, 0], [4], [-1]])
def test_a_head_that_is_not_there_is_refused(order: list[int]) -> None:
    with pytest.raises(ValueError, match="different heads from 0 to 3"):
        silencing_curve(twins, order, (2, 2))


def test_the_other_twin_is_kept_longest() -> None:
    order = spare_one_by_one(twins, (2, 2))
    assert sorted(order) == [0, 1, 2, 3]
    assert set(order[:2]) == {0, 2} and order[-1] == 3


def test_only_twins_are_missed_more_together() -> None:
    excess = pair_excess(twins, (2, 2))
    assert excess.nonzero().tolist() == [[0, 3], [3, 0]]
    assert excess[0, 3] == pytest.approx(1.0)


def test_masks_have_the_shape_of_the_model() -> None:
    seen: list[tuple[int, ...]] = []

    def measure(mask: Tensor) -> float:
        seen.append(tuple(mask.shape))
        assert ((mask == 0) | (mask == 1)).all()
        return float(mask.sum())

    assert silencing_curve(measure, [5, 0], (2, 3)) == [6.0, 5.0, 4.0]
    assert set(seen) == {(2, 3)}
    assert torch.equal(pair_excess(measure, (2, 3)), torch.zeros(6, 6, dtype=torch.float64))
