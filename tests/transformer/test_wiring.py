"""Six architectures, told apart by what reaches what."""

import pytest
import torch

from course_lib.transformer.wiring import ARCHITECTURES, conditioned_block

OWN = torch.randn(2, 4, 8, generator=torch.Generator().manual_seed(0))
MEMORY = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(1))


def reaches(name, which, gate=0.8):
    """Whether output t depends on row s of its own sequence or of the memory, ``(T, rows)``."""
    own, memory = OWN.clone().requires_grad_(), MEMORY.clone().requires_grad_()
    out = conditioned_block(name, own, memory, gate)
    rows = []
    for t in range(4):
        gradients = torch.autograd.grad(
            out[:, t].sum(), (own, memory), retain_graph=True, allow_unused=True,
            materialize_grads=True,
        )  # fmt: skip
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


def test_an_unknown_architecture_is_refused():
    with pytest.raises(ValueError, match="architecture is 'bert', wanted one of"):
        conditioned_block("bert", OWN, MEMORY)
