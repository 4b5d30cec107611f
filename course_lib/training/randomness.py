"""Seeds and orders, each part of a run with its own."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor


def derive_seed(seed: int, *path: int) -> int:
    """Make a seed of its own for each part of a run, e.g. ``derive_seed(seed, epoch)``.

    It is below 2^64 and looks unrelated to those of all other parts and runs.
    """
    # NumPy pads with zeros, so the length keeps (0,) and (0, 0) apart.
    return int(np.random.SeedSequence([len(path), seed, *path]).generate_state(1, np.uint64)[0])


def seeded_generator(seed: int, *path: int) -> torch.Generator:
    """Make a CPU generator of its own for each part of a run, as :func:`derive_seed` does."""
    return torch.Generator().manual_seed(derive_seed(seed, *path))


def minibatches(
    *tensors: Tensor, batch_size: int, generator: torch.Generator | None = None
) -> Iterator[tuple[Tensor, ...]]:
    """Cut tensors ``(N, ...)`` into batches, in random order if a generator is given.

    Example:
        >>> [x.tolist() for x, in minibatches(torch.arange(5), batch_size=2)]
        [[0, 1], [2, 3], [4]]
    """
    sizes = [len(tensor) for tensor in tensors]
    if len(set(sizes)) != 1:
        raise ValueError(f"tensors have {sizes} rows, wanted one number for all")
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}, wanted at least 1")
    order = torch.arange(sizes[0])
    if generator is not None:
        order = torch.randperm(sizes[0], generator=generator)
    for rows in order.split(batch_size):
        yield tuple(tensor[rows] for tensor in tensors)
