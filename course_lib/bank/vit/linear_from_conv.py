"""Exercise ``vit.linear_from_conv``."""

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(
    kernel: Tensor, bias: Tensor, mean: Tensor, std: Tensor, layout: str = "channels first"
) -> tuple[Tensor, Tensor]:
    """The matrix and the bias of the same embedding, for patches that are not normalised."""
    matrix = kernel / std[:, None, None]
    new_bias = bias - (matrix * mean[:, None, None]).sum(dim=(1, 2, 3))
    if layout == "channels last":
        matrix = matrix.permute(0, 2, 3, 1)
    return matrix.flatten(1), new_bias


exercise = Exercise(
    id="vit.linear_from_conv",
    function="linear_from_conv",
    reference=reference,
    points=5,
    minutes=25,
    difficulty=3,
    chapter="12_vit.html#vit-convolution",
    outcomes=("vit.patches",),
    severe={"kernel_flipped": "every column of the matrix is in the wrong place"},
    returns=("the matrix", "the bias"),
    example=lambda t: (
        t.randn(4, 3, 2, 2),
        t.randn(4),
        torch.tensor([0.5, 0.4, 0.3]),
        torch.tensor([0.2, 0.25, 0.5]),
    ),
)


def _sample(t: Trial, C: int = 3) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A kernel, its bias, means and deviations that all differ."""
    D, P = t.integer(4, 7), t.integer(2, 3)
    mean = 0.3 + 0.1 * torch.arange(1, C + 1) + 0.01 * t.integers(0, 5, C)
    std = 0.2 + 0.15 * torch.arange(1, C + 1) + 0.01 * t.integers(0, 5, C)
    return t.randn(D, C, P, P), t.randn(D), mean, std


@exercise.prop(
    "pixels that are normalised already: the matrix holds the kernel's numbers in patchify's order",
    points=1.5,
    hint="`patchify` lists a patch channel by channel, row by row. How is a kernel laid out?",
)
def plain(t: Trial) -> None:
    kernel, bias, mean, _ = _sample(t)
    t.same(kernel, bias, torch.zeros_like(mean), torch.ones_like(mean))


@exercise.prop(
    "patches listed pixel by pixel, colours side by side",
    points=1,
    hint="The columns of the matrix change places as the numbers of a patch do. Which axis of the"
    " kernel comes last then?",
)
def channels_last(t: Trial) -> None:
    kernel, bias, mean, _ = _sample(t)
    t.same(kernel, bias, torch.zeros_like(mean), torch.ones_like(mean), layout="channels last")


@exercise.prop(
    "raw pixels, divided by each channel's deviation: the matrix does it",
    points=1,
    hint="Write W ((x - m) / s) as a product of something with x. What is s multiplied by?",
)
def deviations(t: Trial) -> None:
    kernel, bias, mean, std = _sample(t)
    for layout in ("channels first", "channels last"):
        t.same(kernel, bias, torch.zeros_like(mean), std, layout=layout)


@exercise.prop(
    "raw pixels, minus each channel's mean: the bias does it",
    points=1,
    hint="What is left of W ((x - m) / s) + b for a patch that is black, x = 0?",
)
def means(t: Trial) -> None:
    for C in (3, t.integer(4, 5)):
        kernel, bias, mean, std = _sample(t, C)
        t.same(kernel, bias, mean, std)
        t.same(kernel, bias, mean, std, layout="channels last")


@exercise.prop(
    "kernel and bias are left as they were",
    points=0.5,
    hint="`kernel /= std` would change the trained model.",
)
def unharmed(t: Trial) -> None:
    t.unchanged(*_sample(t))


@exercise.mistake("Convolve a picture with a single bright pixel by hand. Which weight meets it?")
def kernel_flipped(kernel, bias, mean, std, layout="channels first"):
    """A convolution turns its kernel around before it multiplies."""
    matrix = kernel.flip(2, 3) / std[:, None, None]
    new_bias = bias - (matrix * mean[:, None, None]).sum(dim=(1, 2, 3))
    if layout == "channels last":
        matrix = matrix.permute(0, 2, 3, 1)
    return matrix.flatten(1), new_bias


@exercise.mistake("Your reshape moves no number. Should none move?")
def layout_ignored(kernel, bias, mean, std, layout="channels first"):
    """The matrix has as many columns either way, so the layout is a matter of names."""
    matrix = kernel / std[:, None, None]
    return matrix.flatten(1), bias - (matrix * mean[:, None, None]).sum(dim=(1, 2, 3))


@exercise.mistake("In which order do you list the pixels of a patch: row by row?")
def columns_first(kernel, bias, mean, std, layout="channels first"):
    """With channels last, width comes before height."""
    matrix = kernel / std[:, None, None]
    new_bias = bias - (matrix * mean[:, None, None]).sum(dim=(1, 2, 3))
    if layout == "channels last":
        matrix = matrix.permute(0, 3, 2, 1)
    return matrix.flatten(1), new_bias


@exercise.mistake("Double the deviation of a channel. Should its weights double, or halve?")
def multiplied(kernel, bias, mean, std, layout="channels first"):
    """Undoing a division takes a multiplication."""
    matrix = kernel * std[:, None, None]
    new_bias = bias - (matrix * mean[:, None, None]).sum(dim=(1, 2, 3))
    if layout == "channels last":
        matrix = matrix.permute(0, 2, 3, 1)
    return matrix.flatten(1), new_bias


@exercise.mistake("By how much is a grey patch off, if its pixels all equal the mean?")
def bias_kept(kernel, bias, mean, std, layout="channels first"):
    """Only weights meet the pixels, so the bias stays."""
    matrix = kernel / std[:, None, None]
    if layout == "channels last":
        matrix = matrix.permute(0, 2, 3, 1)
    return matrix.flatten(1), bias.clone() + 0 * mean.sum()


@exercise.mistake("Is the mean divided by the deviation, too?")
def mean_not_divided(kernel, bias, mean, std, layout="channels first"):
    """The mean goes through the weights as they were."""
    matrix = kernel / std[:, None, None]
    new_bias = bias - (kernel * mean[:, None, None]).sum(dim=(1, 2, 3))
    if layout == "channels last":
        matrix = matrix.permute(0, 2, 3, 1)
    return matrix.flatten(1), new_bias


@exercise.mistake("Put a patch in whose pixels equal the mean. What should come out?")
def mean_added(kernel, bias, mean, std, layout="channels first"):
    """What was subtracted from the pixels is given back in the bias."""
    matrix = kernel / std[:, None, None]
    new_bias = bias + (matrix * mean[:, None, None]).sum(dim=(1, 2, 3))
    if layout == "channels last":
        matrix = matrix.permute(0, 2, 3, 1)
    return matrix.flatten(1), new_bias


@exercise.alternative
def asks_the_convolution(kernel, bias, mean, std, layout="channels first"):
    """Feeds a black patch and one bright pixel after the other to the convolution; warns."""
    import warnings

    warnings.warn("probing", stacklevel=1)
    D, C, P, _ = kernel.shape

    def embed(x):
        x = (x - mean.view(-1, 1, 1)) / std.view(-1, 1, 1)
        return F.conv2d(x.double(), kernel.double(), bias.double(), stride=P)[:, :, 0, 0]

    black = embed(torch.zeros(1, C, P, P))
    bright = torch.eye(C * P * P)
    if layout == "channels last":
        pictures = bright.view(-1, P, P, C).permute(0, 3, 1, 2)
    else:
        pictures = bright.view(-1, C, P, P)
    return (embed(pictures) - black).T.to(kernel.dtype), black[0].to(kernel.dtype)


@exercise.alternative
def pixel_by_pixel(kernel, bias, mean, std, layout="channels first"):
    """Writes each column of the matrix by itself."""
    D, C, P, _ = kernel.shape
    matrix, moved = torch.empty(D, C * P * P), bias.clone()
    for c in range(C):
        for y in range(P):
            for x in range(P):
                column = (y * P + x) * C + c if layout == "channels last" else (c * P + y) * P + x
                matrix[:, column] = kernel[:, c, y, x] / std[c]
                moved = moved - matrix[:, column] * mean[c]
    return matrix, moved
