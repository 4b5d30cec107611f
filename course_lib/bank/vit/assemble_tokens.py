from course_lib.bank.prelude import Exercise, Trial, torch
from grader.checks.compare import difference

exercise = Exercise(
    id="vit.assemble_tokens",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="12_vit.html#vit-tokens",
    outcomes=("vit.tokens",),
    example=lambda t: (t.randn(2, 4, 6), t.randn(5, 6), t.randn(6)),
)


def _repaired(t: Trial) -> None:
    """What is right in the function that was handed out earns nothing by itself."""
    args = t.randn(2, 3, 4), t.randn(4, 4), t.randn(4)
    reply = t.reply(*args)
    same = difference(reply.value, colleagues_assemble_tokens(*args)) is None
    t.expect(bool(reply.error) or not same, "it is still the colleague's function")


@exercise.prop(1, "Give it positions of zero. Where is the class token?")
def order(t: Trial) -> None:
    """the class token comes first, and the patches follow in their order"""
    N, D = t.integer(4, 6), 2 * t.integer(2, 4)
    t.same(t.randn(1, N, D), torch.zeros(N + 1, D), t.randn(D), note="positions are zero")


@exercise.prop(0.5, "How many class tokens does a batch of three images need?")
def batch(t: Trial) -> None:
    """the images of a batch get the same class token and the same positions"""
    N, D = t.integer(4, 6), 2 * t.integer(2, 4)
    positions, cls_token = t.randn(N + 1, D), t.randn(D)
    t.usual(t.randn(1, N, D), positions, cls_token)
    t.same(t.randn(N + 1, N, D), positions, cls_token, note="as many images as tokens")


@exercise.prop(
    1.5, "Give it patches and a class token of zeros: the positions should come out, all of them."
)
def rows(t: Trial) -> None:
    """row 0 of the positions belongs to the class token, row n + 1 to patch n"""
    N, D = t.integer(4, 6), 2 * t.integer(2, 4)
    positions = t.randn(N + 1, D)
    t.same(torch.zeros(1, N, D), positions, torch.zeros(D), note="patches are zero")
    t.same(t.randn(1, N, D), positions, t.randn(D))


@exercise.prop(
    0.5, "With mean pooling there is nothing in front of the patches, and no row for it."
)
def without(t: Trial) -> None:
    """without a class token, row n belongs to patch n"""
    _repaired(t)
    N, D = t.integer(4, 6), 6
    t.same(t.randn(2, N, D), t.randn(N, D))


@exercise.prop(1, "What does your function do with the table of a larger image?")
def refused(t: Trial) -> None:
    """a table with rows too few or too many is refused with a ValueError"""
    N, D = t.integer(4, 6), 6
    patches, cls_token = t.randn(1, N, D), t.randn(D)
    t.raises(patches, t.randn(N + 3, D), cls_token, why="two rows too many")
    t.raises(patches, t.randn(N, D), cls_token, why="no row for the class token")
    t.raises(patches, t.randn(1, D), cls_token, why="one row for all tokens")
    t.raises(patches, t.randn(N + 1, D), why="a row for a class token that is not there")
    t.a_tensor(t.call(patches, t.randn(N + 1, D), cls_token), (1, N + 1, D))


@exercise.prop(
    0.5, "The class token and the table are learned: nothing may be copied out of the graph."
)
def gradients(t: Trial) -> None:
    """patches, class token and table get their gradients and stay as they were"""
    _repaired(t)
    double = torch.float64
    t.gradient(
        t.randn(1, 3, 4, dtype=double), t.randn(4, 4, dtype=double), t.randn(4, dtype=double)
    )
    t.unchanged(t.randn(1, 3, 4), t.randn(4, 4), t.randn(4))


def colleagues_assemble_tokens(patches, positions, cls_token=None):
    """What a diagram shows as boxes above each other is code line by line."""
    x = patches + positions[: patches.shape[1]]
    if cls_token is not None:
        x = torch.cat([x, cls_token.expand(len(x), 1, -1)], dim=1)
    return x
