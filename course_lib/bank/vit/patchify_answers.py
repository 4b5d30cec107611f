from course_lib.bank.prelude import changed, torch
from course_lib.bank.vit.patchify import exercise
from course_lib.vit.patches import patchify

reference = exercise.answer(patchify)


@exercise.mistake("After your reshape, do the first P * P numbers come from one corner?")
def reshape_alone(images, patch_size):
    """A reshape to the target shape cuts the image into squares."""
    B, C, H, W = images.shape
    if H % patch_size or W % patch_size:
        raise ValueError("does not divide")
    return images.reshape(B, (H // patch_size) * (W // patch_size), C * patch_size**2)


def right(images, patch_size):
    """Base of the mistakes, itself right."""
    B, C, H, W = images.shape
    P = patch_size
    if H % P or W % P:
        raise ValueError("does not divide")
    x = images.reshape(B, C, H // P, P, W // P, P)
    return x.permute(0, 2, 4, 1, 3, 5).reshape(B, -1, C * P * P)


@exercise.mistake("Which three numbers come first in your patch, and which in the task's?")
@changed(right, ("1, 3, 5", "3, 5, 1"))
def channels_last():
    """A patch is a list of pixels, each with its colours side by side."""


@exercise.mistake("Try an image of 2 x 3 patches. Is your number 1 to the right of number 0?")
@changed(right, ("2, 4, 1", "4, 2, 1"))
def down_the_columns():
    """Patches may be listed column after column."""


@exercise.mistake("Print the first patch of `torch.arange(16).reshape(1, 1, 4, 4)`.")
@changed(right, (", 3, 5)", ", 5, 3)"))
def patch_transposed():
    """Within a patch, rows and columns can be exchanged."""


@exercise.mistake("How many rows of patches does your grid have in an image of 4 x 6, cut by 2?")
@changed(right, ("C, H, W", "C, W, H"))
def sides_swapped():
    """The last axis is the height."""


@exercise.mistake("H becomes two axes. Which of them counts patches and which pixels?")
@changed(right, ("H // P,", "P, H // P,"), ("W // P,", "W //"), ("2, 4, 1, 3, 5", "3, 5, 1, 2, 4"))
def combed():
    """It does not matter which of the two new axes is the patch's."""


@exercise.mistake("What has become of the last rows of an image that is too high?")
def cut_off(images, patch_size):
    """Pixels beyond the last whole patch can be left out."""
    B, C, H, W = images.shape
    P = patch_size
    rows, columns = H // P, W // P
    x = images[:, :, : rows * P, : columns * P].reshape(B, C, rows, P, columns, P)
    return x.permute(0, 2, 4, 1, 3, 5).reshape(B, -1, C * P * P)


@exercise.alternative
def patch_by_patch(images, patch_size):
    """Cuts with slices, one patch after the other; prints to stderr."""
    import sys

    print("cutting", file=sys.stderr)
    height, width = images.shape[2:]
    if height % patch_size != 0 or width % patch_size != 0:
        raise ValueError("no whole number of patches")
    cut = []
    for top in range(0, height, patch_size):
        for left in range(0, width, patch_size):
            piece = images[:, :, top : top + patch_size, left : left + patch_size]
            cut.append(piece.flatten(1))
    return torch.stack(cut, dim=1)


@exercise.alternative
def by_number(images, patch_size):
    """Computes for every number of the result which pixel it is, and gathers."""
    B, C, H, W = images.shape
    if any(side % patch_size for side in (H, W)):
        raise ValueError("does not divide")
    place = torch.arange(C * H * W).view(C, H, W)
    windows = place.unfold(1, patch_size, patch_size).unfold(2, patch_size, patch_size)
    order = torch.cat([windows[c].flatten(2) for c in range(C)], dim=-1)
    return images.flatten(1)[:, order.flatten()].view(B, -1, C * patch_size**2)


@exercise.alternative
def split_twice(images, patch_size):
    """Splits into bands and bands into patches."""
    if images.shape[2] % patch_size or images.shape[3] % patch_size:
        raise ValueError("sides are no multiples of the patch")
    bands = images.split(patch_size, dim=2)
    patches = [p.flatten(1) for band in bands for p in band.split(patch_size, dim=3)]
    return torch.stack(patches, 1)
