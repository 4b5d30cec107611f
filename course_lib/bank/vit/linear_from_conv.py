from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="vit.linear_from_conv",
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
    D, P = t.integer(4, 7), 2
    mean = 0.3 + 0.1 * torch.arange(1, C + 1) + 0.01 * t.integers(0, 5, C)
    std = 0.2 + 0.15 * torch.arange(1, C + 1) + 0.01 * t.integers(0, 5, C)
    return t.randn(D, C, P, P), t.randn(D), mean, std


@exercise.prop(
    1.5, "`patchify` lists a patch channel by channel, row by row. How is a kernel laid out?"
)
def plain(t: Trial) -> None:
    """pixels that are normalised already: the matrix holds the kernel's numbers in
    patchify's order
    """
    kernel, bias, mean, _ = _sample(t)
    t.same(kernel, bias, torch.zeros_like(mean), torch.ones_like(mean))


@exercise.prop(
    1,
    "The columns of the matrix change places as the numbers of a patch do. Which axis of the"
    " kernel comes last then?",
)
def channels_last(t: Trial) -> None:
    """patches listed pixel by pixel, colours side by side"""
    kernel, bias, mean, _ = _sample(t)
    t.same(kernel, bias, torch.zeros_like(mean), torch.ones_like(mean), layout="channels last")


@exercise.prop(1, "Write W ((x - m) / s) as a product of something with x. What does s divide?")
def deviations(t: Trial) -> None:
    """raw pixels, divided by each channel's deviation: the matrix does it"""
    kernel, bias, mean, std = _sample(t)
    t.same(kernel, bias, torch.zeros_like(mean), std)


@exercise.prop(1, "What is left of W ((x - m) / s) + b for a patch that is black, x = 0?")
def means(t: Trial) -> None:
    """raw pixels, minus each channel's mean: the bias does it"""
    for C in (3, t.integer(4, 5)):
        kernel, bias, mean, std = _sample(t, C)
        t.same(kernel, bias, mean, std)


@exercise.prop(0.5, "`kernel /= std` would change the trained model.")
def unharmed(t: Trial) -> None:
    """all arguments are left as they were"""
    t.unchanged(*_sample(t))
