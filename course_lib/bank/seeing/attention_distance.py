from typing import Any

from course_lib.bank.prelude import Exercise, Tensor, Trial, torch
from grader.checks.compare import name

exercise = Exercise(
    id="seeing.attention_distance",
    points=4,
    minutes=25,
    difficulty=2,
    chapter="13_looking.html#seeing-distance",
    outcomes=("seeing.distance",),
    example=lambda t: (t.randn(2, 5, 5).softmax(-1), (2, 2)),
)


def _maps(t: Trial, *shape: int, sharp: float = 2.0) -> Tensor:
    return (sharp * t.randn(*shape)).softmax(-1)


def _to_patches(maps: Tensor, n_prefix: int = 1) -> Tensor:
    """The same maps, but patches give nothing to what is no patch."""
    maps = maps.clone()
    maps[..., n_prefix:, :n_prefix] = 0
    return maps / maps.sum(-1, keepdim=True)


def _distance(t: Trial, *args: Any) -> Tensor:
    """What the answer returns, which must not be the same for whatever is looked at."""
    got = t.a_tensor(t.call(*args), args[0].shape[:-2])
    t.expect(bool((got > 0.1).all()), "a view of everything has a distance of about 0")
    return got


@exercise.prop(
    1, "A map that looks at itself alone has distance 0, at its neighbour alone about 1 patch."
)
def square_grids(t: Trial) -> None:
    """maps of square grids with a class token in front"""
    for side in (2, 3, t.integer(4, 6)):
        maps = _to_patches(_maps(t, 2, side * side + 1, side * side + 1))
        t.same(maps, (side, side), note=f"a grid of {side} x {side}")


@exercise.prop(0.5, "Patch number 5 of a grid with 4 columns: in which row, in which column?")
def other_grids(t: Trial) -> None:
    """grids that are wider than high, or higher than wide"""
    rows, columns = t.integer(2, 3), t.integer(5, 7)
    n = rows * columns
    for grid, note in (((rows, columns), "wide"), ((columns, rows), "high")):
        # Patches look at each other in pairs, and at nothing else.
        pairs = t.permutation(n)[: n // 2 * 2].reshape(-1, 2)
        order = torch.arange(n)
        order[pairs] = pairs.flip(-1)
        t.same(torch.eye(n)[order], grid, 0, note=f"{note}, patches look at each other in pairs")


@exercise.prop(0.5, "Cut off both the rows and the columns of what is no patch.")
def prefixes(t: Trial) -> None:
    """no token before the patches, or two of them"""
    maps = _to_patches(_maps(t, 2, 11, 11), 2)
    alone = _distance(t, maps[..., 2:, 2:], (3, 3), 0)
    t.close(t.call(maps, (3, 3), 2), alone, "the distance", note="two tokens that are no patches")
    t.close(t.call(maps[..., 1:, 1:], (3, 3)), alone, "the distance", note="n_prefix left out")


@exercise.prop(0.5, "Take nine tenths of each row for the class token: should the distance change?")
def class_token(t: Trial) -> None:
    """what a patch gives to the class token makes its view no nearer"""
    maps = _maps(t, 2, 10, 10)
    before = _distance(t, _to_patches(maps), (3, 3))
    # More of some rows than of others, each of which counts alike all the same.
    taken = torch.tensor([9.0, 0.0, 30.0]).repeat(3)
    maps[..., 1:, 0] = taken * maps[..., 1:, 1:].sum(-1)
    after = t.call(maps / maps.sum(-1, keepdim=True), (3, 3))
    t.close(after, before, "the distance", note="most weight on the class token")


@exercise.prop(0.5, "The next patch is as many pixels away as a patch is wide.")
def pixels(t: Trial) -> None:
    """a distance in pixels, when the side of a patch is given"""
    maps, side = _maps(t, 2, 10, 10), float(t.integer(2, 16))
    want = side * _distance(t, maps, (3, 3))
    t.close(t.call(maps, (3, 3), 1, side), want, "the distance", note=f"patches of {side:g} pixels")


@exercise.prop(0.5, "Count axes from the end.")
def leading_axes(t: Trial) -> None:
    """any axes in front, such as layers, images and heads, and one distance for each map"""
    maps = _maps(t, 2, 3, 2, 10, 10)
    got = _distance(t, maps, (3, 3))
    alone = t.a_tensor(t.call(maps[1, 2, 0], (3, 3)), ())
    what = "a distance of weights (2, 3, 2, 10, 10)"
    t.close(got[1, 2, 0], alone, what, note="compared to alone")


@exercise.prop(
    0.5,
    "Dividing in place changes what the caller still wants to draw. And which functions know half"
    " precision?",
)
def unharmed(t: Trial) -> None:
    """weights in any precision, left as they were"""
    maps = _maps(t, 2, 10, 10)
    best = _distance(t, maps.double(), (3, 3))
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        note = f"{name(maps.to(dtype))}, compared to float64"
        t.close(t.call(maps.to(dtype), (3, 3)), best.to(dtype), "the distance", note=note)
    t.unchanged(maps, (3, 3))
