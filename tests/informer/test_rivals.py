"""What an Informer is compared with: lines, patches, channels."""

import pytest
import torch

from course_lib.informer import (
    ChannelForecast,
    Levelled,
    LinearForecast,
    PatchForecast,
    repeat_last,
    seasonal_naive,
)
from course_tests.refusals import refusals


def windows(*, channels=3, seed=0):
    return torch.randn(4, 32, channels, generator=torch.Generator().manual_seed(seed))


def test_patches_of_a_variable_never_hear_of_another():
    model, x = PatchForecast(32, 5, patch=8, stride=4).eval(), windows()
    other = x.clone()
    other[..., 1] += torch.randn(4, 32, generator=torch.Generator().manual_seed(1))
    moved = (model(other) - model(x)).abs().amax((0, 1)) > 1e-6
    assert moved.tolist() == [False, True, False]


def test_patches_are_stretches_that_overlap_and_have_positions():
    model = PatchForecast(32, 5, patch=8, stride=4).eval()
    assert len(model.positions) == 7
    x = windows()
    # Without positions, and with a head that adds up, exchanged patches are forecast alike.
    halves = PatchForecast(32, 5, patch=16, stride=16).eval()
    with torch.no_grad():
        halves.head.weight[:, 32:] = halves.head.weight[:, :32]
        swapped = torch.cat([x[:, 16:], x[:, :16]], dim=1)
        assert not torch.allclose(halves(swapped), halves(x), atol=1e-4)
        halves.positions.zero_()
        assert torch.allclose(halves(swapped), halves(x), atol=1e-5)


test_what_does_not_fit_is_refused = refusals(
    (lambda: PatchForecast(8, 4), "patch is 16 and stride 8, wanted a patch of 1 to 8 steps"),
    (lambda: PatchForecast(8, 4, patch=0), "patch is 0 and stride 8, wanted a patch of 1 to 8"),
    (lambda: PatchForecast(8, 4, patch=4, stride=0), "stride 0, wanted .* of at least 1"),
    (
        lambda: LinearForecast(torch.zeros(5, 4, 2), torch.zeros(6, 3, 2)),
        r"\(5, 4, 2\) and \(6, 3, 2\)",
    ),
)


def test_variables_hear_of_each_other_and_have_no_order():
    model, x = ChannelForecast(32, 5).eval(), windows()
    order = torch.tensor([2, 0, 1])
    assert torch.allclose(model(x[..., order]), model(x)[..., order], atol=1e-5)
    other = x.clone()
    other[..., 1] += 1.0
    assert ((model(other) - model(x)).abs().amax((0, 1)) > 1e-6).all()


@pytest.mark.parametrize("level", ["last", "window"])
def test_what_is_added_to_a_window_is_added_to_its_forecast(level):
    model, x = Levelled(ChannelForecast(32, 5), level).eval(), windows()
    assert torch.allclose(model(x + 5), model(x) + 5, atol=1e-3)
    scaled = torch.allclose(model(3 * x), 3 * model(x), atol=1e-3)
    assert scaled == (level == "window")


def test_the_level_is_that_of_each_variable_of_each_window():
    class Nothing(torch.nn.Module):
        def forward(self, x, *_):
            return torch.zeros_like(x[:, :5])

    x = windows()
    assert torch.equal(Levelled(Nothing(), "last")(x), x[:, -1:].expand(-1, 5, -1))
    mean = x.mean(1, keepdim=True).expand(-1, 5, -1)
    assert torch.allclose(Levelled(Nothing(), "window")(x), mean)
    with pytest.raises(ValueError, match="level is 'first'"):
        Levelled(Nothing(), "first")


def test_the_last_value_is_repeated():
    x = torch.randn(3, 5, 2)
    out = repeat_last(x, 4)
    assert out.shape == (3, 4, 2) and all(torch.equal(step, x[:, -1]) for step in out.unbind(1))


def test_a_period_is_repeated_from_its_beginning():
    x = torch.arange(10.0)[None, :, None]
    assert seasonal_naive(x, 5, 4).flatten().tolist() == [6, 7, 8, 9, 6]
    assert torch.equal(seasonal_naive(x, 3, 1), repeat_last(x, 3))
    with pytest.raises(ValueError, match="period is 11, wanted 1 to 10"):
        seasonal_naive(x, 3, 11)


def test_a_linear_rule_with_a_constant_is_found_and_shared_by_all_variables():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(200, 6, 3, generator=generator)
    rule = torch.randn(6, 2, generator=generator)
    forecast = LinearForecast(x, (x.transpose(1, 2) @ rule + 0.5).transpose(1, 2))
    new = torch.randn(4, 6, 5, generator=generator)
    wanted = (new.transpose(1, 2) @ rule + 0.5).transpose(1, 2)
    assert torch.allclose(forecast(new), wanted, atol=1e-4)


def test_no_other_map_has_a_smaller_error():
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(50, 4, 1, generator=generator), torch.randn(50, 2, 1, generator=generator)
    forecast = LinearForecast(x, y)
    best = (forecast(x) - y).square().mean()
    for place in ((0, 0), (4, 1)):
        forecast.weight[place] += 0.1
        assert (forecast(x) - y).square().mean() > best
        forecast.weight[place] -= 0.1
