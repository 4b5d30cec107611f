import pytest
import torch

from course_lib.informer import ChannelForecast, Levelled, PatchForecast


def windows(*, channels: int = 3, seed: int = 0) -> torch.Tensor:
    return torch.randn(4, 32, channels, generator=torch.Generator().manual_seed(seed))


def test_patches_of_a_variable_never_hear_of_another() -> None:
    model, x = PatchForecast(32, 5, patch=8, stride=4).eval(), windows()
    other = x.clone()
    other[..., 1] += torch.randn(4, 32, generator=torch.Generator().manual_seed(1))
    moved = (model(other) - model(x)).abs().amax((0, 1)) > 1e-6
    assert moved.tolist() == [False, True, False]


def test_patches_are_stretches_that_overlap_and_have_positions() -> None:
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


def test_a_patch_must_fit() -> None:
    with pytest.raises(ValueError, match="patch is 16, wanted at most seq_len 8"):
        PatchForecast(8, 4)


def test_variables_hear_of_each_other_and_have_no_order() -> None:
    model, x = ChannelForecast(32, 5).eval(), windows()
    order = torch.tensor([2, 0, 1])
    assert torch.allclose(model(x[..., order]), model(x)[..., order], atol=1e-5)
    other = x.clone()
    other[..., 1] += 1.0
    assert ((model(other) - model(x)).abs().amax((0, 1)) > 1e-6).all()


@pytest.mark.parametrize("level", ["last", "window"])
def test_what_is_added_to_a_window_is_added_to_its_forecast(level: str) -> None:
    model, x = Levelled(ChannelForecast(32, 5), level).eval(), windows()  # type: ignore[arg-type]
    assert torch.allclose(model(x + 5), model(x) + 5, atol=1e-3)
    scaled = torch.allclose(model(3 * x), 3 * model(x), atol=1e-3)
    assert scaled == (level == "window")


def test_the_level_is_that_of_each_variable_of_each_window() -> None:
    class Nothing(torch.nn.Module):
        def forward(self, x: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
            return torch.zeros_like(x[:, :5])

    x = windows()
    assert torch.equal(Levelled(Nothing(), "last")(x), x[:, -1:].expand(-1, 5, -1))
    mean = x.mean(1, keepdim=True).expand(-1, 5, -1)
    assert torch.allclose(Levelled(Nothing(), "window")(x), mean)
    with pytest.raises(ValueError, match="level is 'first'"):
        Levelled(Nothing(), "first")  # type: ignore[arg-type]
