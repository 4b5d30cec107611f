from typing import Any

from course_lib.bank.prelude import Exercise, Trial, Wrong

exercise = Exercise(
    id="vit.vit_size",
    points=5,
    minutes=25,
    difficulty=3,
    chapter="12_size.html#vit-count",
    outcomes=("vit.count",),
    severe={
        "grey": "both numbers of every model with colours are wrong",
        "biases_forgotten": "every number of parameters is wrong",
        "no_last_norm": "every number of parameters is wrong",
    },
    returns=("the number of parameters", "the number of multiplications"),
    example=lambda t: (8, 4, 6, 2, 12, 2),
)


def _sizes(t: Trial) -> tuple[int, int, int, int, int]:
    """Image, patch, width, heads and hidden width that nobody would guess."""
    patch = t.integer(3, 5)
    return patch * t.integer(3, 5), patch, 4 * t.integer(5, 10), 4, t.integer(60, 99)


def _one_of_two(t: Trial, which: int, *arguments: int, **more: Any) -> None:
    """Expect one of the two numbers to be right."""
    found = t.call(*arguments, **more)
    if not isinstance(found, (list, tuple)) or len(found) != 2:
        raise Wrong("expected two whole numbers: parameters, multiplications")
    got, want = found[which], t.want(*arguments, **more)[which]
    # The type of a number is asked once, further down.
    got = int(got) if isinstance(got, float) and got.is_integer() else got
    t.close(got, want, t.exercise.returns[which], note=f"called with {arguments}, {more}")


@exercise.prop(
    1.5,
    "Build `nn.TransformerEncoderLayer(6, 2, 12)` and list its parameters. What else is there,"
    " before the blocks and after them?",
)
def parameters(t: Trial) -> None:
    """parameters of a model that has no table of positions and reads the mean of its patches"""
    for n_layers in (1, t.integer(2, 7)):
        _one_of_two(t, 0, *_sizes(t), n_layers, learned=False, pooling="mean")
    _one_of_two(t, 0, *_sizes(t), 2, t.integer(20, 90), learned=False, pooling="mean")


@exercise.prop(1, "How many tokens are there with a class token, and how many without?")
def tokens(t: Trial) -> None:
    """parameters of class token and learned table, which has a row for every token"""
    _one_of_two(t, 0, *_sizes(t), 3)
    _one_of_two(t, 0, *_sizes(t), 3, learned=False)
    _one_of_two(t, 0, *_sizes(t), 3, pooling="mean")


@exercise.prop(
    1,
    "A matrix (m, n) times a matrix (n, p) is m n p multiplications. List the products of a"
    " block: which of them grow with the square of the tokens?",
)
def multiplications(t: Trial) -> None:
    """multiplications of a model that reads the mean of its patches"""
    for n_layers in (1, t.integer(2, 7)):
        _one_of_two(t, 1, *_sizes(t), n_layers, pooling="mean")


@exercise.prop(
    0.5, "The class token goes through the blocks like the others. Is it made of pixels, too?"
)
def with_class(t: Trial) -> None:
    """multiplications with a class token"""
    _one_of_two(t, 1, *_sizes(t), 2)
    _one_of_two(t, 1, *_sizes(t), 2, t.integer(20, 90))


@exercise.prop(1, "Use `//`, not `/`. Does it add a weight to split the width into heads?")
def named(t: Trial) -> None:
    """whole numbers, the same for any number of heads, and right for three named models"""
    t.usual(*_sizes(t), 2)
    image, patch, d_model, _, d_ff = _sizes(t)
    for n_heads in (1, 2, d_model):
        t.same(image, patch, d_model, n_heads, d_ff, 2)
    t.same(224, 16, 192, 3, 768, 12, 1000, note="ViT-Ti/16")
    t.same(224, 16, 768, 12, 3072, 12, 1000, note="ViT-B/16")
    t.same(32, 4, 400, 8, 512, 6, learned=False, note="the CIFAR-10 report's")
