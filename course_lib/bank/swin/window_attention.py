from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch
from grader.checks.protocol import Fixture, normal


def attend_under_a_mask(q, k, v, window):
    """Attention in windows by a mask over all pairs of the grid; q, k, v (B, rows, columns, D)."""
    B, rows, columns, D = q.shape
    number = torch.arange(rows)[:, None] // window[0] * columns + torch.arange(columns) // window[1]
    together = number.flatten()[:, None] == number.flatten()
    q, k, v = q.flatten(1, 2), k.flatten(1, 2), v.flatten(1, 2)
    scores = (q @ k.mT / math.sqrt(D)).masked_fill(~together, -torch.inf)
    return (scores.softmax(dim=-1) @ v).unflatten(1, (rows, columns))


exercise = Exercise(
    id="swin.window_attention",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="15_swin.html#swin-windows",
    outcomes=("swin.windows",),
    forbidden=("attention",),
    given=(attend_under_a_mask,),
    example=lambda t: (*grids(t, 1, 4, 6, 3, 3), (2, 3)),
)


def grids(
    t: Trial, B: int, rows: int, columns: int, D: int, Dv: int, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of a grid."""
    q, k, v = (t.randn(B, rows, columns, d, dtype=dtype) for d in (D, D, Dv))
    return q, k, v


def affordable(t: Trial) -> None:
    """What is right and costs everything earns nothing: it is what was handed out.

    Windows never touch values of other windows, and a product of all weights with all values
    does: 0 times NaN is NaN.
    """
    q, k, v = grids(t, 1, 16, 16, 2, 2)
    v[:, 8:] = torch.nan
    got = t.a_tensor(t.call(q, k, v, (4, 4)), v.shape)
    t.expect(
        bool(got[:, :4, :4].isfinite().all()),
        "the first window multiplies values from far below, with weights of 0: all pairs are"
        " computed",
    )


@exercise.prop(1, "Cut a grid of the numbers 0 to 15 and print the first window: 0, 1, 4, 5?")
def square(t: Trial) -> None:
    """square grids in square windows; other windows are never touched"""
    affordable(t)
    m = t.integer(2, 3)
    t.same(*grids(t, 1, 2 * m, 2 * m, 5, 5), (m, m), note=f"windows of {m} x {m}")
    t.same(*grids(t, 2, 3 * m, 3 * m, 5, 5), (m, m), note="nine of them in two images")


@exercise.prop(1, "How many windows are in a row of the grid, and how many in a column?")
def any_shape(t: Trial) -> None:
    """grids that are wide or high, windows that are wide or high"""
    affordable(t)
    m = t.integer(2, 3)
    t.same(*grids(t, 2, m, 4 * m, 5, 5), (m, m), note="a wide grid")
    t.same(*grids(t, 2, 6 * m, 2 * m, 5, 5), (m, m), note="a high grid")
    t.same(*grids(t, 1, 12, 12, 4, 4), (m, 4), note="wide windows")
    t.same(*grids(t, 1, 8, 3 * m, 4, 4), (4, m), note="high windows")


@exercise.prop(0.5, "Change one value and look at who notices: is it a rectangle of the grid?")
def borders(t: Trial) -> None:
    """a token hears its own window and nothing else"""
    affordable(t)
    q, k, v = grids(t, 1, 4, 9, 3, 2)
    other = v.clone()
    other[0, 2, 4] += 5  # in the window of rows 2 and 3, columns 3 to 5
    before, after = (t.a_tensor(t.call(q, k, x, (2, 3)), (1, 4, 9, 2)) for x in (v, other))
    heard = (before != after).any(-1)[0]
    t.expect(bool(heard.any()), "a value that changes reaches no output")
    outside = heard.clone()
    outside[2:4, 3:6] = False
    t.expect(~outside.any(), "a value is heard outside of its window of 2 x 3")
    t.expect(heard[2:4, 3:6].all(), "a value is not heard everywhere in its window of 2 x 3")


@exercise.prop(1, "Which width scales the scores, and which does the result have?")
def sizes(t: Trial) -> None:
    """values of another width, one window for all, one token in each"""
    affordable(t)
    t.same(*grids(t, 1, 2, 3, t.integer(6, 9), 2), (2, 3), note="values narrower than keys")
    t.same(*grids(t, 2, 3, 5, 4, 3), (3, 5), note="one window")
    t.same(*grids(t, 1, 1, 3, 4, 4), (1, 1), note="a window for each token")


@exercise.prop(1, "`softmax` is safe. Does another step write in place or detach?")
def numbers(t: Trial) -> None:
    """large scores, half precision, gradients, and arguments that stay as they were"""
    affordable(t)
    q, k, v = grids(t, 1, 4, 4, 5, 5)
    t.usual(q, k, v, (2, 2))
    t.same(1e8 * q, k, v, (2, 2), note="very large scores")
    low = t.call(q.bfloat16(), k.bfloat16(), v.bfloat16(), (2, 2))
    t.close(low, t.call(q, k, v, (2, 2)).bfloat16(), note="bfloat16, compared to float32")
    t.gradient(*grids(t, 1, 2, 6, 2, 2, torch.float64), (2, 3))
    t.unchanged(*grids(t, 1, 4, 6, 3, 3), (2, 3))


@exercise.prop(
    1.5, "Which of your tensors has as many rows as the grid has tokens, and as many columns?"
)
def large(t: Trial) -> None:
    """a large grid takes no more memory than its windows need"""
    affordable(t)
    shape = [1, 128, 96, 8]
    seeds = [t.integer(0, 999), t.integer(0, 999), t.integer(0, 999)]
    # Windows alone: whether they are right is what other requirements ask.
    places, want = t.slices((1, 1), (128, 8, 8), (96, 4, 4)), []
    for place in places:
        q, k, v = (normal(shape, seed)[place] for seed in seeds)
        want.append(t.a_tensor(t.call(q, k, v, (8, 4)), v.shape))
        t.expect(not torch.equal(want[-1], v), "the values come back")
    t.size_probe(
        *(Fixture("normal", {"shape": shape, "seed": seed}) for seed in seeds),
        (8, 4),
        want=want,
        keep=places,
        memory=120,  # all pairs: 600 MiB for a tensor of scores; windows: 1.5 MiB
        cpu=4,
        why="12,288 tokens have 151 million pairs, and 393,216 of them share a window",
    )
