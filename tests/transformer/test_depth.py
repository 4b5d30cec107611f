"""Profiles over depth: what each arrangement does to tokens and gradients."""

import pytest
import torch

from course_lib.transformer.depth import ARRANGEMENTS, depth_profile, token_diversity


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_a_profile_has_one_entry_more_than_blocks(arrangement):
    profile = depth_profile(arrangement, 3)
    for values in (profile.gradient, profile.variance, profile.diversity):
        assert values.shape == (4,) and values.isfinite().all() and (values > 0).all()
    again = depth_profile(arrangement, 3)
    assert torch.equal(profile.gradient, again.gradient)
    assert not torch.equal(profile.gradient, depth_profile(arrangement, 3, seed=1).gradient)


def test_the_stream_grows_only_where_nothing_holds_it():
    grown = {name: depth_profile(name, 8).variance[-1].item() for name in ARRANGEMENTS}
    assert grown["post"] == pytest.approx(1, abs=1e-3)
    assert grown["residual"] > 3 * grown["pre"] > 9
    assert grown["neither"] < 1e-5
    small = depth_profile("residual", 8, start="torch").variance[-1]
    assert 1 < small < 3 < grown["pre"] < grown["residual"]


def test_a_residual_connection_keeps_gradient_and_tokens():
    bare, kept = depth_profile("neither", 12), depth_profile("pre", 12)
    assert bare.gradient[0] < 1e-3 * bare.gradient[-1]
    assert kept.gradient[0] > kept.gradient[-1]
    assert bare.diversity[-1] < 1e-6 and kept.diversity[-1] > 0.3


def test_diversity_ignores_the_scale_and_knows_equal_tokens():
    x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(token_diversity(3 * x), token_diversity(x))
    assert token_diversity(x[:, :1].expand(2, 5, 4)) < 1e-6


def test_an_unknown_arrangement_is_named():
    with pytest.raises(ValueError, match="arrangement is 'both', wanted one of"):
        depth_profile("both", 2)  # type: ignore[arg-type]
