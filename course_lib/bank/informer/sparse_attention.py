from course_lib.bank.prelude import Exercise, Tensor, Trial, torch
from course_lib.informer import budget
from grader.checks.compare import difference

exercise = Exercise(
    id="informer.sparse_attention",
    points=6,
    minutes=30,
    difficulty=4,
    chapter="17_informer.html#informer-lazy",
    outcomes=("informer.causal",),
    given=(budget,),
    forbidden=("attention",),
    example=lambda t: (t.randn(12, 4), t.randn(12, 4), t.randn(12, 3), t.randn(12), 2, True),
)


def _sample(t: Trial, T: int, d_v: int = 4) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    # Measures are a permutation: no two are alike, whatever is drawn.
    return 2 * t.randn(T, 6), t.randn(T, 6), t.randn(T, d_v), t.permutation(T).float()


def _repaired(t: Trial) -> None:
    """What is right in the function that was handed out earns nothing by itself."""
    q, k, v, _ = _sample(t, 20)
    sample = q, k, v, -torch.arange(20).float(), 1, True
    given = colleagues_sparse_attention(*sample)
    same = difference(t.call(*sample), given) is None
    t.expect(not same, "causal rows are still those of the colleague's function")


@exercise.prop(1, "For 40 queries and factor 2 eight attend. Which rows of your result are alike?")
def everything(t: Trial) -> None:
    """not causal: the budget's best attend to all, the others take the mean of all values"""
    _repaired(t)
    t.same(*_sample(t, t.integer(25, 40), 3), 2, note="factor 2")
    t.same(*_sample(t, 150), note="factor 5")


@exercise.prop(1, "What do the weights of one row sum to, once the later keys are gone?")
def active_rows(t: Trial) -> None:
    """causal: an active query attends to itself and what is before it"""
    T = t.integer(20, 30)
    t.same(*_sample(t, T), T, True, note="a factor so large that every query is active")


@exercise.prop(1, "Let all values be 1. What should come out, and what comes out of row 20?")
def lazy_rows(t: Trial) -> None:
    """causal: a query that doesn't attend takes the mean of the values so far"""
    # Falling measures: only the very first queries are active, by every count.
    T = t.integer(20, 30)
    q, k, v, _ = _sample(t, T)
    args = q, k, v, -torch.arange(T).float(), 1, True
    rows = t.a_tensor(t.call(*args), v.shape)[T // 2 :]
    t.close(rows, t.want(*args)[T // 2 :], f"row {T // 2} and later", note="falling measures")


@exercise.prop(
    1.5, "Is query 10 active in a sequence of 11? Then it is in one of 30, whatever comes later."
)
def settled(t: Trial) -> None:
    """causal: whether a query attends is settled by its rank among the queries so far"""
    for factor in (1, 2):
        T = t.integer(25, 35)
        q, k, v, measure = _sample(t, T)
        for n in (T, 9):
            # A row of a query that doesn't attend is the same for every query.
            args = k[:n], v[:n], measure[:n], factor, True
            first, second = (t.a_tensor(t.call(x[:n], *args), (n, 4)) for x in (q, q.flip(-1)))
            moves = (first - second).abs().amax(-1) > 1e-4
            want = (t.want(q[:n], *args) - t.want(q.flip(-1)[:n], *args)).abs().amax(-1) > 1e-4
            t.close(
                moves, want, "rows that depend on the queries", note=f"factor {factor}, T = {n}"
            )


@exercise.prop(0.5, "The budget never exceeds the length. What is it for one token?")
def few(t: Trial) -> None:
    """few tokens: all attend, and the result is attention, also with very large scores"""
    for causal in (False, True):
        t.same(*_sample(t, t.integer(4, 6)), 5, causal)
        t.same(*_sample(t, 1), 1, causal, note="one token")
        q, *rest = _sample(t, 5)
        for size in (1e8, -1e8):
            t.same(size * q, *rest, 5, causal, note=f"queries times {size:g}")


@exercise.prop(
    0.5, "In which precision are your even weights? And is what is chosen still in the graph?"
)
def gradients(t: Trial) -> None:
    """causal or not, half and double precision stay what they are, and gradients reach q, k
    and v
    """
    _repaired(t)
    q, k, v = (t.randn(9, 3, dtype=torch.float64) for _ in range(3))
    for causal in (False, True):
        for dtype in (torch.float64, torch.float16, torch.bfloat16):
            args = (x.to(dtype) for x in (q, k, v))
            got = t.a_tensor(t.call(*args, t.permutation(9).float(), 1, causal), v.shape)
            t.close(got.dtype, dtype, "the dtype", note="causal" if causal else "not causal")
        t.gradient(q, k, v, t.permutation(9), 1, causal)


@exercise.prop(0.5, "Write into a tensor of your own.")
def no_side_effect(t: Trial) -> None:
    """what is handed in is left as it was"""
    _repaired(t)
    for causal in (False, True):
        t.unchanged(*_sample(t, 12), 2, causal)


def colleagues_sparse_attention(q, k, v, measure, factor=5, causal=False):
    """What is right for the encoder is right for the decoder."""
    T = len(q)
    weights = (q @ k.T / q.shape[-1] ** 0.5).softmax(dim=-1)
    if causal:
        weights = weights.tril()
        out = v.cumsum(dim=0)
    else:
        out = v.mean(dim=0).repeat(T, 1)
    rows = measure.topk(budget(T, factor)).indices
    return out.index_copy(0, rows, (weights @ v)[rows])
