from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="relative.rotate_pairs",
    points=5,
    minutes=25,
    difficulty=3,
    chapter="08_rotary.html#relative-rope",
    example=lambda t: (t.randn(2, 5, 8), torch.arange(5)),
    outcomes=("relative.rotary",),
)


@exercise.prop(2, "Turn the row (1, 0, 1, 0) at position 1 by hand: four numbers, two angles.")
def values(t: Trial) -> None:
    """neighbouring channels turn by position / base^(2i/d)"""
    T = t.integer(4, 7)
    t.same(t.randn(T, 8), torch.arange(T))
    t.same(t.randn(2, 6), torch.tensor([0, 3]), base=float(t.integer(5, 90)), note="another base")


@exercise.prop(0.25, "Both have to be turned in the same sense, and by their own positions.")
def by_distance(t: Trial) -> None:
    """the score of a query and a key depends on how far apart they are, and on nothing else"""
    q, k = t.randn(1, 16), t.randn(1, 16)
    n, shift, distance = t.integer(0, 9), t.integer(10, 200), t.integer(2, 6)

    def score(m: int, n: int) -> Tensor:
        left = t.a_tensor(t.call(q, torch.tensor([m])), q.shape)
        right = t.a_tensor(t.call(k, torch.tensor([n])), k.shape)
        return (left * right).sum()

    here = score(n + distance, n)
    # One shift may leave a sum as it was by chance; three do not.
    for s in (shift, shift + 3, shift + 50):
        t.close(score(n + distance + s, n + s), here, "the score", note=f"shifted by {s}")
    other = float((score(n, n) - here).abs())
    t.expect(other > 1e-3, "the score is the same at distance 0: nothing has been turned")


@exercise.prop(1, "Which channels make up the pairs, and by which width are the exponents divided?")
def some_channels(t: Trial) -> None:
    """with `d_rotary`, the first channels turn and the others rest"""
    # Against the answer's own turn of these channels alone.
    T = t.integer(3, 6)
    for shape, d_rotary in (((T, 12), 4), ((2, T, 10), 8)):
        x, places = t.randn(*shape), 1 + torch.arange(T)
        part = t.a_tensor(t.call(x[..., :d_rotary], places), (*shape[:-1], d_rotary))
        t.expect((part != x[..., :d_rotary]).any(), "nothing has been turned")
        want = torch.cat([part, x[..., d_rotary:]], dim=-1)
        t.close(t.call(x, places, d_rotary=d_rotary), want, note=f"d_rotary={d_rotary}")


@exercise.prop(
    0.25,
    "The positions give the place of each row. Which axis of x do they run along? And turned by 2"
    " 1/2 and back by 1/2, how far is it in all?",
)
def any_positions(t: Trial) -> None:
    """positions in any order, between whole numbers, below 0; batches and heads before them"""
    x, places = t.randn(2, 3, 4, 6), t.integers(0, 50, 4)
    whole = t.a_tensor(t.call(x, places), x.shape)
    for row in range(4):
        alone = t.call(x[1, 2, row : row + 1], places[row : row + 1])
        t.close(alone, whole[1, 2, row : row + 1], f"the row at position {int(places[row])} alone")
    x, further = t.randn(3, 4), torch.tensor([-2.0, 0.5, t.integer(3, 9) + 0.25])
    twice = t.call(t.a_tensor(t.call(x, further), x.shape), 3.5 - further)
    at_once = t.a_tensor(t.call(x, torch.full((3,), 3.5)), x.shape)
    t.expect((at_once != x).any(), "nothing has been turned")
    t.close(twice, at_once, "two turns, to 3 1/2 in all, against one")


@exercise.prop(
    0.5, "An angle of 100 000 in single precision: how many digits are left after its point?"
)
def far(t: Trial) -> None:
    """far positions are turned as exactly as near ones"""
    t.same(t.randn(5, 8), t.integers(200_000, 1_000_000, 5))


@exercise.prop(0.5, "`torch.tensor([1003], dtype=torch.bfloat16)`: what is it?")
def half_precision(t: Trial) -> None:
    """half precision comes out as half precision, turned by exact angles"""
    places = 2 * t.integers(500, 900, 4) + 1
    for dtype, further in ((torch.bfloat16, 0), (torch.float16, 2000)):
        x = t.randn(4, 8).to(dtype)
        exact = t.a_tensor(t.call(x.double(), places + further), x.shape)
        t.expect(not torch.equal(exact, x.double()), "nothing has been turned")
        note = f"{dtype}, against float64"
        t.close(t.call(x, places + further), exact.to(dtype), note=note, exact=True)


@exercise.prop(
    0.5,
    "Writing into channels of `x` changes the caller's queries: make something new. And a layer"
    " that makes queries learns through this function: stay with tensors all the way.",
)
def no_side_effect(t: Trial) -> None:
    """what goes in is left as it was, and a gradient flows back to it"""
    x, places = t.randn(4, 8), t.integers(1, 30, 4)
    out = t.a_tensor(t.call(x, places), x.shape)
    t.expect(not torch.equal(out, x), "nothing has been turned")
    t.unchanged(x, places)
    t.gradient(t.randn(4, 8, dtype=torch.float64), places)
