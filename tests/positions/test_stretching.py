"""The weights written out do what the library's interpolation does."""

import pytest
import torch
from torch.nn import functional as F

from course_lib.positions.stretching import stretch_grid, stretch_places, stretch_weights


@pytest.mark.parametrize("new", [(3, 5), (6, 10), (4, 7), (2, 3), (1, 1), (5, 3)])
def test_agrees_with_interpolate(new):
    table = torch.randn(2 + 15, 4, generator=torch.Generator().manual_seed(0))
    grid = table[2:].T.unflatten(1, (3, 5))[None]
    theirs = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)[0].flatten(1).T
    fitted = stretch_grid(table, (3, 5), new, n_prefix=2)
    torch.testing.assert_close(fitted[2:], theirs)
    assert fitted[:2].equal(table[:2])


@pytest.mark.parametrize(("old", "new"), [(1, 4), (4, 1), (5, 9), (9, 5)])
def test_rows_of_weights_sum_to_one(old, new):
    weights = stretch_weights(old, new)
    assert weights.shape == (new, old) and weights.min() >= 0
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(new).double())


def test_there_and_back_in_places():
    assert stretch_places(6, 6).equal(torch.arange(6).double())
    assert stretch_places(6, 12).mean() == stretch_places(6, 3).mean() == 2.5


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"shape \(5, 2\), wanted \(0 \+ 2 \* 3, D\)"):
        stretch_grid(torch.zeros(5, 2), (2, 3), (2, 2))
    with pytest.raises(ValueError, match="there are 2 old and 0 new cells"):
        stretch_weights(2, 0)
