"""Angles in single precision cost their property under every seed, cosines in it under none."""

import pytest
import torch

from course_lib.bank.space.axial_rotate import exercise
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.trial import Trial, attempt

(KIND,) = (each for each in exercise.properties if each.run.__name__ == "kind")


def turning(frequencies, angle, cosine):
    """An answer with a dtype for each step."""

    def axial_rotate(x, rows, columns, n_prefix=0, base=100.0):
        half = x.shape[-1] // 2
        rates = (base ** -(torch.arange(0, half, 2, dtype=frequencies) / half)).to(angle)
        n = torch.arange(rows * columns)[:, None]
        angles = torch.cat([n // columns * rates, n % columns * rates], dim=-1)
        cos, sin = angles.cos().to(cosine), angles.sin().to(cosine)
        first, grid = x[..., :n_prefix, :], x[..., n_prefix:, :]
        a, b = grid[..., 0::2], grid[..., 1::2]
        turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
        return torch.cat([first, turned.to(x.dtype)], dim=-2)

    return axial_rotate


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("dtypes", "right"),
    [
        ((torch.float64, torch.float64, torch.float64), True),
        ((torch.float64, torch.float64, torch.float32), True),
        ((torch.float32, torch.float64, torch.float64), False),
        ((torch.float64, torch.float32, torch.float64), False),
        ((torch.float32, torch.float32, torch.float32), False),
    ],
)
def test_the_precision_of_angles_decides(dtypes, right, seed):
    proxy = AnswerProxy.local({"axial_rotate": turning(*dtypes)})
    why = attempt(KIND.run, Trial(exercise, proxy, seed))[1]
    assert (why is None) == right, why
    assert right or "float64, a row of" in why
