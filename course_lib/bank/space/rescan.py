from course_lib.bank.prelude import Exercise, Tensor, Trial, torch
from course_lib.positions.scans import scan_order

exercise = Exercise(
    id="space.rescan",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="11_order.html#space-scan",
    outcomes=("space.order",),
    example=lambda t: (t.randn(6, 2), scan_order("zigzag", 2, 3), torch.arange(6)),
)


def _orders(t: Trial, n: int) -> tuple[Tensor, Tensor]:
    """Two orders of n places that are not their own inverses, and don't commute."""
    while True:
        a, b = t.permutation(n), t.permutation(n)
        if not (a[a].equal(torch.arange(n)) or b[b].equal(torch.arange(n)) or a[b].equal(b[a])):
            return a, b


@exercise.prop(1, "order[i] is the place of token i. Where, then, does token i go?")
def to_raster(t: Trial) -> None:
    """from a scan back to raster order"""
    n = t.integer(6, 9)
    t.same(t.randn(n, 3), _orders(t, n)[0], torch.arange(n))
    t.same(t.randn(12, 2), scan_order("spiral", 3, 4), torch.arange(12), note="a spiral of 3 x 4")


@exercise.prop(0.5, "If the tokens lie in raster order, which of them has to come as number j?")
def from_raster(t: Trial) -> None:
    """from raster order to a scan"""
    n = t.integer(6, 9)
    # As wide as the sequence is long: the last axis may be taken for that of the tokens.
    t.same(t.randn(n, n), torch.arange(n), _orders(t, n)[0])


@exercise.prop(
    1,
    "Two steps: back to the raster, and from there along the new scan. Which of the two is done"
    " first?",
)
def between(t: Trial) -> None:
    """from any scan to any other"""
    n = t.integer(7, 9)
    t.same(t.randn(n, 2), *_orders(t, n))
    t.same(
        t.randn(20, 1),
        scan_order("zigzag", 4, 5),
        scan_order("spiral", 4, 5),
        note="zigzag to spiral",
    )


@exercise.prop(0.5, "Count axes from the end: tokens are the one before the last.")
def leading_axes(t: Trial) -> None:
    """batches come along, and whole numbers stay whole"""
    a, b = _orders(t, 6)
    for x in (t.randn(3, 6, 4), t.randn(6, 6, 6), t.integers(0, 99, 2, 6, 1)):
        got = t.a_tensor(t.call(x, a, b), x.shape)
        alone = t.call(x[1], a, b)
        t.close(got[1], alone, f"the second sequence of {tuple(x.shape)}", note="compared to alone")
        t.close(got.dtype, x.dtype, "the dtype")
        t.expect(not got.equal(x), "the tokens did not move")


@exercise.prop(1, "`x[...] = ` writes into the caller's tokens.")
def there_and_back(t: Trial) -> None:
    """there and back gives the same tokens again, and no argument is changed"""
    a, b = _orders(t, 8)
    x = t.randn(8, 2)
    there = t.a_tensor(t.call(x, a, b), x.shape)
    t.expect(not torch.equal(there, x), "the tokens did not move")
    t.close(t.call(there, b, a), x, "there and back")
    t.unchanged(x, a, b)


@exercise.prop(1, "A permutation is a list. Do you compare every token with every other?")
def large(t: Trial) -> None:
    """40,000 tokens take no matrix of 40,000 x 40,000"""
    n = 40_000
    # Backwards is its own inverse: whichever way it is gone.
    order, new_order = torch.arange(n).flip(0), torch.arange(n)
    x = t.randn(n, 1)
    t.size_probe(
        x,
        order,
        new_order,
        keep=t.slices((n, 200)),
        memory=150,
        cpu=4,
        why="two lists of 40,000 numbers are enough",
    )
