"""Inner vectors of a model, what they would predict, and what depends on them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn


def residual_stream(blocks: Iterable[nn.Module], x: Tensor, **options: object) -> list[Tensor]:
    """Vectors ``(B, T, D)`` before the first block and after each; the options are the blocks'."""
    states = [x]
    for block in blocks:
        states.append(block(states[-1], **options))
    return states


def logit_lens(states: Tensor, norm: nn.Module, table: Tensor) -> Tensor:
    """Logits ``(..., V)`` that the last step of a model gives to vectors ``(..., D)`` of any layer.

    ``norm`` follows the last block, and ``table`` has a row for each token, ``(V, D)``.

    Source: nostalgebraist, Interpreting GPT: the Logit Lens (2020).
    """
    return norm(states) @ table.T


@contextmanager
def silenced(
    layers: Sequence[nn.Module], heads: Iterable[tuple[int, int]], d_head: int
) -> Iterator[None]:
    """Set the outputs of some heads, pairs of layer and head, to 0 for a while.

    ``layers`` are the attention of each block, whose ``out_proj`` reads the heads side by side.
    """
    with ExitStack() as stack:
        for layer, head in heads:
            channels = slice(head * d_head, (head + 1) * d_head)

            def silence(
                _: nn.Module, inputs: tuple[Tensor], channels: slice = channels
            ) -> tuple[Tensor]:
                mixed = inputs[0].clone()
                mixed[..., channels] = 0.0
                return (mixed,)

            out_proj = layers[layer].get_submodule("out_proj")
            stack.enter_context(out_proj.register_forward_pre_hook(silence))
        yield


def restored_share(
    blocks: Sequence[nn.Module],
    clean: Sequence[Tensor],
    other: Sequence[Tensor],
    layer: int,
    places: Tensor,
    answer: Callable[[Tensor], Tensor],
    **options: object,
) -> Tensor:
    """Share of an answer that one vector of the clean run restores in the other run, ``(B,)``.

    0 if the patched run still answers like the other one, 1 if it answers like the clean one. Of
    both, the :func:`residual_stream` of texts ``(B, T)`` is given; ``places`` are those of the
    vectors ``(B,)``, after ``layer`` blocks. ``answer`` maps ``(B, T, D)`` to numbers ``(B,)``.

    Source: Vig et al., Investigating Gender Bias in Language Models Using Causal Mediation
    Analysis (2020).
    """
    x, rows = other[layer].clone(), torch.arange(len(places))
    x[rows, places] = clean[layer][rows, places]
    good, bad = answer(clean[-1]), answer(other[-1])
    return (answer(residual_stream(blocks[layer:], x, **options)[-1]) - bad) / (good - bad)
