from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="cheaper.mix_keys",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="14_mixed.html#cheaper-linformer",
    outcomes=("cheaper.approximate",),
    example=lambda t: drawn(t, 1, 4, 6, 4, 4, rank=3, length=6),
)


def drawn(
    t: Trial,
    B: int,
    T: int,
    S: int,
    Dh: int,
    Dv: int,
    *,
    rank: int,
    length: int,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, ...]:
    """Queries, keys, values, and the two mixing matrices."""
    shapes = (B, T, Dh), (B, S, Dh), (B, S, Dv), (rank, length), (rank, length)
    return tuple(t.randn(*shape, dtype=dtype) for shape in shapes)


def padded(t: Trial, B: int, S: int) -> Tensor:
    """Real tokens first, at least one and not all of them."""
    return torch.arange(S) < t.integers(1, S - 1, B, 1)


@exercise.prop(1, "Which shapes do E k, the scores and F v have? The width of the keys is Dh.")
def values(t: Trial) -> None:
    """queries attend to mixtures of the keys and get mixtures of the values"""
    S = t.integer(6, 9)
    # As many mixtures as channels, and both matrices alike: other requirements tell them apart.
    q, k, v, e, _ = drawn(t, 2, S, S, 4, 4, rank=4, length=S)
    t.same(q, k, v, e, e.clone(), note="E and F alike")


@exercise.prop(1, "Column j of E belongs to the token in place j, however many tokens follow.")
def shorter(t: Trial) -> None:
    """a shorter sequence uses the first columns"""
    length = t.integer(9, 12)
    for S in (length - 1, t.integer(3, 6)):
        q, k, v, e, f = drawn(t, 2, S, S, 4, 4, rank=3, length=length)
        want = t.a_tensor(t.call(q, k, v, e[:, :S], f[:, :S]), v.shape)
        t.close(t.call(q, k, v, e, f), want, note=f"S = {S} of {length}, compared to these columns")
        other = t.call(q, k, v, e, f.flip(-1))
        t.expect((other - want).abs().max() > 1e-3, "the order of the columns makes no difference")


@exercise.prop(
    1.5, "Make the padded keys NaN in your head: where may they still be touched? Mixing is a sum."
)
def padding(t: Trial) -> None:
    """a padded sentence gets what it gets alone"""
    S = t.integer(6, 8)
    q, k, v, e, f = drawn(t, 3, 4, S, 4, 4, rank=3, length=S + 2)
    real = padded(t, 3, S)
    real[0, 1:] = False  # one short sentence at least
    n = [int(x) for x in real.sum(-1)]
    behind, front = t.call(q, k, v, e, f, real), t.call(q, k, v, e, f, real.flip(-1))
    for b in range(3):
        first, last = slice(0, n[b]), slice(S - n[b], S)
        one = slice(b, b + 1)
        for found, at in ((behind, first), (front, last)):
            alone = t.call(q[one], k[one, at], v[one, at], e[:, at], f[:, at])
            note = f"{n[b]} real tokens of {S}, compared to alone"
            t.close(t.a_tensor(found, (3, 4, 4))[one], alone, note=note)
    every = t.call(q, k, v, e, f, torch.ones_like(real))
    t.close(every, t.call(q, k, v, e, f), note="nothing padded, compared to no mask")
    t.expect((every != behind).any(), "hiding words changes nothing")


@exercise.prop(0.5, "What are the mixed values if every value has been made 0?")
def nothing(t: Trial) -> None:
    """a sentence of padding alone gives 0"""
    q, k, v, e, f = drawn(t, 2, 3, 5, 4, 4, rank=2, length=5)
    got = t.a_tensor(t.call(q, k, v, e, f, torch.tensor([[False] * 5, [True] * 5])), (2, 3, 4))
    t.close(got[0], torch.zeros(3, 4), "a sentence of padding")
    t.close(got[1:], t.call(q[1:], k[1:], v[1:], e, f), "the other sentence, compared to alone")
    t.expect(bool(got[1].any()), "a sentence without padding gives 0, too")


@exercise.prop(
    0.5, "T, S, Dh, Dv and the rank are five different numbers. Which one is under the root?"
)
def other_shapes(t: Trial) -> None:
    """two different matrices; queries from elsewhere, another width of values, large scores"""
    t.same(*drawn(t, 2, 5, 7, 9, 6, rank=3, length=8), note="T = 5, S = 7, Dh = 9, Dv = 6")
    t.same(*drawn(t, 2, 4, 4, 4, 4, rank=1, length=4), note="a single mixture")
    q, *rest = drawn(t, 1, 4, 6, 4, 4, rank=3, length=6)
    t.same(1e4 * q, *rest, note="large scores")


@exercise.prop(0.5, "Making keys 0 can be done in a copy: `masked_fill`, not `masked_fill_`.")
def gradients(t: Trial) -> None:
    """gradients reach tokens and both matrices; nothing is changed in place"""
    arguments = drawn(t, 2, 3, 4, 3, 3, rank=2, length=5, dtype=torch.float64)
    real = torch.arange(4) < torch.tensor([[3], [1]])
    t.gradient(*arguments, real)
    t.unchanged(*drawn(t, 2, 3, 5, 4, 4, rank=2, length=5), padded(t, 2, 5))
