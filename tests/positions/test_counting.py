"""The codes that don't do fail as they are meant to."""

import pytest
import torch

from course_lib.positions import binary_code, integer_code, ratio_code, sine_code


@pytest.mark.parametrize(("dtype", "bits"), [(torch.float16, 11), (torch.bfloat16, 8)])
def test_integers_run_out_of_digits(dtype, bits):
    codes = integer_code(torch.arange(2**bits + 2), dtype).flatten().tolist()
    assert len(set(codes[: 2**bits + 1])) == 2**bits + 1
    assert codes[2**bits] == codes[2**bits + 1]


def test_ratios_mean_something_else_in_every_length():
    assert ratio_code(torch.tensor([9]), 10) == ratio_code(torch.tensor([90]), 100)
    steps = [ratio_code(torch.tensor([1, 2]), n).diff(dim=0).item() for n in (10, 100)]
    assert steps[0] == pytest.approx(10 * steps[1])


def test_binary_digits_spell_the_number():
    positions = torch.arange(64).reshape(4, 16)
    codes = binary_code(positions, 6)
    assert codes.shape == (4, 16, 6)
    assert torch.equal((codes * 2 ** torch.arange(6)).sum(-1).long(), positions)
    flips = (codes.flatten(0, 1).diff(dim=0) != 0).sum(-1)
    assert flips[7] == 4 and flips[31] == 6 and flips[8] == 1
    with pytest.raises(ValueError, match="reach from 0 to 63, wanted 0 to 31"):
        binary_code(positions, 5)


def test_a_single_wave_repeats_before_its_period():
    codes = sine_code(torch.arange(48), 12).flatten()
    assert len(set(codes.round(decimals=9).add(0.0).tolist())) == 7
    assert codes[2] == pytest.approx(codes[4].item())
