from course_lib.bank.prelude import Exercise, Tensor, Trial, torch
from course_lib.favit import reflected

exercise = Exercise(
    id="favit.dilated_windows",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="16_favit.html#favit-sampling",
    outcomes=("favit.sampling",),
    severe={"corner_of_each_area": "it has no dilation, and dilation is what is asked for"},
    given=(reflected,),
    forbidden=("patches",),
    example=lambda t: (torch.arange(36.0).view(1, 1, 6, 6), 2, 2),
)


def _size(window: int, dilation: int) -> int:
    return dilation * (window - 1) + 1


def samples(t: Trial, x: Tensor, window: int, dilation: int) -> None:
    """Compare which samples there are, in whatever order."""
    got, want = t.call(x, window, dilation), t.want(x, window, dilation)
    t.expect(isinstance(got, Tensor) and got.dim() == 4, "the result is not a tensor of four axes")
    got, want = (s.flatten(2).sort(-1).values for s in (got, want))
    t.close(got, want, "the sorted samples", note=f"a map of {tuple(x.shape[2:])}")


@exercise.prop(
    1, "Which rows of the map are sampled, and which columns? Each row with each column."
)
def one_area(t: Trial) -> None:
    """one area: its samples, row after row"""
    window, dilation = t.integer(3, 4), t.integer(2, 4)
    side = _size(window, dilation)
    t.same(t.randn(1, 2, side, side), window, dilation)


@exercise.prop(1.5, "Number the areas as you read a page. Where does the second one begin?")
def several(t: Trial) -> None:
    """several areas, row after row, in an oblong map"""
    window, dilation = t.integer(2, 4), t.integer(2, 3)
    side = _size(window, dilation)
    t.same(t.randn(2, 3, 2 * side, 3 * side), window, dilation)


@exercise.prop(0.5, "At dilation 1 an area is a window.")
def no_gaps(t: Trial) -> None:
    """without gaps, windows are side by side"""
    t.same(t.randn(1, 2, 6, 9), 3, 1)


@exercise.prop(
    1.5,
    "`reflected` gives for each place beyond the edge the place whose value is used there. Print"
    " some.",
)
def mirror(t: Trial) -> None:
    """a map that areas don't fill goes on in the mirror"""
    window, dilation = t.integer(3, 4), t.integer(2, 3)
    side = _size(window, dilation)
    samples(t, t.randn(1, 2, side + 2, 2 * side + 1), window, dilation)
    samples(t, t.randn(2, 1, 2 * side - 1, side + 1), window, dilation)


@exercise.prop(1, "What does the padding of the library say to a mirror wider than the map?")
def small_maps(t: Trial) -> None:
    """a map much smaller than an area: mirrored again and again"""
    samples(t, t.randn(1, 2, t.integer(2, 5), t.integer(6, 8)), 4, 8)
    samples(t, t.randn(1, 1, 1, t.integer(2, 4)), 3, 2)


@exercise.prop(0.5, "Pick values out of the map itself, and don't make a new tensor of numbers.")
def gradients(t: Trial) -> None:
    """gradients reach every sample; half precision stays half, and the map unchanged"""
    t.gradient(t.randn(1, 2, 7, 6, dtype=torch.float64), 3, 2)
    x = t.randn(1, 2, 7, 6)
    low, note = t.call(x.half(), 3, 2), "float16, compared to float32"
    t.close(low, t.call(x, 3, 2).half(), note=note, exact=True)
    before = x.clone()
    t.close(t.reply(x, 3, 2).after[0], before, "the map after the call")
