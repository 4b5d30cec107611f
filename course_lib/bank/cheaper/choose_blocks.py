from course_lib.bank.prelude import Exercise, F, Tensor, Trial, math, torch


def attend(q, k, v, mask):
    """Attention to the keys that a mask ``(..., T, T)`` allows."""
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1) @ v


def tokens(chosen, block):
    """Chosen blocks ``(..., T, T // block)`` as a mask of tokens ``(..., T, T)``."""
    T, n = chosen.shape[-2:]
    return F.pad(chosen.repeat_interleave(block, dim=-1), (0, T - n * block))


exercise = Exercise(
    id="cheaper.choose_blocks",
    points=6,
    minutes=30,
    difficulty=4,
    chapter="14_blocks.html#cheaper-blocks",
    outcomes=("cheaper.approximate",),
    example=lambda t: (*drawn(t, 7), 2, 1),
    given=(attend, tokens),
    severe={"reads_its_block_to_the_end": "every output but the last of a block knows the future"},
)


def drawn(
    t: Trial,
    T: int,
    lead: tuple[int, ...] = (),
    Dh: int = 4,
    Dv: int = 4,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values."""
    q, k, v = (t.randn(*lead, T, width, dtype=dtype) for width in (Dh, Dh, Dv))
    return q, k, v


@exercise.prop(1, "Eight tokens in blocks of three: which keys does the last query read?")
def own_block(t: Trial) -> None:
    """nothing chosen: each query reads its own block up to itself, the last, unfinished one too"""
    for T, block in ((3, 5), (8, 3), (t.integer(10, 11), 4)):
        t.same(*drawn(t, T), block, 0, note=f"{T} tokens in blocks of {block}, none chosen")


@exercise.prop(1, "If there are too few earlier blocks, which does a query read?")
def all_blocks(t: Trial) -> None:
    """enough chosen: it is causal attention"""
    for T in (6, t.integer(7, 8)):
        t.same(*drawn(t, T), 2, 9, note=f"{T} tokens in blocks of 2, nine to read")


@exercise.prop(
    1, "A block's summary is the mean of its keys. Its score is a product with the query."
)
def best_blocks(t: Trial) -> None:
    """the earlier blocks whose mean key scores best are read, for each query its own choice"""
    for wanted in (1, 2):
        t.same(*drawn(t, 12), 3, wanted, note=f"12 tokens in blocks of 3, {wanted} chosen")
    q, k, v = drawn(t, 12)
    # Two keys of one block are large and cancel; all queries like all other blocks better.
    k = torch.cat([4 * k[:1].abs(), -4 * k[:1].abs(), 0.1 + k[2:].abs()])
    t.same(q.abs(), k, v, 2, 2, note="two large keys that cancel in their mean")
    t.same(-1e8 * q.abs(), k.abs(), v, 3, 1, note="very low scores")


@exercise.prop(
    0.5, "Give all queries and keys of a block the same direction. Is the own block chosen too?"
)
def read_once(t: Trial) -> None:
    """a key is read once, also where the own block would be the best of all"""
    block = t.integer(2, 3)
    _, _, v = drawn(t, 4 * block)
    # Of equal length, so that the own block's summary is the best of all.
    alike = 2 * F.normalize(t.randn(4, 4), dim=-1).repeat_interleave(block, 0)
    t.same(alike, alike, v, block, 1, note="queries and keys of a block are all alike")


@exercise.prop(
    1, "Which summaries contain a token that comes after the query? What if it is very large?"
)
def no_future(t: Trial) -> None:
    """later tokens change nothing, not even the choice"""
    q, k, v = drawn(t, 10)
    q = 2 * F.normalize(t.randn(1, 4), dim=-1) + 0.05 * q
    before = t.a_tensor(t.call(q, k, v, 2, 1), (10, 4))
    t.expect((before[1:] - before[:1]).abs().max() > 1e-3, "all queries find the same")
    for last in (7, 5):
        # Later keys that all queries like, or that all dislike.
        for sign in (9.0, -9.0):
            likes, other = k.clone(), v.clone()
            likes[last:], other[last:] = sign * q[:1], -v[last:]
            after = t.a_tensor(t.call(q, likes, other, 2, 1), (10, 4))
            t.close(after[:last], before[:last], note=f"other tokens from {last} on")


@exercise.prop(1.5, "Count axes from the end.")
def the_rest(t: Trial) -> None:
    """other widths, any axes in front; gradients; nothing is changed in place"""
    t.a_tensor(t.call(*drawn(t, 8, (), 5, 2), 2, 1), (8, 2))
    for lead in ((2,), (2, 3)):
        q, k, v = drawn(t, 7, lead)
        many = t.a_tensor(t.call(q, k, v, 2, 1), tuple(v.shape))
        last = tuple(n - 1 for n in lead)
        alone = t.call(q[last], k[last], v[last], 2, 1)
        t.close(many[last], alone, note=f"the last of {tuple(q.shape)}, and alone")
    t.gradient(*drawn(t, 5, (), 3, 2, torch.float64), 2, 1)
    t.unchanged(*drawn(t, 7), 2, 1)
