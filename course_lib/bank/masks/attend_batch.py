from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch

exercise = Exercise(
    id="masks.attend_batch",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="05_libraries.html#masks-heads",
    outcomes=("masks.axes", "masks.empty"),
    example=lambda t: (
        t.randn(2, 2, 3, 4),
        t.randn(2, 2, 5, 4),
        t.randn(2, 2, 5, 4),
        t.keep_mask(2, 3, 5),
    ),
)


def _inputs(t: Trial, B: int, H: int, T: int = 4, S: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    return t.randn(B, H, T, 3), t.randn(B, H, S, 3), t.randn(B, H, S, 2)


@exercise.prop(
    1.5, "Broadcasting lines shapes up from the right. What does the axis B of the mask meet?"
)
def one_table_each(t: Trial) -> None:
    """a mask (B, T, S) holds for its own sentence and all its heads, also if B = H"""
    n = t.integer(2, 3)
    q, k, v = _inputs(t, n, n)
    for keep in (t.keep_mask(n, 4, 5), t.keep_mask(n, 4, 5)):
        t.same(q, k, v, keep, note=f"{n} sentences, {n} heads")


@exercise.prop(1.5, "Which masks needed no repair? Do they still pass through yours unharmed?")
def other_shapes(t: Trial) -> None:
    """also if B and H differ; (T, S), (B, 1, 1, S) and (B, H, T, S) mean what they always meant"""
    for B, H in ((3, 2), (2, 4), (1, 3)):
        q, k, v = _inputs(t, B, H)
        t.same(q, k, v, t.keep_mask(B, 4, 5), note=f"{B} sentences, {H} heads")
    # As many of everything: an axis in the wrong place goes unnoticed by broadcasting.
    n = t.integer(3, 4)
    q, k, v = _inputs(t, n, n, n, n)
    for shape in ((n, n), (n, 1, 1, n), (n, n, n, n)):
        t.same(q, k, v, t.keep_mask(*shape), note=f"mask {shape}")


@exercise.prop(1, "Which number does a mask put in place of a score, and is there one in float16?")
def empty_rows(t: Trial) -> None:
    """a query that sees nothing gets exactly 0, in any dtype, with huge scores; finite gradients"""
    mask = t.keep_mask(1, 4, 5)
    mask[0, 1] = False
    q, k, v = _inputs(t, 1, 2)
    t.same(q, k, v, mask)
    t.same(q.half(), k.half(), v.half(), mask, note="float16")
    for size in (1e8, -1e8):
        t.same(size * q.abs(), k.abs(), v, mask, note=f"queries times {size:g}")
    t.gradient(q.double(), k.double(), v.double(), mask)


@exercise.prop(
    1,
    "Do the rows that you draw sum to 1 while the model is trained? And without a mask, and"
    " without dropout, what did chapter 3 return?",
)
def before_dropout(t: Trial) -> None:
    """dropout acts on the output of every head, and the weights returned are those before it"""
    t.same(*_inputs(t, 2, 3), note="without mask and dropout")
    # Factors 0 and 2, as dropout with probability 1/2 has them.
    drop = 2.0 * t.integers(0, 1, 2, 2, 4, 5)
    t.same(*_inputs(t, 2, 2), None, drop)


def attend_as_it_came(q, k, v, mask=None, drop=None):
    """What runs for one sentence, and for as many sentences as heads, runs for all."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    if drop is not None:
        weights = weights * drop
    return weights @ v, weights
