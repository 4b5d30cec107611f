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
