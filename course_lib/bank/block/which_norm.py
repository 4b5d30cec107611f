from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

NORMS = ("layer", "sentence", "batch", "frozen")
_AXES = {"layer": (-1,), "sentence": (-2, -1), "batch": (0, 1)}


def _apply(norm: str, x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    x = x.double()
    if norm == "frozen":
        return (x - mean) / std
    axes = _AXES[norm]
    centred = x - x.mean(axes, keepdim=True)
    return centred / (centred.square().mean(axes, keepdim=True) + 1e-5).sqrt()


def _experiment(
    t: Trial,
    norm: str,
    shape: tuple[int, int, int] = (3, 4, 8),
    place: tuple[int, int] = (0, 0),
    *,
    size: float = 1.0,
    noise: float = 0.0,
    mirrored: bool = False,
    stays: bool = False,
    fit: str = "",
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Tokens with one of them exchanged, before and after a norm.

    ``stays``: the exchanged token keeps its first channel. ``mirrored``: it was far above the
    others and is now as far below, which moves all others up. ``fit``: what a frozen norm
    remembers makes the mean of ``"all"`` outputs 0, or that of the last ``"token"``, or each one's
    ``"negative"``.
    """
    # Sentences of different means: none is centred by chance after a norm over the batch.
    x = size * (t.randn(*shape) + torch.linspace(-1, 1, shape[0])[:, None, None])
    if mirrored:
        x[place] = 20 * size * (1 + 0.1 * t.randn(shape[-1]))
    other = x.clone()
    other[place] = -x[place] if mirrored else size * (t.randn(shape[-1]) + 6)
    if stays:
        other[place][0] = x[place][0]
    # Statistics of batches of other data: never near the mean and spread of these tokens.
    mean = size * (1.5 + t.randn(shape[-1], dtype=torch.float64).abs())
    std = size * (1 + t.randn(shape[-1], dtype=torch.float64).abs())
    if fit == "negative":
        mean = mean + 10 * size
    elif fit:
        std = torch.full_like(std, 2 * size)
        centre = (x if fit == "all" else x[-1, -1]).double().mean()
        mean = mean - mean.mean() + centre
    out, out_other = (_apply(norm, y, mean, std).float() for y in (x, other))
    return x, out, other, out_other + noise * t.randn(*shape)


exercise = Exercise(
    id="block.which_norm",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="06_block.html#block-norm",
    outcomes=("block.norms",),
    example=lambda t: _experiment(t, "batch"),
)


@exercise.prop(
    0.75,
    "Three groups: the token itself, the rest of its sentence, the other sentences. Which of them"
    " moved?",
)
def first_token(t: Trial) -> None:
    """four norms, told apart by exchanging the first token of the first sentence"""
    for norm in NORMS:
        t.same(*_experiment(t, norm))


@exercise.prop(1, "You are not told which token was exchanged. What tells you?")
def any_token(t: Trial) -> None:
    """wherever the exchanged token is, and although a channel of it has stayed"""
    for norm in ("sentence", "batch"):
        place = (t.integer(1, 2), t.integer(1, 3))
        kept = _experiment(t, norm, place=place, stays=True)
        t.same(*kept, note=f"token {place} exchanged but for a channel")
        far = _experiment(t, norm, place=place, mirrored=True)
        t.same(*far, note=f"token {place} exchanged for its opposite")


@exercise.prop(
    1, "In a large batch one token moves the others only a little. How little is rounding?"
)
def other_shapes(t: Trial) -> None:
    """many sentences, long sentences, few channels"""
    for norm in ("sentence", "batch"):
        for shape in ((20, 25, 6), (2, 50, 4), (12, 2, 16)):
            t.same(*_experiment(t, norm, shape, (1, 1)), note=f"x has shape {shape}")


@exercise.prop(1, "Two runs on a GPU rarely agree to the last digit. What does `==` say then?")
def rounding(t: Trial) -> None:
    """outputs that should be equal may differ in their last digits"""
    for norm in ("layer", "batch"):
        t.same(*_experiment(t, norm, noise=1e-6), note="with noise of 1e-6")


@exercise.prop(
    0.5, "After a layer norm *every* token has a mean of 0, not one and not all together."
)
def fitting_by_chance(t: Trial) -> None:
    """a frozen norm is told from a layer norm, even if its stored statistics centre some outputs"""
    for fit in ("all", "token"):
        t.same(*_experiment(t, "frozen", fit=fit), note="a frozen norm that happens to fit")
        t.same(*_experiment(t, "layer"))
    below = _experiment(t, "frozen", fit="negative")
    t.same(*below, note="a frozen norm that remembers larger tokens than these")


@exercise.prop(
    0.75, "Compare outputs with outputs. How large are they, if the tokens are in thousands?"
)
def any_size(t: Trial) -> None:
    """tokens may be large or small"""
    for norm in ("layer", "batch"):
        for size in (0.05, 2000.0):
            t.same(*_experiment(t, norm, size=size), note=f"tokens of size {size:g}")
