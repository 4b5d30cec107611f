from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="swin.corner_block",
    points=6,
    minutes=30,
    difficulty=4,
    chapter="15_swin.html#swin-reach",
    outcomes=("swin.reach",),
    severe={
        "a_window_a_block": "it counts another speed for every model",
        "adds_the_shift": "it counts another speed for every model",
        "round_the_edge": "information goes over the edge, which the mask of this exercise forbids",
    },
    example=lambda t: (16, 4, 2, [8]),
)


@exercise.prop(
    1.5,
    "Where is the information after the first, the second, the third block? How far do"
    " two blocks together carry it?",
)
def one_stage(t: Trial) -> None:
    """one stage, windows that move by half"""
    m = 2 * t.integer(2, 4)
    for n in (2, t.integer(3, 6)):
        t.same(n * m, m, m // 2, [2 * n + 2], note=f"{n} windows in a row")


@exercise.prop(
    1, "In which window is the token that the information has reached, before the shift and after?"
)
def any_shift(t: Trial) -> None:
    """any other shift, and none"""
    m, n = t.integer(4, 7), t.integer(2, 5)
    for shift in (1, m - 1, m // 2):
        t.same(n * m, m, shift, [2 * n + 4], note=f"moved by {shift}")
    t.same(n * m - 1, m, 1, [2 * n + 4], note="the last window is cut off, moved by 1")
    t.same(n * m, m, 0, [4 * n], note="not moved")


@exercise.prop(
    1.5, "After a merge, token 9 of 56 has become which token of 28? How large is a window now?"
)
def stages(t: Trial) -> None:
    """several stages: merging makes the way shorter"""
    t.same(40, 5, 2, [2, 2, 20], note="windows with an odd side")
    t.same(56, 7, 3, [2, 2, 6, 2], note="as Swin-T")
    m = t.integer(4, 6)
    t.same(16 * m, m, m // 2, [6, 2, 9], note="a long first stage")
    t.same(16 * m, m, m // 2, [8, 2, 9], note="a longer one")
    t.same(8 * m, m, 1, [2, 1, 5, 4])
    t.same(16 * m, m, m - 1, [1, 3, 2, 8])


@exercise.prop(0.5, "With an odd number of blocks in a stage, does the next one begin moved?")
def begins_still(t: Trial) -> None:
    """every stage begins with windows that stand still"""
    m = t.integer(2, 4)
    t.same(8 * m, 2 * m, m, [1, 1, 1, 1], note="one block a stage")
    t.same(8 * m, m, 1, [3, 3, 5], note="odd stages")
    t.same(8 * m, m, 1, [3, 1, 1, 2])


@exercise.prop(
    1, "Where the window holds the whole map, how many blocks does it take, and does it move?"
)
def one_window(t: Trial) -> None:
    """a map that is one window, or less"""
    m = t.integer(3, 8)
    t.same(m, m, m // 2, [2], note="exactly a window")
    t.same(m - 1, m, m // 2, [1], note="less than a window")
    t.same(4 * m, m, m // 2, [1, 1, 1], note="after two merges")
    t.same(4 * m, m, 0, [3, 0, 2], note="after two merges, and nothing moves")
    t.same(2, 1, 0, [2], note="a window for each token")
    t.same(4, 1, 0, [3, 1, 2], note="a window for each token, merged to one")


@exercise.prop(0.5, "What does your function return when its loops are over?")
def too_shallow(t: Trial) -> None:
    """0 if the model ends before"""
    m, n = 2 * t.integer(2, 4), t.integer(3, 6)
    t.same(n * m, m, m // 2, [2 * n - 2], note="one block too few")
    t.same(n * m, m, m // 2, [2 * n - 1], note="just enough")
