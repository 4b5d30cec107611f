from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="vit.patchify",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="12_vit.html#vit-patches",
    outcomes=("vit.patches",),
    forbidden=("patches",),
    example=lambda t: (t.randn(1, 3, 4, 4), 2),
)


def cut(t: Trial, images: torch.Tensor, P: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What the answer returns, in the right shape, and what was expected."""
    want = t.want(images, P)
    return t.a_tensor(t.call(images, P), want.shape), want


@exercise.prop(1, "Flatten `torch.arange(18).reshape(1, 2, 3, 3)` by hand, and compare.")
def one_patch(t: Trial) -> None:
    """an image of one patch comes channel by channel, row by row"""
    for channels in (1, 3):
        P = t.integer(2, 4)
        t.same(t.randn(1, channels, P, P), P, note=f"{channels} channels")


@exercise.prop(
    1, "Which patch is number 1 in an image of 2 x 3 patches: the one to the right, or below?"
)
def grid(t: Trial) -> None:
    """each row holds the pixels of one patch, and patches come row after row"""
    P = t.integer(2, 4)
    for rows, columns in ((1, 4), (2, 3), (4, 2), (3, 3)):
        got, want = cut(t, t.randn(1, 3, rows * P, columns * P), P)
        # In whatever order a patch has its pixels.
        got, want = got.sort(-1).values, want.sort(-1).values
        t.close(got, want, "the sorted pixels", note=f"{rows} x {columns} patches")


@exercise.prop(
    1, "Cut `torch.arange(48).reshape(1, 2, 4, 6)` into six patches by hand, and compare."
)
def both(t: Trial) -> None:
    """both together, in images that are square, wide or high"""
    P = t.integer(2, 3)
    t.same(t.randn(1, 3, P, 4 * P), P, note="one row of patches")
    t.same(t.randn(1, 3, 2 * P, 3 * P), P, note="a wide image")
    t.same(t.randn(1, 2, 4 * P, 2 * P), P, note="a high image")
    t.same(t.randn(2, 3, 3 * P, 3 * P), P, note="two square images")


@exercise.prop(0.5, "Axis 0 is the batch. Does it come first before you flatten?")
def batches(t: Trial) -> None:
    """images of a batch stay apart, and any number of channels will do"""
    images = t.randn(t.integer(2, 4), t.integer(4, 6), 4, 6)
    got, _ = cut(t, images, 2)
    for i in (0, len(images) - 1):
        alone, _ = cut(t, images[i : i + 1], 2)
        t.close(got[i : i + 1], alone, f"image {i}", note="compared to alone")
    t.expect(not got[0].equal(got[1]), "all images of a batch have the same patches")


@exercise.prop(0.5, "Cutting is not computing: no number changes, nor does its type.")
def one_pixel(t: Trial) -> None:
    """patches of one pixel, and bytes, come out as they went in"""
    t.same(t.randn(2, 3, 3, 4), 1)
    t.same(t.integers(0, 255, 2, 3, 4, 6).to(torch.uint8), 1, note="bytes", exact=True)


@exercise.prop(0.5, "Compare `height % patch_size` and `width % patch_size` with 0 before you cut.")
def refused(t: Trial) -> None:
    """a patch size that does not divide both sides is refused with a ValueError"""
    t.raises(t.randn(1, 3, 6, 8), 4, why="6 rows don't fit")
    t.raises(t.randn(1, 3, 8, 6), 4, why="6 columns don't fit")
    cut(t, t.randn(1, 3, 8, 12), 4)


@exercise.prop(
    0.5, "Reshapes and permutations let gradients through. Is anything detached or written over?"
)
def gradients(t: Trial) -> None:
    """every pixel gets its gradient, and the image is left as it was"""
    t.gradient(t.randn(1, 2, 4, 6, dtype=torch.float64), 2)
    t.unchanged(t.randn(1, 3, 4, 6), 2)
