"""Arguments that the answer's side builds itself, from public code, because they are large."""

from typing import Any

from grader.base.tensors import Tensor, torch
from grader.checks.protocol import Fixture, mapped


def normal(shape: list[int], seed: int, dtype: str = "float32") -> Tensor:
    """Standard normal numbers of this shape."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=getattr(torch, dtype))


FIXTURES = {"normal": normal}


def built(values: Any) -> Any:
    """A structure with what its fixtures stand for."""
    return mapped(lambda v: FIXTURES[v.name](**v.params) if isinstance(v, Fixture) else v, values)
