"""Wiring of six architectures that join two sequences: queries, keys and masks."""

import math

import torch
from torch import Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask

ARCHITECTURES = ("gpt", "bart", "whisper", "stable-diffusion", "flamingo", "llava")
"""Architectures of :func:`conditioned_block`; T5 is wired as BART is."""


def conditioned_block(architecture: str, own: Tensor, memory: Tensor, gate: float = 0.0) -> Tensor:
    """Attention of one block on ``own`` ``(B, T, D)``: the wiring, and nothing else.

    A token is query, key and value itself, without projections, norms and feed-forward layers, and
    what is found is added to it. ``gpt`` looks at its own past. ``bart`` (Lewis et al., 2020) and
    ``whisper`` (Radford et al., 2022, figure 1) look at all of the memory ``(B, S, D)`` then.
    ``stable-diffusion`` (Rombach et al., 2022, section 3.3) looks at all of its own image, then
    at all of the memory, a caption. ``flamingo`` (Alayrac et al., 2022, section 2.2) first looks
    at the memory, an image, by the tanh of ``gate``, then at its own past. ``llava`` (Liu et al.,
    2023, section 4.1) puts the memory in front of its own words, and looks at the past of both.
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


def _attend(query: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
    return scaled_dot_product_attention(query, memory, memory, mask=mask)[0]
