"""Seeds and orders, each part of a run with its own."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor


def derive_seed(seed: int, *path: int) -> int:
    """Make a seed of its own for each part of a run, e.g. ``derive_seed(seed, epoch)``.

    Args:
        seed: Seed of the run, not negative.
        path: Numbers that name the part, not negative.

    Returns:
        A number below 2^64 that looks unrelated to those of all other parts and runs.

    Raises:
        ValueError: If a number is negative.

    Example:
        >>> derive_seed(0, 1) == derive_seed(0, 1), derive_seed(0, 1) == derive_seed(1, 0)
        (True, False)
    """
    # NumPy pads with zeros, so the length keeps (0,) and (0, 0) apart.
    return int(np.random.SeedSequence([len(path), seed, *path]).generate_state(1, np.uint64)[0])


def seeded_generator(seed: int, *path: int) -> torch.Generator:
    """Make a CPU generator of its own for each part of a run.

    Args:
        seed: Seed of the run, not negative.
        path: Numbers that name the part, not negative.

    Returns:
        A generator; torch's global one is neither used nor changed.

    Raises:
        ValueError: If a number is negative.

    Example:
        >>> torch.randperm(5, generator=seeded_generator(0, 1))
        tensor([4, 3, 0, 1, 2])
        >>> torch.randperm(5, generator=seeded_generator(0, 1))
        tensor([4, 3, 0, 1, 2])
    """
    return torch.Generator().manual_seed(derive_seed(seed, *path))


def minibatches(
    *tensors: Tensor, batch_size: int, generator: torch.Generator | None = None
) -> Iterator[tuple[Tensor, ...]]:
    """Cut tensors into batches along their first axis, in random order if a generator is given.

    Args:
        tensors: Tensors ``(N, ...)`` of the same N.
        batch_size: Rows of a batch; the last one may be smaller.
        generator: Source of the order.

    Yields:
        One tuple of tensors ``(batch_size, ...)`` for each batch.

    Raises:
        ValueError: If the tensors' first sizes differ or ``batch_size`` is below 1.

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
