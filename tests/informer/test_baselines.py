import pytest
import torch

from course_lib.informer import LinearForecast, repeat_last, seasonal_naive


def test_the_last_value_is_repeated() -> None:
    x = torch.randn(3, 5, 2)
    out = repeat_last(x, 4)
    assert out.shape == (3, 4, 2) and all(torch.equal(step, x[:, -1]) for step in out.unbind(1))


def test_a_period_is_repeated_from_its_beginning() -> None:
    x = torch.arange(10.0)[None, :, None]
    assert seasonal_naive(x, 5, 4).flatten().tolist() == [6, 7, 8, 9, 6]
    assert torch.equal(seasonal_naive(x, 3, 1), repeat_last(x, 3))
    with pytest.raises(ValueError, match="period is 11, wanted 1 to 10"):
        seasonal_naive(x, 3, 11)


def test_a_linear_rule_with_a_constant_is_found_and_shared_by_all_variables() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(200, 6, 3, generator=generator)
    rule = torch.randn(6, 2, generator=generator)
    forecast = LinearForecast(x, (x.transpose(1, 2) @ rule + 0.5).transpose(1, 2))
    new = torch.randn(4, 6, 5, generator=generator)
    wanted = (new.transpose(1, 2) @ rule + 0.5).transpose(1, 2)
    assert torch.allclose(forecast(new), wanted, atol=1e-4)


def test_no_other_map_has_a_smaller_error() -> None:
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(50, 4, 1, generator=generator), torch.randn(50, 2, 1, generator=generator)
    forecast = LinearForecast(x, y)
    best = (forecast(x) - y).square().mean()
    for place in ((0, 0), (4, 1)):
        forecast.weight[place] += 0.1
        assert (forecast(x) - y).square().mean() > best
        forecast.weight[place] -= 0.1


def test_windows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(5, 4, 2\) and \(6, 3, 2\)"):
        LinearForecast(torch.zeros(5, 4, 2), torch.zeros(6, 3, 2))
