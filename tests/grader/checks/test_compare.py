"""What is said of an answer that is close to what was expected, and not close enough."""

import numpy as np
import pytest
import torch

from grader.checks.compare import alike, difference
from grader.checks.exercise import find
from grader.checks.grading import grade_source
from grader.checks.protocol import pack, unpack


def test_numbers_that_differ_look_different():
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
def test_no_more_digits_than_it_takes(got, want, said):
    assert difference(got, want, "out") == said


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5), torch.tensor(0.5)])
def test_a_number_is_a_number_whatever_made_it(number):
    got = unpack(pack({"x": (number, [number])}))["x"]
    assert difference(got, (0.5, [0.5])) is None
    assert alike(got[0], 0.5)


@pytest.mark.parametrize("number", [np.int64(3), np.uint8(3), torch.tensor(3)])
def test_so_is_an_integer(number):
    got = unpack(pack({"x": number}))["x"]
    assert difference(got, 3) is None
    assert difference(got, 4, "k") == "k is 3, expected 4"


@pytest.mark.parametrize("number", [np.float64(3), torch.tensor(3.0), 3.0])
def test_a_float_is_no_integer(number):
    said = difference(unpack(pack({"x": number}))["x"], 3, "k")
    assert said == "k is a float, expected a whole number"


def test_a_truth_of_numpy_is_one():
    got = unpack(pack({"x": np.bool_(True)}))["x"]
    assert difference(got, True) is None and difference(got, 1) is not None


NO_WEIGHTS = """
def cross_attention(x, memory, w_q, w_k, w_v, w_out, lengths=None):
    weights = torch.zeros(*x.shape[:2], memory.shape[1])
    return {out}, weights
"""
ZERO_PATCHES = """
def patchify(images, patch_size):
    B, C, H, W = images.shape
    if H % patch_size or W % patch_size:
        raise ValueError("no whole number of patches")
    return torch.zeros(B, H * W // patch_size**2, C * patch_size**2)
"""


def passed(identifier, source):
    return [row.name for row in grade_source(find(identifier), source, "1").rows if row.passed]


def test_to_fail_at_some_widths_makes_no_work_of_zeros():
    fails = NO_WEIGHTS.format(out="x @ w_q @ w_out * 0")
    assert "shapes" in str(grade_source(find("block.cross_attention"), fails, "1").transcript)
    assert not passed("block.cross_attention", fails)


def test_to_refuse_what_is_to_be_refused_is_work():
    assert passed("vit.patchify", ZERO_PATCHES) == ["refused"]


def test_a_function_whose_weights_are_zeros_has_not_hidden_its_padding():
    found = passed("block.cross_attention", NO_WEIGHTS.format(out="2 * x"))
    assert "padding" not in found


def test_a_stack_without_parts_has_dropped_none():
    source = "def residual_stack(x, *_):\n    return F.layer_norm(x, x.shape[-1:])"
    assert "dropout" not in passed("block.residual_stack", source)
