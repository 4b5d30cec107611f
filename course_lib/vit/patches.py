"""An image as a sequence of patches."""

from torch import Tensor


def patchify(images: Tensor, patch_size: int) -> Tensor:
    """Cut images ``(B, C, height, width)`` into squares of side P, flat: ``(B, N, C * P * P)``.

    Patches come row after row. A linear map of these vectors is the same as a convolution whose
    kernel and stride are one patch wide.

    Example:
        >>> import torch
        >>> patchify(torch.arange(16).reshape(1, 1, 4, 4), patch_size=2)[0].tolist()
        [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    """
    if images.ndim != 4:
        raise ValueError(f"images have shape {tuple(images.shape)}, wanted (B, C, height, width)")
    height, width = images.shape[-2:]
    if patch_size < 1 or height % patch_size or width % patch_size:
        raise ValueError(f"patch_size is {patch_size}, wanted a divisor of {height} and {width}")
    rows, columns = height // patch_size, width // patch_size
    grid = images.unflatten(3, (columns, patch_size)).unflatten(2, (rows, patch_size))
    return grid.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


def rearrange_patches(images: Tensor, order: Tensor, patch_size: int) -> Tensor:
    """Lay the patches of images ``(B, C, height, width)`` out in another order.

    Entry i of ``order`` ``(N,)`` is the patch, counted row after row, that comes to place i.
    """
    patches = patchify(images, patch_size)
    n_patches = patches.shape[1]
    if order.ndim != 1 or sorted(order.tolist()) != list(range(n_patches)):
        raise ValueError(
            f"order has shape {tuple(order.shape)}, wanted a permutation of {n_patches} patches"
        )
    rows = images.shape[2] // patch_size
    moved = patches[:, order.to(patches.device)].unflatten(1, (rows, -1))
    grid = moved.unflatten(3, (-1, patch_size, patch_size))  # (B, rows, columns, C, P, P)
    return grid.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)


def check_images(images: Tensor, n_channels: int, image_size: int | None = None) -> None:
    """Refuse images that are not ``(B, C, image_size, image_size)``, have no pixels, or no floats.

    The bytes of a file are no floats. Any size will do if it is None.
    """
    sizes = ("height", "width") if image_size is None else (image_size, image_size)
    if (
        images.ndim != 4
        or images.shape[1] != n_channels
        or (0 in images.shape[2:] if image_size is None else images.shape[2:] != sizes)
    ):
        raise ValueError(
            f"images have shape {tuple(images.shape)}, wanted (B, {n_channels}, {sizes[0]}, "
            f"{sizes[1]})"
        )
    if not images.is_floating_point():
        raise ValueError(
            f"images have dtype {images.dtype}, wanted a floating-point one: images.float() / 255"
        )
