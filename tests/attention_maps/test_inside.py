"""The residual stream of a model, its lens, silenced heads and moved vectors."""

from typing import cast

import torch

from course_lib.attention_maps import logit_lens, residual_stream, restored_share, silenced
from course_lib.whole import GPT, Block

torch.manual_seed(0)
MODEL = GPT(n_words=11, max_len=6, d_model=8, n_heads=2, d_ff=16, n_layers=3).eval()
BLOCKS = [cast(Block, block) for block in MODEL.blocks]
TEXT = torch.tensor([[1, 7, 3, 3], [4, 2, 9, 0]])


def states(tokens: torch.Tensor) -> list[torch.Tensor]:
    with torch.no_grad():
        x = MODEL.tokens(tokens) + MODEL.positions[: tokens.shape[1]]
        return residual_stream(BLOCKS, x, causal=True)


def test_the_lens_after_the_last_block_is_the_model() -> None:
    found = states(TEXT)
    assert len(found) == 4
    lens = logit_lens(torch.stack(found), MODEL.norm, MODEL.tokens.weight)
    assert lens.shape == (4, 2, 4, 11)
    torch.testing.assert_close(lens[-1], MODEL(TEXT))


def test_a_silenced_head_is_one_without_weights_and_comes_back() -> None:
    before = MODEL(TEXT)
    layers = [block.attention for block in BLOCKS]
    with silenced(layers, [(0, 1), (2, 0)], 4):
        without = MODEL(TEXT)
    torch.testing.assert_close(MODEL(TEXT), before)
    kept = {name: weights.clone() for name, weights in MODEL.state_dict().items()}
    with torch.no_grad():
        layers[0].out_proj.weight[:, 4:] = 0.0
        layers[2].out_proj.weight[:, :4] = 0.0
        torch.testing.assert_close(MODEL(TEXT), without)
    MODEL.load_state_dict(kept)
    assert not torch.allclose(without, before)


def test_a_patch_restores_what_depends_on_its_vector() -> None:
    clean, other = states(TEXT), states(TEXT + torch.tensor([0, 1, 0, 0]))

    def share(layer: int, place: int) -> torch.Tensor:
        places = torch.full((2,), place)
        return restored_share(
            BLOCKS, clean, other, layer, places, lambda x: x[:, -1, 0], causal=True
        )

    torch.testing.assert_close(share(0, 1), torch.ones(2))  # nothing else differs
    torch.testing.assert_close(share(0, 3), torch.zeros(2))
    torch.testing.assert_close(share(3, 3), torch.ones(2))  # nothing comes after
    torch.testing.assert_close(share(2, 0), torch.zeros(2))  # the past cannot change
