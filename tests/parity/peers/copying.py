"""Giving two modules the same weights, and weights that tell them apart."""

from typing import Any

import torch
from torch import Tensor, nn


def copy_weights(target: nn.Module, source: nn.Module) -> None:
    """Copy parameters and buffers in the order in which the modules define them."""
    theirs, ours = target.state_dict(), source.state_dict()
    if [x.shape for x in theirs.values()] != [x.shape for x in ours.values()]:
        raise ValueError(f"{type(target).__name__} and {type(source).__name__} differ in shapes")
    target.load_state_dict(dict(zip(theirs, ours.values(), strict=True)))
    dtype = next(x.dtype for x in ours.values() if x.is_floating_point())
    target.to(dtype).train(source.training)


def copy_submodules(target: nn.Module, source: nn.Module, pairs: str) -> None:
    """Copy the weights of submodules to those of another module."""
    for pair in pairs.split():
        theirs, ours = pair.split("=")
        copy_weights(target.get_submodule(theirs), source.get_submodule(ours))


def packed_qkv(attend: Any) -> tuple[Tensor, Tensor]:
    """Weight and bias of the maps to queries, keys and values, for a peer that has one map."""
    maps = (attend.q_proj, attend.k_proj, attend.v_proj)
    weights, biases = zip(*((part.weight, part.bias) for part in maps), strict=True)
    return torch.cat(weights), torch.cat(biases)


def settled(module: nn.Module) -> nn.Module:
    """Draw what batch norms have learned: at the start they do nothing in evaluation."""
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            statistics = part.running_mean, part.running_var, part.weight, part.bias
            for values, low in zip(statistics, (-0.5, 0.5, 0.5, -0.5), strict=True):
                assert values is not None
                nn.init.uniform_(values, low, low + 1.0)
    return module
