from course_lib.bank.prelude import F, Tensor, changed, torch
from course_lib.bank.vit.linear_from_conv import exercise


@exercise.answer
def reference(
    kernel: Tensor, bias: Tensor, mean: Tensor, std: Tensor, layout: str = "channels first"
) -> tuple[Tensor, Tensor]:
    """The matrix and the bias of the same embedding, for patches that are not normalised."""
    matrix = kernel / std[:, None, None]
    new_bias = bias - (matrix * mean[:, None, None]).sum(dim=(1, 2, 3))
    if layout == "channels last":
        matrix = matrix.permute(0, 2, 3, 1)
    return matrix.flatten(1), new_bias


@exercise.mistake("Convolve an image with a single bright pixel by hand. Which weight meets it?")
@changed(reference, ("/ std[:", ".flip(2, 3) / std[:"))
def kernel_flipped():
    """A convolution turns its kernel around before it multiplies."""


@exercise.mistake("Your reshape moves no number. Should none move?")
def layout_ignored(kernel, bias, mean, std, layout="channels first"):
    """The matrix has as many columns either way, so the layout is a matter of names."""
    matrix = kernel / std[:, None, None]
    return matrix.flatten(1), bias - (matrix * mean[:, None, None]).sum(dim=(1, 2, 3))


@exercise.mistake("In which order do you list the pixels of a patch: row by row?")
@changed(reference, ("2, 3, 1", "3, 2, 1"))
def columns_first():
    """With channels last, width comes before height."""


@exercise.mistake("Double the deviation of a channel. Should its weights double, or halve?")
@changed(reference, ("/ std[:", "* std[:"))
def multiplied():
    """Undoing a division takes a multiplication."""


@exercise.mistake("By how much is a grey patch off, if its pixels all equal the mean?")
def bias_kept(kernel, bias, mean, std, layout="channels first"):
    """Only weights meet the pixels, so the bias stays."""
    matrix = kernel / std[:, None, None]
    if layout == "channels last":
        matrix = matrix.permute(0, 2, 3, 1)
    return matrix.flatten(1), bias.clone() + 0 * mean.sum()


@exercise.mistake("Is the mean divided by the deviation, too?")
@changed(reference, ("(matrix", "(kernel"))
def mean_not_divided():
    """The mean goes through the weights as they were."""


@exercise.mistake("Put a patch in whose pixels equal the mean. What should come out?")
@changed(reference, ("bias - (", "bias + ("))
def mean_added():
    """What was subtracted from the pixels is given back in the bias."""


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
