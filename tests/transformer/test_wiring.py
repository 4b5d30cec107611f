"""How blocks are arranged: over depth, in six architectures, and whether they learn."""

import pytest
import torch
import torch.nn.functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.transformer.depth import (
    ARRANGEMENTS,
    attend_over_depth,
    depth_profile,
    token_diversity,
)
from course_lib.transformer.mirror import train_mirror
from course_lib.transformer.wiring import ARCHITECTURES, conditioned_block
from course_tests.refusals import refusals

OWN = torch.randn(2, 4, 8, generator=torch.Generator().manual_seed(0))
MEMORY = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(1))


def reaches(name, which, gate=0.8):
    own, memory = OWN.clone().requires_grad_(), MEMORY.clone().requires_grad_()
    out = conditioned_block(name, own, memory, gate)
    rows = []
    for t in range(4):
        gradients = torch.autograd.grad(
            out[:, t].sum(),
            (own, memory),
            retain_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
        rows.append(gradients[which].abs().sum(dim=(0, 2)) > 0)
    return torch.stack(rows)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_words_see_their_past_and_pictures_all_of_themselves(name):
    wanted = torch.ones(4, 4, dtype=torch.bool)
    if name != "stable-diffusion":
        wanted = wanted.tril()
    assert torch.equal(reaches(name, 0), wanted)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_all_of_the_memory_reaches_every_token_unless_there_is_none(name):
    assert reaches(name, 1).all() if name != "gpt" else not reaches(name, 1).any()


def test_a_closed_gate_leaves_the_language_model_as_it_was():
    alone = conditioned_block("gpt", OWN, MEMORY)
    assert torch.equal(conditioned_block("flamingo", OWN, MEMORY, gate=0.0), alone)
    assert not torch.allclose(conditioned_block("flamingo", OWN, MEMORY, gate=0.5), alone)


def test_llava_is_a_decoder_alone_over_one_sequence():
    stream = torch.cat([MEMORY, OWN], dim=1)
    whole = conditioned_block("gpt", stream, MEMORY)
    assert torch.allclose(conditioned_block("llava", OWN, MEMORY), whole[:, 6:], atol=1e-6)


test_what_does_not_fit_is_refused = refusals(
    (lambda: conditioned_block("bert", OWN, MEMORY), "architecture is 'bert', wanted one of"),
    (lambda: depth_profile("both", 2), "arrangement is 'both', wanted one of"),
    (lambda: attend_over_depth(torch.zeros(0, 1, 2, 4), torch.zeros(4)), "wanted"),
    (lambda: attend_over_depth(torch.zeros(3, 2, 4), torch.zeros(4)), "wanted"),
    (lambda: attend_over_depth(torch.zeros(3, 1, 2, 4), torch.zeros(5)), "wanted"),
)


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


def test_a_run_repeats_and_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    first = train_mirror("post", 1, steps=4, warm_up=2)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(5)
    assert train_mirror("post", 1, steps=4, warm_up=2) == first
    assert train_mirror("post", 1, steps=4) != first


def test_it_is_attention_with_the_layers_as_keys():
    outputs, query = torch.randn(5, 2, 3, 8), torch.randn(8)
    mixture, weights = attend_over_depth(outputs, query)
    layers = outputs.permute(1, 2, 0, 3)  # (B, T, L, D)
    keys = F.rms_norm(layers, (8,))
    asks = query.expand(2, 3, 1, 8)
    wanted, wanted_weights = scaled_dot_product_attention(asks, keys, layers, scale=1.0)
    torch.testing.assert_close(mixture, wanted[:, :, 0])
    torch.testing.assert_close(weights.permute(1, 2, 0), wanted_weights[:, :, 0])


def test_large_outputs_are_not_looked_for_more_and_a_query_of_zeros_takes_the_mean():
    outputs, query = torch.randn(4, 2, 3, 8), torch.randn(8)
    larger = outputs * torch.tensor([100.0, 1, 1, 1])[:, None, None, None]
    torch.testing.assert_close(
        attend_over_depth(larger, query)[1], attend_over_depth(outputs, query)[1], atol=1e-4, rtol=0
    )
    torch.testing.assert_close(attend_over_depth(outputs, 0 * query)[0], outputs.mean(0))
