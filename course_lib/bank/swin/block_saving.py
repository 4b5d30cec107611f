from typing import Any

from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="swin.block_saving",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="15_stages.html#swin-savings",
    outcomes=("swin.savings",),
    severe={
        "pairs_are_the_block": "it has one number in place of three",
        "scores_alone": "two of the three numbers are wrong for every map",
        "side_is_tokens": "every number is that of another map",
        "what_remains": "every number is the opposite of what is asked for",
        "three_projections": "two of the three numbers are wrong for every map",
    },
    returns=("the share of the pairs", "the share of the layer", "the share of the block"),
    example=lambda t: (14, 14, 768, 7),
)


def _agree(t: Trial, place: int, *args: int, note: str = "", **options: Any) -> None:
    """Expect one of the three shares."""
    got, want = t.values(t.call(*args, **options)), t.want(*args, **options)
    what = exercise.returns[place]
    called = ", ".join([*map(str, args), *(f"{k}={v}" for k, v in options.items())])
    t.close(got[place], float(want[place]), what, note=f"{note or 'called'} with {called}")


@exercise.prop(1, "With how many tokens is each token paired, with windows and without?")
def pairs(t: Trial) -> None:
    """the share of the pairs that is saved"""
    m = t.integer(2, 7)
    _agree(t, 0, t.integer(2, 5) * m, t.integer(6, 9) * m, 8 * t.integer(2, 9), m)


@exercise.prop(
    1.5, "How many matrices of D x D is each token multiplied with, whoever it attends to?"
)
def layer(t: Trial) -> None:
    """the share of the attention layer"""
    _agree(t, 1, 14, 14, 768, 7)
    m = t.integer(3, 8)
    _agree(t, 1, t.integer(2, 5) * m, t.integer(2, 9) * m, 8 * t.integer(2, 9), m)


@exercise.prop(1, "The feed-forward sub-layer has two matrices, of D x 4D and back.")
def block(t: Trial) -> None:
    """the share of the whole block"""
    _agree(t, 2, 56, 56, 96, 7)
    m = t.integer(3, 8)
    _agree(t, 2, t.integer(2, 5) * m, t.integer(2, 9) * m, 8 * t.integer(2, 9), m)


@exercise.prop(0.5, "Where does `mlp_ratio` enter, and in how many matrices?")
def ratio(t: Trial) -> None:
    """feed-forward sub-layers that are wider or narrower"""
    for mlp_ratio in (t.integer(1, 3), t.integer(5, 8)):
        _agree(t, 2, 12, 18, 8 * t.integer(2, 9), 6, mlp_ratio=mlp_ratio)


@exercise.prop(1, "What does a window of 7 x 7 hold of a grid of 4 x 14? Not 49 tokens.")
def small_grids(t: Trial) -> None:
    """a window that is not smaller than the grid, along one axis or both"""
    m = t.integer(5, 8)
    for place in range(3):
        _agree(t, place, m, m, 32, m, note="one window")
        _agree(t, place, m - 1, m - 2, 32, m, note="less than a window")
        _agree(t, place, m - 2, 3 * m, 32, m, note="a low grid")
        _agree(t, place, 2 * m, m - 3, 32, m, note="a narrow grid")
