from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch


def attend(q, k, v, mask=None):
    """The function of chapter 3: q (..., T, d_head), k and v (..., S, d_head)."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ v, weights


def _square(t: Trial, d_model: int, d_memory: int | None = None) -> tuple[Tensor, ...]:
    """Four projections."""
    rows = (d_model, d_memory or d_model, d_memory or d_model, d_model)
    return tuple(t.randn(n, d_model) / math.sqrt(n) * 1.5 for n in rows)


exercise = Exercise(
    id="heads.multi_head_attention",
    points=7,
    minutes=25,
    difficulty=3,
    chapter="04_heads.html#heads-cut",
    outcomes=("heads.layer", "heads.split"),
    given=(attend,),
    forbidden=("attention",),
    returns=("the output", "weights"),
    example=lambda t: (t.randn(2, 4, 6), t.randn(2, 4, 6), *_square(t, 6), 2),
    severe={"heads_compete": "no head's weights sum to 1, so no part of the layer works"},
)


@exercise.prop(
    1.5,
    "Follow one token through: its four products, the cut, one head, the merge. Print shapes,"
    " then numbers.",
)
def values(t: Trial) -> None:
    """output and weights of two and three heads"""
    for length, n_heads in ((4, 2), (5, 3)):
        x = t.randn(2, length, 6)
        t.same(x, x, *_square(t, 6), n_heads)


@exercise.prop(1, "Which of the four products is made from x, and which from the memory?")
def other_memory(t: Trial) -> None:
    """the memory may have another length and another width than x"""
    # One head: nothing is cut.
    t.same(t.randn(2, 4, 6), t.randn(2, 4, 6), *_square(t, 6), 1, note="another memory")
    t.same(t.randn(2, 3, 8), t.randn(2, 6, 5), *_square(t, 8, 5), 1, note="of another form")


@exercise.prop(
    1,
    "With one head nothing is cut. How wide is a head if there are d_model of them, and what are"
    " its scores divided by?",
)
def extremes(t: Trial) -> None:
    """one head is attention as in chapter 3, and there may be as many heads as channels"""
    for n_heads in (1, 6):
        x = t.randn(2, 4, 6)
        t.same(x, x, *_square(t, 6), n_heads, note=f"{n_heads} heads")


@exercise.prop(
    1, "With w_out = identity you see the merged heads. Which channels must each of them fill?"
)
def blocks(t: Trial) -> None:
    """if the output projection changes nothing, block h of the output is head h alone"""
    x, (w_q, w_k, w_v, _) = t.randn(2, 4, 6), _square(t, 6)
    h = t.integer(0, 2)
    block = slice(2 * h, 2 * h + 2)
    out, weights = _two(t, x, x, w_q, w_k, w_v, torch.eye(6), 3)
    out = t.a_tensor(out, (2, 4, 6), "the output")
    alone, own = exercise.reference(
        x, x, w_q[:, block], w_k[:, block], w_v[:, block], torch.eye(2), 1
    )
    t.close(out[..., block], alone, f"block {h} of the output")
    weights = t.a_tensor(weights, (2, 3, 4, 4), "weights")
    t.close(weights[:, h], own[:, 0], f"weights of head {h}")


def _two(t: Trial, *args: object) -> tuple[Tensor, Tensor]:
    output, weights = t.values(t.call(*args))
    return output, weights


@exercise.prop(1.5, "The mask broadcasts to (B, H, T, S), the shape of all heads' scores.")
def mask(t: Trial) -> None:
    """a mask for each sentence, or for each head, hides what it says"""
    # Against the answer's own weights without a mask: whether these are right is asked above.
    x, memory, w = t.randn(2, 5, 6), t.randn(2, 5, 6), _square(t, 6)
    unmasked = t.a_tensor(_two(t, x, memory, *w, 3)[1], (2, 3, 5, 5), "weights")
    for shape in ((2, 1, 1, 5), (1, 3, 5, 5), (2, 3, 5, 5), (2, 3, 5, 5)):
        keep = t.keep_mask(*shape)
        weights = t.a_tensor(_two(t, x, memory, *w, 3, keep)[1], (2, 3, 5, 5), "weights")
        hidden = ~keep.expand_as(weights)
        t.expect((weights[hidden] == 0).all(), "a masked key still has weight")
        left = unmasked * keep
        note = f"a mask {tuple(keep.shape)}"
        t.close(weights, left / left.sum(-1, keepdim=True), "weights of what is left", note=note)


@exercise.prop(0.5, "Is anything detached, converted to numpy, or computed under no_grad?")
def gradients(t: Trial) -> None:
    """gradients reach the tokens and all four projections"""
    w = [w.double() for w in _square(t, 4)]
    f64 = torch.float64
    t.gradient(t.randn(1, 3, 4, dtype=f64), t.randn(1, 2, 4, dtype=f64), *w, 2, output=0)


@exercise.prop(0.5, "Look for operations that end in an underscore, and for `/=` on an argument.")
def no_side_effect(t: Trial) -> None:
    """the arguments are left as they were"""
    t.unchanged(t.randn(2, 3, 4), t.randn(2, 3, 4), *_square(t, 4), 2, t.keep_mask(2, 1, 3, 3))
