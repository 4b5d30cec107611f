"""What is said of an answer that is close to what was wanted, and not close enough."""

import pytest
import torch

from course_lib.checks.compare import difference


def test_numbers_that_differ_look_different() -> None:
    wanted = torch.tensor([2.0, 1.67302], dtype=torch.float64)
    said = difference(wanted + torch.tensor([0.0, 4e-6]), wanted, "out")
    assert said == "out at (1,) is 1.673024, wanted 1.67302 (1 of 2 entries differ)"


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        (0.5, 0.4, "out is 0.5, wanted 0.4"),
        (1, 2.0, "out is 1, wanted 2"),
        (float("nan"), 2.0, "out is nan, wanted 2"),
    ],
)
def test_no_more_digits_than_it_takes(got: float, want: float, said: str) -> None:
    assert difference(got, want, "out") == said
