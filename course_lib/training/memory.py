"""Memory that training keeps for the backward pass, and how to keep less of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


@contextmanager
def recomputing(model: nn.Module, *kinds: type[nn.Module]) -> Iterator[None]:
    """Let modules keep only their inputs, and compute the rest again in the backward pass.

    Known as gradient checkpointing (Chen et al., 2016, section 3). Name kinds that hold whole
    blocks, residual connections included; of parts within parts both recompute. The gradients stay
    as they are, dropout included.

    Raises:
        ValueError: If the model has no such part, or a part computes something else when it is
            computed again: a module whose ``draws_by_call`` is true.
    """
    parts = [part for part in model.modules() if isinstance(part, kinds)]
    if not parts:
        wanted = ", ".join(kind.__name__ for kind in kinds) or "at least one kind"
        raise ValueError(f"{type(model).__name__} has no part to recompute, wanted {wanted}")
    # Dropout's generator is put back for the second time; a count of calls is not.
    counting = {
        type(m).__name__ for p in parts for m in p.modules() if getattr(m, "draws_by_call", False)
    }
    if counting:
        raise ValueError(
            f"{', '.join(sorted(counting))} draws anew at every call, so that recomputing would"
            " change the gradients; wanted parts without it"
        )
    for part in parts:
        # In the instance's own namespace, where it hides the class's method.
        vars(part)["forward"] = partial(checkpoint, part.forward, use_reentrant=False)
    try:
        yield
    finally:
        for part in parts:
            del vars(part)["forward"]


def saved_bytes(call: Callable[[], Tensor]) -> int:
    """Bytes that autograd keeps of a call for the backward pass, without the weights.

    What shares memory counts once.

    Example:
        >>> x, weight = torch.ones(100, 10), torch.ones(10, 10, requires_grad=True)
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
