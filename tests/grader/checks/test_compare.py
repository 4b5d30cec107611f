"""What is said of an answer that is close to what was expected, and not close enough."""

from typing import Any

import numpy as np
import pytest
import torch

from grader.checks.compare import alike, difference
from grader.checks.protocol import pack, unpack


def test_numbers_that_differ_look_different() -> None:
    wanted = torch.tensor([2.0, 1.67302], dtype=torch.float64)
    said = difference(wanted + torch.tensor([0.0, 4e-6]), wanted, "out")
    assert said == "out at (1,) is 1.673024, expected 1.67302 (1 of 2 entries differ)"


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        (0.5, 0.4, "out is 0.5, expected 0.4"),
        (1, 2.0, "out is 1, expected 2"),
        (float("nan"), 2.0, "out is nan, expected 2"),
    ],
)
def test_no_more_digits_than_it_takes(got: float, want: float, said: str) -> None:
    assert difference(got, want, "out") == said


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5), torch.tensor(0.5)])
def test_a_number_is_a_number_whatever_made_it(number: Any) -> None:
    got = unpack(pack({"x": (number, [number])}))["x"]
    assert difference(got, (0.5, [0.5])) is None
    assert alike(got[0], 0.5)


@pytest.mark.parametrize("number", [np.int64(3), np.uint8(3), torch.tensor(3)])
def test_so_is_an_integer(number: Any) -> None:
    got = unpack(pack({"x": number}))["x"]
    assert difference(got, 3) is None
    assert difference(got, 4, "k") == "k is 3, expected 4"


@pytest.mark.parametrize("number", [np.float64(3), torch.tensor(3.0), 3.0])
def test_a_float_is_no_integer(number: Any) -> None:
    said = difference(unpack(pack({"x": number}))["x"], 3, "k")
    assert said == "k is a float, expected a whole number"


def test_a_truth_of_numpy_is_one() -> None:
    got = unpack(pack({"x": np.bool_(True)}))["x"]
    assert difference(got, True) is None and difference(got, 1) is not None
