"""Sinusoidal positions: the formula, its shift map, its distances."""

import math

import pytest
import torch

from course_lib.positions import sinusoidal_encoding, sinusoidal_positions


def test_table_follows_the_formula():
    table = sinusoidal_positions(50, 16)
    for p in range(50):
        for i in range(8):
            angle = p / 10_000 ** (2 * i / 16)
            assert table[p, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[p, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_a_shift_is_one_rotation_for_all_positions():
    k, d_model = 17, 32
    positions = torch.arange(1000, dtype=torch.float64)
    here, there = (sinusoidal_encoding(p, d_model) for p in (positions, positions + k))
    blocks = []
    for i in range(d_model // 2):
        angle = k * 10_000 ** (-2 * i / d_model)
        blocks.append([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    shift = torch.block_diag(*torch.tensor(blocks, dtype=torch.float64))
    torch.testing.assert_close(here @ shift.T, there, atol=1e-9, rtol=0)
    torch.testing.assert_close(shift @ shift.T, torch.eye(d_model, dtype=torch.float64))


def test_positions_are_distinct_and_of_equal_norm():
    table = sinusoidal_positions(2000, 64)
    torch.testing.assert_close(table.norm(dim=1), torch.full((2000,), math.sqrt(32)))
    distances = torch.cdist(table, table).fill_diagonal_(math.inf)
    assert distances.min() > 1


def test_base_and_dtype_and_shape():
    positions = torch.tensor([[0.5, 1.5]], dtype=torch.float64)
    encoding = sinusoidal_encoding(positions, 4, base=100.0)
    assert encoding.shape == (1, 2, 4) and encoding.dtype == torch.float64
    assert encoding[0, 0, 2].item() == pytest.approx(math.sin(0.05))
    assert sinusoidal_encoding(positions.half(), 4).dtype == torch.float32


@pytest.mark.parametrize("d_model", [0, 1, 7])
def test_odd_widths_are_refused(d_model):
    with pytest.raises(ValueError, match=f"d_model is {d_model}, wanted a positive even number"):
        sinusoidal_positions(3, d_model)
