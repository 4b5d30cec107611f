"""The reading-backwards task: learnable, repeatable, and indifferent to the global generator."""

import torch

from course_lib.transformer.mirror import train_mirror


def test_a_shallow_stack_learns_it():
    losses = train_mirror("pre", 1, steps=80)
    assert losses[0] > 2 and losses[-1] < 0.5 * losses[0]


def test_a_run_repeats_and_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    first = train_mirror("post", 1, steps=4, warm_up=2)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(5)
    assert train_mirror("post", 1, steps=4, warm_up=2) == first
    assert train_mirror("post", 1, steps=4) != first


def test_a_gain_of_one_changes_nothing_and_a_small_one_lets_deep_post_norm_learn():
    assert train_mirror("post", 1, steps=3, gain=1.0) == train_mirror("post", 1, steps=3)
    large, small = (train_mirror("post", 8, steps=50, gain=g)[-1] for g in (1.0, 0.1))
    assert small < 0.5 < 1.5 < large
