from course_lib.bank.prelude import Exercise, Tensor, Trial

exercise = Exercise(
    id="space.multimodal_ids",
    points=4,
    minutes=15,
    difficulty=2,
    chapter="19_looking.html#space-multimodal",
    outcomes=("space.rotary", "space.codes"),
    severe={
        "time_from_zero": "the time of a patch is wrong wherever words came before",
        "picture_from_zero": "no row and no column of a patch is right",
        "largest_again": "no number after the first part is right",
    },
    returns=("the numbers", "the next number"),
    example=lambda t: ([2, [1, 2, 3], 1],),
)


@exercise.prop(
    1, "This is the branch that was there already. Does its next number reach the next part?"
)
def words(t: Trial) -> None:
    """words count up, with the same number three times"""
    n = t.integer(2, 6)
    t.same([n])
    t.same([n, t.integer(1, 4)], note="two texts")


@exercise.prop(1, "Write the three rows of [2, (1, 2, 3)] by hand: the time of all patches is 2.")
def picture(t: Trial) -> None:
    """an image's patches have their row and column, counted from where the words ended"""
    rows = t.integer(2, 3)
    t.same([t.integer(2, 5), [1, rows, rows + t.integer(1, 2)]], note="wide")
    t.same([t.integer(2, 5), [1, rows + t.integer(1, 2), rows]], note="high")
    t.same([[1, 2, 3]], note="an image first")


@exercise.prop(
    1, "Not after its number of patches. What is the largest number in any of the three rows?"
)
def after(t: Trial) -> None:
    """what follows an image goes on after its largest number"""
    rows = t.integer(2, 3)
    t.same([3, [1, rows, rows + 2], t.integer(2, 4)], note="the columns are more")
    t.same([3, [1, rows + 2, rows], t.integer(2, 4)], note="the rows are more")
    t.same([1, [1, 2, 2], [1, 3, 2], 1], note="two images")


@exercise.prop(0.5, "Frames change slowest: all patches of frame 0 come before those of frame 1.")
def film(t: Trial) -> None:
    """a film counts its frames, too"""
    frames = t.integer(2, 3)
    # Tokens after an image are asked above.
    short = [2, [frames, 2, 3]]
    numbers, _ = t.values(t.call(short))
    t.close(numbers, t.want(short)[0], "the numbers", note="a short film")
    t.same([1, [5, 2, 2], 2], note="more frames than rows or columns")


@exercise.prop(0.5, "`start` is the number of the first token, whatever that is.")
def start(t: Trial) -> None:
    """numbering may begin anywhere"""
    for parts in ([2, [1, 2, 3], 1], [[2, 2, 1], 2]):
        number = t.integer(3, 20)
        (here, after), (zero, then) = t.call(parts, start=number), t.call(parts)
        t.expect(isinstance(here, Tensor) and isinstance(zero, Tensor), "the numbers are no tensor")
        t.close(here, zero + number, "the numbers", note=f"start {number}, compared to start 0")
        t.close(after, then + number, "the next number", note=f"start {number}")
        t.expect(bool(zero.any()), "all numbers are 0")
