"""Reach of attention through layers, and paths of gradients."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

# --------------------------------------------------------------------------- by masks


def reachability(masks: Tensor | Sequence[Tensor], n_layers: int | None = None) -> Tensor:
    """Inputs that each output can depend on after several layers of masked attention, ``(T, T)``.

    Along paths of one step per layer; the residual path lets a token stay where it is.

    Args:
        masks: Boolean ``(T, T)`` for all layers, or one for each, the first layer first;
            ``True`` = may attend. Layers of shifted windows take turns: ``[a, b, a, b]``.
        n_layers: Number of layers; with several masks they are repeated in turn. As many layers as
            masks if not given.

    Example:
        Each layer of a window of radius 1 reaches one token further.

        >>> from course_lib.masks import sliding_window_mask
        >>> window = sliding_window_mask(6, radius=1)
        >>> reachability(window, 1)[0].int().tolist(), reachability(window, 3)[0].int().tolist()
        ([1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0])
    """
    masks = _square_masks(masks)
    n_layers = len(masks) if n_layers is None else n_layers
    if n_layers < 0:
        raise ValueError(f"n_layers is {n_layers}, wanted at least 0")
    reached = torch.eye(masks[0].shape[0], dtype=torch.bool, device=masks[0].device)
    for layer in range(n_layers):
        reached = _step(masks[layer % len(masks)], reached)
    return reached


def layers_to_reach_all(masks: Tensor | Sequence[Tensor], pairs: Tensor | None = None) -> int:
    """Number of layers until every output depends on every input, or on its ``pairs``.

    These are boolean ``(T, T)``: which outputs must depend on which inputs, such as the two corners
    of an image, or only earlier tokens under a causal mask. The masks are repeated in turn, as in
    :func:`reachability`. If that never happens, it is a ``ValueError``.
    """
    masks = _square_masks(masks)
    size = masks[0].shape[0]
    required = torch.ones_like(masks[0]) if pairs is None else pairs
    if required.shape != (size, size):
        raise ValueError(f"pairs has shape {tuple(required.shape)}, wanted {(size, size)}")
    reached = torch.eye(size, dtype=torch.bool, device=masks[0].device)
    layer, quiet = 0, 0
    while not bool((reached | ~required).all()):
        before = reached
        reached = _step(masks[layer % len(masks)], reached)
        layer += 1
        # When a whole turn of the masks has added nothing, nothing will.
        quiet = quiet + 1 if torch.equal(before, reached) else 0
        if quiet == len(masks):
            missing = int((required & ~reached).sum())
            raise ValueError(f"masks leave {missing} of the pairs wanted unreached at any depth")
    return layer


def _step(mask: Tensor, reached: Tensor) -> Tensor:
    return reached | ((mask.float() @ reached.float()) > 0)


def _square_masks(masks: Tensor | Sequence[Tensor]) -> list[Tensor]:
    masks = [masks] if isinstance(masks, Tensor) else list(masks)
    if not masks:
        raise ValueError("masks is empty, wanted at least one")
    for mask in masks:
        if mask.dtype != torch.bool or mask.ndim != 2 or len(set(masks[0].shape + mask.shape)) > 1:
            raise ValueError(
                f"mask is {mask.dtype} {tuple(mask.shape)}, wanted boolean (T, T), the same T for "
                "all layers"
            )
    return masks


# --------------------------------------------------------------------------- by gradients


def effective_receptive_field(
    layer: Callable[[Tensor], Tensor],
    x: Tensor,
    generator: torch.Generator,
    *,
    at: tuple[int, int] | None = None,
    n_draws: int = 8,
) -> Tensor:
    """Effect of each pixel on one place of a feature map: ``(height, width)``, which sums to 1.

    The root mean square over channels, images and random directions in the output's channels. (A
    plain sum over channels would be wrong after a layer norm: it is constant, its gradient is 0.)

    Source: Luo et al., Understanding the Effective Receptive Field in Deep Convolutional Neural
    Networks (2016), section 3; its signal is 1 in place of random.

    Args:
        layer: Maps images to a feature map ``(B, C', rows, columns)``.
        x: Images ``(B, C, height, width)``.
        at: Row and column of the feature map; its middle if not given.
        n_draws: How many directions.
    """
    if x.ndim != 4:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, C, height, width)")
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        out = layer(x)
    if out.ndim != 4:
        raise ValueError(f"layer returned {tuple(out.shape)}, wanted (B, C, rows, columns)")
    row, column = at if at is not None else (out.shape[2] // 2, out.shape[3] // 2)
    place = out[:, :, row, column]
    total = torch.zeros_like(x)
    for draw in range(n_draws):
        direction = torch.randn(place.shape, generator=generator).to(place)
        (gradient,) = torch.autograd.grad(place, x, direction, retain_graph=draw + 1 < n_draws)
        total = total + gradient.square()
    field = total.mean(dim=(0, 1)).sqrt()
    if not field.any():
        raise ValueError("no pixel moves that place of the feature map")
    return field / field.sum()
