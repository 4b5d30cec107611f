"""Exercise ``vit.patchify``."""

import torch

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.vit.patches import patchify

exercise = Exercise(
    id="vit.patchify",
    function="patchify",
    reference=patchify,
    points=5,
    minutes=20,
    difficulty=2,
    chapter="12_vit.html#vit-patches",
    outcomes=("vit.patches",),
    forbidden=("patches",),
    example=lambda t: (t.randn(1, 3, 4, 4), 2),
)


def cut(t: Trial, images: torch.Tensor, P: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What the answer returns, in the right shape, and what was wanted."""
    want = t.want(images, P)
    return t.a_tensor(t.call(images, P), want.shape), want


@exercise.prop(
    "a picture of one patch comes channel by channel, row by row",
    points=1,
    hint="Flatten `torch.arange(18).reshape(1, 2, 3, 3)` by hand, and compare.",
)
def one_patch(t: Trial) -> None:
    for channels in (1, 3):
        P = t.integer(2, 4)
        t.same(t.randn(1, channels, P, P), P, note=f"{channels} channels")


@exercise.prop(
    "each row holds the pixels of one patch, and patches come row after row",
    points=1,
    hint="Which patch is number 1 in a picture of 2 x 3 patches: the one to the right, or below?",
)
def grid(t: Trial) -> None:
    P = t.integer(2, 4)
    for rows, columns in ((1, 4), (2, 3), (4, 2), (3, 3)):
        got, want = cut(t, t.randn(1, 3, rows * P, columns * P), P)
        # In whatever order a patch has its pixels.
        got, want = got.sort(-1).values, want.sort(-1).values
        t.close(got, want, "the sorted pixels", note=f"{rows} x {columns} patches")


@exercise.prop(
    "both together, in pictures that are square, wide or high",
    points=1,
    hint="Cut `torch.arange(48).reshape(1, 2, 4, 6)` into six patches by hand, and compare.",
)
def both(t: Trial) -> None:
    P = t.integer(2, 3)
    t.same(t.randn(1, 3, P, 4 * P), P, note="one row of patches")
    t.same(t.randn(1, 3, 2 * P, 3 * P), P, note="a wide picture")
    t.same(t.randn(1, 2, 4 * P, 2 * P), P, note="a high picture")
    t.same(t.randn(2, 3, 3 * P, 3 * P), P, note="two square pictures")


@exercise.prop(
    "pictures of a batch stay apart, and any number of channels will do",
    points=0.5,
    hint="Axis 0 is the batch. Does it stand first before you flatten?",
)
def batches(t: Trial) -> None:
    images = t.randn(t.integer(2, 4), t.integer(4, 6), 4, 6)
    got, _ = cut(t, images, 2)
    for i in (0, len(images) - 1):
        alone, _ = cut(t, images[i : i + 1], 2)
        t.close(got[i : i + 1], alone, f"picture {i}", note="compared to alone")
    t.expect(not got[0].equal(got[1]), "all pictures of a batch have the same patches")


@exercise.prop(
    "patches of one pixel, and bytes, come out as they went in",
    points=0.5,
    hint="Cutting is not computing: no number changes, nor does its type.",
)
def one_pixel(t: Trial) -> None:
    t.same(t.randn(2, 3, 3, 4), 1)
    t.same(t.integers(0, 255, 2, 3, 4, 6).to(torch.uint8), 1, note="bytes", exact=True)


@exercise.prop(
    "a patch size that does not divide both sides is refused with a ValueError",
    points=0.5,
    hint="Compare `height % patch_size` and `width % patch_size` with 0 before you cut.",
)
def refused(t: Trial) -> None:
    t.raises(t.randn(1, 3, 6, 8), 4, why="6 rows don't fit")
    t.raises(t.randn(1, 3, 8, 6), 4, why="6 columns don't fit")
    cut(t, t.randn(1, 3, 8, 12), 4)


@exercise.prop(
    "every pixel gets its gradient, and the picture is left as it was",
    points=0.5,
    hint="Reshapes and permutations let gradients through. Is anything detached or written over?",
)
def gradients(t: Trial) -> None:
    t.gradient(t.randn(1, 2, 4, 6, dtype=torch.float64), 2)
    t.unchanged(t.randn(1, 3, 4, 6), 2)


@exercise.mistake("After your reshape, do the first P * P numbers come from one corner?")
def reshape_alone(images, patch_size):
    """A reshape to the wanted shape cuts the picture into squares."""
    B, C, H, W = images.shape
    if H % patch_size or W % patch_size:
        raise ValueError("does not divide")
    return images.reshape(B, (H // patch_size) * (W // patch_size), C * patch_size**2)


@exercise.mistake("Which three numbers come first in your patch, and which in the task's?")
def channels_last(images, patch_size):
    """A patch is a list of pixels, each with its colours side by side."""
    B, C, H, W = images.shape
    P = patch_size
    if H % P or W % P:
        raise ValueError("does not divide")
    x = images.reshape(B, C, H // P, P, W // P, P)
    return x.permute(0, 2, 4, 3, 5, 1).reshape(B, -1, C * P * P)


@exercise.mistake("Try a picture of 2 x 3 patches. Is your number 1 to the right of number 0?")
def down_the_columns(images, patch_size):
    """Patches may be listed column after column."""
    B, C, H, W = images.shape
    P = patch_size
    if H % P or W % P:
        raise ValueError("does not divide")
    x = images.reshape(B, C, H // P, P, W // P, P)
    return x.permute(0, 4, 2, 1, 3, 5).reshape(B, -1, C * P * P)


@exercise.mistake("Print the first patch of `torch.arange(16).reshape(1, 1, 4, 4)`.")
def patch_transposed(images, patch_size):
    """Within a patch, rows and columns can be exchanged."""
    B, C, H, W = images.shape
    P = patch_size
    if H % P or W % P:
        raise ValueError("does not divide")
    x = images.reshape(B, C, H // P, P, W // P, P)
    return x.permute(0, 2, 4, 1, 5, 3).reshape(B, -1, C * P * P)


@exercise.mistake("How many rows of patches has your grid in a picture of 4 x 6, cut by 2?")
def sides_swapped(images, patch_size):
    """The last axis is the height."""
    B, C, W, H = images.shape
    P = patch_size
    if H % P or W % P:
        raise ValueError("does not divide")
    x = images.reshape(B, C, H // P, P, W // P, P)
    return x.permute(0, 2, 4, 1, 3, 5).reshape(B, -1, C * P * P)


@exercise.mistake("H becomes two axes. Which of them counts patches and which pixels?")
def combed(images, patch_size):
    """It does not matter which of the two new axes is the patch's."""
    B, C, H, W = images.shape
    P = patch_size
    if H % P or W % P:
        raise ValueError("does not divide")
    x = images.reshape(B, C, P, H // P, P, W // P)
    return x.permute(0, 3, 5, 1, 2, 4).reshape(B, -1, C * P * P)


@exercise.mistake("What has become of the last rows of a picture that is too high?")
def cut_off(images, patch_size):
    """Pixels beyond the last whole patch can be left away."""
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
