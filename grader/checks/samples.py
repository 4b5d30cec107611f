"""The samples of a property: drawn from a seed, so that the same seed has the same ones."""

from typing import Any

import numpy as np

from grader.base.tensors import Tensor, torch


class Samples:
    """Draws numbers, masks and places; ``drawn`` says whether real numbers were among them."""

    def __init__(self, seed: int) -> None:
        # The same Mersenne twister, so that single integers are the same with torch and without.
        self.generator: Any = (
            torch.Generator().manual_seed(seed) if torch else np.random.RandomState(seed % 2**32)
        )
        self.drawn = False

    def randn(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Standard normal numbers."""
        self.drawn = True
        return torch.randn(shape, generator=self.generator, dtype=torch.float64).to(dtype)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """Integers from ``low`` to ``high`` inclusive."""
        return torch.randint(low, high + 1, shape, generator=self.generator)

    def integer(self, low: int, high: int) -> int:
        """One integer from ``low`` to ``high`` inclusive."""
        if torch:
            return int(self.integers(low, high).item())
        size, word = high + 1 - low, 0
        for _ in range(1 if size < 2**28 else 2):
            word = word << 32 | int(self.generator.randint(2**32, dtype=np.uint64))
        return low + word % size

    def permutation(self, n: int) -> Tensor:
        """A permutation of ``n`` that is not the identity."""
        while True:
            order = torch.randperm(n, generator=self.generator)
            if n < 2 or not order.equal(torch.arange(n)):
                return order

    def keep_mask(self, *shape: int, keep: float = 0.6) -> Tensor:
        """A boolean mask, True = may attend, with a True in every row and a False somewhere."""
        mask = torch.rand(*shape, generator=self.generator) < keep
        first = self.integers(0, shape[-1] - 1, *shape[:-1], 1)
        mask.scatter_(-1, first, True)
        if mask.all() and shape[-1] > 1:
            mask.scatter_(-1, (first + 1) % shape[-1], False)
        return mask

    def slices(self, *axes: tuple[int, ...], number: int = 3) -> list[tuple[slice, ...]]:
        """Slices of a large result, to be compared: nobody knows beforehand which.

        Of each leading axis: its length, how much of it a slice has, and perhaps a step between.
        """

        def one(length: int, wide: int, step: int = 1) -> slice:
            first = step * self.integer(0, (length - wide) // step)
            return slice(first, first + wide)

        many = number if any(length > wide for length, wide, *_ in axes) else 1
        return [tuple(one(*axis) for axis in axes) for _ in range(many)]
