from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch


def turn(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Turn the rows of x (..., T, Dh) by their positions (T,), in the half-split layout."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** -(torch.arange(half, dtype=torch.float64) / half)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.split(half, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


exercise = Exercise(
    id="relative.attend_rolling",
    points=6,
    minutes=30,
    difficulty=4,
    chapter="08_rotary.html#relative-cache",
    example=lambda t: (*_pieces(t, 1, 3), 8),
    outcomes=("relative.cache", "relative.rotary"),
    given=(turn,),
    returns=("the output", "the keys", "the values"),
    forbidden=("attention",),
)


def _pieces(
    t: Trial, T: int, P: int, *, B: int = 1, H: int = 2, d_head: int = 6, d_v: int = 6
) -> tuple[Tensor, ...]:
    """Queries, keys and values of T new tokens, and P keys and values that were kept."""
    new = (2 * t.randn(B, H, T, d_head), 2 * t.randn(B, H, T, d_head), t.randn(B, H, T, d_v))
    return (*new, 2 * t.randn(B, H, P, d_head), t.randn(B, H, P, d_v))


@exercise.prop(1.5, "With 3 keys kept the new one is the fourth. By how much does its query turn?")
def positions(t: Trial) -> None:
    """a new token comes after what was kept"""
    # Judged whatever the mask: the last query is asked, keys near it score next to nothing, and
    # only the first value is not 0.
    for P in (1, t.integer(2, 3)):
        T = P + 1
        q, k, v, keys, values = _pieces(t, T, P)
        last = q[..., -1:, :]
        for place in range(1, T):
            away = turn(last, torch.tensor([T - 1.0 - place]))
            k[..., place : place + 1, :] = -60 * away / last.square().sum(-1, keepdim=True)
        values[..., 1:, :] = 0
        arguments = q, k, 0 * v, keys, values, 20
        out = t.a_tensor(t.parts(t.call(*arguments))[0], q.shape, "the output")
        want = t.want(*arguments)[0][..., -1, :]
        t.close(out[..., -1, :], want, "what the last token finds", note=f"{P} kept, {T} new")


@exercise.prop(
    2,
    "Draw the mask for 2 queries and 5 keys, three of which were kept. Which keys does the"
    " *first* of the new queries see? Are they all still there?",
)
def within_the_window(t: Trial) -> None:
    """a query finds the last `window` values, its own among them, and nothing later"""
    window = t.integer(3, 4)
    for T, P, most in ((1, window, window), (3, window, window), (4, 0, 2), (3, 2, 20)):
        # Small queries: every key that may be seen has some weight.
        q, k, v, keys, values = _pieces(t, T, P)
        before = t.a_tensor(
            t.parts(t.call(q / 8, k, v, keys, values, most))[0], q.shape, "the output"
        )
        finds = torch.zeros(T, P + T, dtype=torch.bool)
        for key in range(P + T):
            every = torch.cat([values, v], dim=-2)
            every[..., key, :] += 100
            new, kept = every[..., P:, :], every[..., :P, :]
            after = t.parts(t.call(q / 8, k, new, keys, kept, most))[0]
            moved = (t.a_tensor(after, q.shape, "the output") - before).abs()
            finds[:, key] = moved.amax(dim=(0, 1, 3)) > 1e-3
        distance = torch.arange(P, P + T)[:, None] - torch.arange(P + T)
        want = (distance >= 0) & (distance < most)
        note = f"{T} new tokens, {P} kept, window {most}"
        t.close(finds, want, "which token finds which", note=note)


@exercise.prop(
    1.5,
    "Kept keys are turned at every call. What happens to those that you return turned? And"
    " another sentence may go on from the same cache: make new tensors.",
)
def kept(t: Trial) -> None:
    """the last `window` keys and values are kept, as they came; what is handed in stays as
    it was
    """
    # Fewer than the window, though more than half of it; just as many; and more.
    window = 5
    for T, P in ((1, 2), (2, 3), (2, window), (1, window)):
        pieces = _pieces(t, T, P)
        found = t.parts(t.call(*pieces, window))
        for got, old, new, name in (
            (found[1], pieces[3], pieces[1], "keys"),
            (found[2], pieces[4], pieces[2], "values"),
        ):
            want = torch.cat([old, new], dim=-2)[..., -window:, :]
            t.close(got, want, f"the {name} that are kept", note=f"{T} new, {P} kept")
    t.unchanged(*_pieces(t, 2, 4), 3)


@exercise.prop(0.5, "Feed a text token by token, with what came back, and compare with the whole.")
def in_pieces(t: Trial) -> None:
    """a text in pieces comes out as it does at once"""
    window = 4
    q, k, v, keys, values = _pieces(t, 9, 0)
    whole = t.want(q, k, v, keys, values, window)[0]
    outs = []
    for piece in torch.arange(9).split([1, 1, 2, 1, 3, 1]):
        new = (x[..., piece, :] for x in (q, k, v))
        out, keys, values = t.parts(t.call(*new, keys, values, window))
        outs.append(out)
    t.close(torch.cat(outs, dim=-2), whole, "the output, read in pieces")


@exercise.prop(0.5, "Which width belongs under the root, and which do the angles depend on?")
def other_shapes(t: Trial) -> None:
    """several sentences, values of another width, another base, very large scores"""
    t.same(*_pieces(t, 2, 4, B=3, H=1, d_head=8, d_v=3), 20, base=float(t.integer(10, 90)))
    q, *rest = _pieces(t, 5, 0)
    for size in (1e8, -1e8):
        t.same(size * q, *rest, 10, note=f"queries times {size:g}")


def colleagues_attend_rolling(q, k, v, keys, values, window, base=10_000.0):
    """What works for a whole text works for its pieces."""
    T = q.shape[-2]
    keys = turn(torch.cat([keys, k], dim=-2), torch.arange(keys.shape[-2] + T), base)
    values = torch.cat([values, v], dim=-2)
    keys, values = keys[..., -window:, :], values[..., -window:, :]
    q = turn(q, torch.arange(T), base)
    scores = q @ keys.transpose(-2, -1) / math.sqrt(q.shape[-1])
    mask = torch.ones(T, keys.shape[-2]).tril(keys.shape[-2] - T).bool()
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0)
    return weights @ values, keys, values
