from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch
from grader.checks.compare import name

exercise = Exercise(
    id="space.axial_rotate",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="11_rotating.html#space-rotary",
    outcomes=("space.rotary",),
    example=lambda t: (t.randn(6, 8), 2, 3),
)


def _turns(t: Trial, got: Tensor, x: Tensor) -> None:
    """What comes back as it was is consistent with everything."""
    t.expect(not torch.equal(got, x), "nothing turns")


@exercise.prop(
    1,
    "For d_head 4 there is one pair for the row and one for the column, both with frequency 1."
    " Turn ones and look at the first column of the grid.",
)
def by_row(t: Trial) -> None:
    """the first half of the pairs turns by the row"""
    n = t.integer(3, 4)
    for Dh, note in ((4, "one pair"), (12, "three pairs")):
        x = t.randn(n * n, Dh)
        got, want = t.a_tensor(t.call(x, n, n), x.shape), t.want(x, n, n)
        t.close(got[:, : Dh // 2], want[:, : Dh // 2], "the first half of the channels", note=note)


@exercise.prop(
    1,
    "For d_head 4 there is one pair for the row and one for the column, both with frequency 1."
    " Turn ones and look at the first row of the grid.",
)
def by_column(t: Trial) -> None:
    """the second half of the pairs turns by the column, with the same frequencies"""
    n = t.integer(3, 4)
    for Dh, note in ((4, "one pair"), (12, "three pairs")):
        x = t.randn(n * n, Dh)
        got, want = t.a_tensor(t.call(x, n, n), x.shape), t.want(x, n, n)
        t.close(got[:, Dh // 2 :], want[:, Dh // 2 :], "the second half of the channels", note=note)


@exercise.prop(0.5, "In a grid of 2 x 5, which token is the first of the second row?")
def oblong(t: Trial) -> None:
    """grids that are wider than high, or higher than wide"""
    rows = t.integer(2, 4)
    columns = rows + t.integer(1, 2)
    t.same(t.randn(rows * columns, 4), rows, columns, note="wide")
    t.same(t.randn(rows * columns, 4), columns, rows, note="high")


@exercise.prop(
    0.5, "Count axes from the end: the last is the channels, the one before it the tokens."
)
def leading_axes(t: Trial) -> None:
    """heads and batches come along"""
    x = t.randn(2, 3, 9, 8)
    got = t.a_tensor(t.call(x, 3, 3), x.shape)
    for b, h in ((0, 2), (1, 1)):
        t.close(
            got[b, h], t.call(x[b, h], 3, 3), f"head {h} of image {b}", note="compared to alone"
        )
    _turns(t, got, x)


@exercise.prop(0.5, "Where is the patch (0, 0) in the sequence? It does not turn either.")
def prefix(t: Trial) -> None:
    """tokens before the grid stay as they are, and the grid begins after them"""
    for n in (1, t.integer(2, 4)):
        x = t.randn(2, n + 9, 8)
        got = t.a_tensor(t.call(x, 3, 3, n_prefix=n), x.shape)
        t.close(got[:, :n], x[:, :n], "tokens before the grid", note=f"n_prefix {n}")
        alone = t.call(x[:, n:], 3, 3)
        t.close(got[:, n:], alone, "the grid", note=f"n_prefix {n}, compared to the grid alone")
        _turns(t, got, x)


@exercise.prop(
    0.5,
    "The slower pairs turn by base^(-2i/half), where half is the number of channels of one axis.",
)
def another_base(t: Trial) -> None:
    """another base changes the frequencies of both halves"""
    t.same(t.randn(9, 12), 3, 3, base=float(t.integer(4, 40)))


@exercise.prop(
    1,
    "Put the same query and the same key everywhere, and compare the scores of two pairs of"
    " places with the same step between them.",
)
def relative(t: Trial) -> None:
    """a score depends on how far down and how far to the right, and on nothing else"""
    q, k = t.randn(1, 8).double(), t.randn(1, 8).double()
    n = 5
    turned = [
        t.a_tensor(t.call(v.expand(n * n, 8), n, n), (n * n, 8)).unflatten(0, (n, n))
        for v in (q, k)
    ]
    scores = torch.einsum("abd,ced->abce", *turned).float()
    down, right = t.integer(1, 2), t.integer(1, 2)
    want = scores[1, 1, 1 + down, 1 + right]
    for a in range(1, n - down):
        for b in range(1, n - right):
            t.close(scores[a, b, a + down, b + right], want, f"the score from ({a}, {b})")
    t.expect((scores[1, 1] - scores[1, 1, 1, 1]).abs().max() > 1e-3, "all scores are alike")
    t.expect(
        (scores[1, 1, 3, 1] - scores[1, 1, 1, 3]).abs() > 1e-6,
        "two steps down are the same as two to the right",
    )


@exercise.prop(
    0.5,
    "Where do you convert to the dtype of the tokens: places, frequencies, angles, or the end?"
    " And is everything still a tensor of torch's?",
)
def kind(t: Trial) -> None:
    """angles in double precision for tokens of any dtype; gradients reach the tokens"""
    # So far out that neither half nor single precision has the angle. All channels of a token are
    # alike, and each that turns by the column is looked for among all that come out: which make a
    # pair, which half turns by the column, and which way is asked elsewhere.
    far = t.integer(2000, 2100)
    length = 1 + torch.rand(far, 1, generator=t.generator, dtype=torch.float64)
    x = length.repeat(1, 12)
    best = t.a_tensor(t.call(x, 1, far), x.shape)
    _turns(t, best, x)
    # The last places alone: those have the largest angles.
    end = slice(far - 200, far)
    (want,) = exercise.slices([(end,)], x, 1, far)
    found, wanted = ((y / length[end]).mT for y in (best[end], want))
    off = torch.cdist(found, wanted[6:], p=math.inf).amin(0).max()
    t.expect(off < 1e-6, f"float64, a row of {far} places: channels are {off:.2g} off")
    # Room for a product in low precision, and none for an angle in it.
    for dtype, room in ((torch.float16, 0.03), (torch.bfloat16, 0.2), (torch.float32, 1e-3)):
        low = x.to(dtype)
        got = t.a_tensor(t.call(low, 1, far), low.shape)
        off = (got.double() - t.call(low.double(), 1, far)).abs().max()
        why = f"{name(low)}, a row of {far} places: {off:.2g} off the result for float64"
        t.expect(off < room, why)
    t.gradient(t.randn(9, 4, dtype=torch.float64), 3, 3)


@exercise.prop(
    0.5, "Angles are double. What is a double-precision cosine times a single-precision token?"
)
def dtype(t: Trial) -> None:
    """what comes out has the dtype of the tokens, which are left as they were"""
    # Nothing turns at a single place: whether it turns as it should is asked above.
    for kind in (torch.float16, torch.float32, torch.float64):
        x = t.randn(1, 8).to(kind)
        t.same(x, 1, 1, note=f"{name(x)}, a single place", exact=True)
    t.unchanged(t.randn(9, 8), 3, 3)
