"""Arguments that the answer's side builds itself, from public code, because they are large."""

from typing import Any

import torch
from torch import Tensor


def normal(shape: list[int], seed: int, dtype: str = "float32") -> Tensor:
    """Standard normal numbers of this shape."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=getattr(torch, dtype))


FIXTURES = {"normal": normal}


def build(name: str, params: dict[str, Any]) -> Any:
    """Build a named fixture."""
    if name not in FIXTURES:
        raise KeyError(f"no fixture {name!r}; there are {', '.join(sorted(FIXTURES))}")
    return FIXTURES[name](**params)
