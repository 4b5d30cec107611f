"""What follows from sinusoidal positions, held to the table itself."""

import math

import pytest
import torch

from course_lib.positions import code_similarity, shift_matrix, sinusoidal_encoding, wavelengths


def codes(positions, d_model, base=10_000.0):
    return sinusoidal_encoding(torch.as_tensor(positions, dtype=torch.float64), d_model, base=base)


@pytest.mark.parametrize("base", [10_000.0, 50.0])
@pytest.mark.parametrize("shift", [0, 1, 17, -3, 2.5])
def test_a_shift_moves_every_code_alike(shift, base):
    here = torch.arange(200)
    moved = codes(here, 32, base) @ shift_matrix(shift, 32, base=base).T
    torch.testing.assert_close(moved, codes(here + shift, 32, base), atol=1e-9, rtol=0)


def test_shifts_form_a_group_of_rotations():
    there, on = shift_matrix(5, 16), shift_matrix(-2, 16)
    torch.testing.assert_close(there @ on, shift_matrix(3, 16))
    torch.testing.assert_close(there.T, shift_matrix(-5, 16))
    torch.testing.assert_close(there @ there.T, torch.eye(16, dtype=torch.float64))


def test_inner_products_follow_from_the_distance():
    p, q = torch.arange(0, 300, 7), torch.arange(0, 300, 11)
    found = codes(p, 64) @ codes(q, 64).T
    torch.testing.assert_close(code_similarity(p[:, None] - q, 64), found, atol=1e-9, rtol=0)


@pytest.mark.parametrize("d_model", [2, 8, 128])
def test_a_wave_comes_back_after_its_length(d_model):
    found = wavelengths(d_model, base=100.0)
    assert found.shape == (d_model // 2,)
    for pair, length in enumerate(found.tolist()):
        here, there = codes([3.0, 3.0 + length], d_model, 100.0)[:, 2 * pair : 2 * pair + 2]
        torch.testing.assert_close(here, there)
    assert found[-1].item() == pytest.approx(2 * math.pi * 100 ** ((d_model - 2) / d_model))


@pytest.mark.parametrize(
    "build",
    [wavelengths, lambda d: shift_matrix(1, d), lambda d: code_similarity(torch.ones(1), d)],
)
def test_odd_widths_are_refused_everywhere(build):
    with pytest.raises(ValueError, match="is 7, wanted a positive even number"):
        build(7)
