"""What the peers of two modalities have in common."""

from typing import Any

import torch
from torch import Generator, Tensor

Inputs = tuple[Any, ...]


def draw_texts(
    generator: Generator, batch: int, length: int, n_words: int, *, first: int, end: int, pad: int
) -> Tensor:
    """Texts of 3 to ``length`` words that end and are filled up."""
    tokens = torch.randint(first, n_words, (batch, length), generator=generator)
    lengths = torch.randint(3, length + 1, (batch,), generator=generator)
    tokens[torch.arange(batch), lengths - 1] = end
    return tokens.masked_fill(torch.arange(length) >= lengths[:, None], pad)
