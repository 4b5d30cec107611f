"""Who asks, who is asked, and who must not look: how six architectures join two sequences."""

import math

import torch
from torch import Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask

ARCHITECTURES = ("gpt", "bart", "whisper", "stable-diffusion", "flamingo", "llava")
"""What :func:`conditioned_block` knows; T5 is wired as BART is."""


def conditioned_block(architecture: str, own: Tensor, memory: Tensor, gate: float = 0.0) -> Tensor:
    """Do what the attention of one block does to the sequence that is being made.

    All projections, norms and feed-forward parts are left out: a token is query, key and value
    itself, and what is found is added to it. What is left is the wiring.

    - ``gpt`` looks at its own past and has no memory.
    - ``bart`` and ``whisper`` look at their own past, then at all of the memory, a sentence or a
      recording.
    - ``stable-diffusion`` looks at all of its own picture, then at all of the memory, a caption.
    - ``flamingo`` first looks at the memory, a picture, through a gate that begins at 0, and then
      at its own past.
    - ``llava`` puts the memory, a picture, in front of its own words and looks at the past of this
      one sequence: no cross-attention.

    Source: Radford et al. (2019); Lewis et al., BART (2020); Radford et al., Whisper (2022), figure
    1; Rombach et al., High-Resolution Image Synthesis with Latent Diffusion Models (2022), section
    3.3; Alayrac et al., Flamingo (2022), section 2.2; Liu et al., Visual Instruction Tuning (2023),
    section 4.1.

    Args:
        architecture: One of :data:`ARCHITECTURES`.
        own: What is being made, ``(B, T, D)``.
        memory: What it is made from, ``(B, S, D)``.
        gate: Flamingo's, before the tanh.

    Returns:
        ``(B, T, D)``.

    Raises:
        ValueError: If the architecture is unknown.

    Example:
        >>> own, memory = torch.ones(1, 2, 4), torch.zeros(1, 3, 4)
        >>> conditioned_block("gpt", own, memory)[0, 0]
        tensor([2., 2., 2., 2.])
        >>> conditioned_block("llava", own, memory)[0, 0] < 2  # zeros compete in the one softmax
        tensor([True, True, True, True])
    """
    if architecture not in ARCHITECTURES:
        raise ValueError(f"architecture is {architecture!r}, wanted one of {ARCHITECTURES}")
    T, S = own.shape[1], memory.shape[1]
    if architecture == "llava":
        stream = torch.cat([memory, own], dim=1)
        return (stream + _attend(stream, stream, causal_mask(S + T)))[:, S:]
    if architecture == "flamingo":
        own = own + math.tanh(gate) * _attend(own, memory)
    past = None if architecture == "stable-diffusion" else causal_mask(T)
    own = own + _attend(own, own, past)
    if architecture in ("bart", "whisper", "stable-diffusion"):
        own = own + _attend(own, memory)
    return own


def _attend(asks: Tensor, searched: Tensor, mask: Tensor | None = None) -> Tensor:
    return scaled_dot_product_attention(asks, searched, searched, mask=mask)[0]
