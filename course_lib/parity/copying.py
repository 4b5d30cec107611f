"""Giving two modules the same weights, and weights that tell them apart."""

from torch import nn


def copy_weights(target: nn.Module, source: nn.Module) -> None:
    """Copy parameters and buffers in the order in which the modules define them.

    Args:
        target: Changed in place; put into the mode and the number format of ``source``.
        source: Where they come from.

    Raises:
        ValueError: If numbers or shapes differ.
    """
    theirs, ours = target.state_dict(), source.state_dict()
    if [x.shape for x in theirs.values()] != [x.shape for x in ours.values()]:
        raise ValueError(f"{type(target).__name__} and {type(source).__name__} differ in shapes")
    target.load_state_dict(dict(zip(theirs, ours.values(), strict=True)))
    dtype = next(x.dtype for x in ours.values() if x.is_floating_point())
    target.to(dtype).train(source.training)


def settled(module: nn.Module) -> nn.Module:
    """Draw what batch norms have learned: at the start they do nothing in evaluation.

    Args:
        module: Changed in place, with all modules inside it.

    Returns:
        The module.
    """
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            statistics = part.running_mean, part.running_var, part.weight, part.bias
            for values, low in zip(statistics, (-0.5, 0.5, 0.5, -0.5), strict=True):
                assert values is not None
                nn.init.uniform_(values, low, low + 1.0)
    return module
