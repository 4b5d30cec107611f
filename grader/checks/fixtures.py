"""Arguments that the answer's side builds itself, from public code, because they are not data."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


def linear(weight: Tensor, bias: Tensor | None = None) -> nn.Linear:
    """An ``nn.Linear`` with the given ``weight`` ``(out, in)`` and ``bias`` ``(out,)``."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, dtype=weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    return layer


def generator(seed: int) -> torch.Generator:
    """A CPU ``torch.Generator`` seeded with ``seed``."""
    return torch.Generator().manual_seed(seed)


def normal(shape: list[int], seed: int, dtype: str = "float32") -> Tensor:
    """Standard normal numbers of this shape, for inputs too large to send."""
    return torch.randn(shape, generator=generator(seed), dtype=getattr(torch, dtype))


FIXTURES: dict[str, Callable[..., Any]] = {
    "linear": linear,
    "generator": generator,
    "normal": normal,
}


def build(name: str, params: dict[str, Any]) -> Any:
    """Build a named fixture."""
    if name not in FIXTURES:
        raise KeyError(f"no fixture {name!r}; there are {', '.join(sorted(FIXTURES))}")
    return FIXTURES[name](**params)
