"""What training keeps between the way forwards and the way back."""

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["saved_bytes"]


def saved_bytes(call: Callable[[], Tensor]) -> int:
    """Bytes that autograd keeps for the way back, without the weights.

    What shares memory counts once.

    Args:
        call: Computes something with a gradient, such as a loss.

    Returns:
        The number of bytes.

    Example:
        >>> x = torch.ones(100, 10)
        >>> weight = torch.ones(10, 10, requires_grad=True)
        >>> saved_bytes(lambda: (x @ weight).relu().sum())  # x, and the result of relu
        8000
    """
    # The tensors are kept, so that no two of them can be at one address one after the other.
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        owner = tensor if tensor._base is None else tensor._base
        if not (owner.is_leaf and owner.requires_grad):
            kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        call()
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())
