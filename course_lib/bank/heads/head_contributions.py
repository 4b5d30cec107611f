from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="heads.head_contributions",
    points=4,
    minutes=15,
    difficulty=2,
    chapter="04_heads.html#heads-sum",
    outcomes=("heads.importance",),
    example=lambda t: (t.randn(2, 2, 3, 2), t.randn(4, 4)),
)


@exercise.prop(
    1.5,
    "Merge two heads of width 1 by hand, multiply by a matrix with two rows, and sort the terms"
    " by head.",
)
def values(t: Trial) -> None:
    """what each head adds, for any number of heads"""
    t.same(t.randn(2, 3, 4, 2), t.randn(6, 6))
    t.same(t.randn(1, 2, t.integer(2, 5), 4), t.randn(8, 8))


@exercise.prop(0.5, "Compare with the heads side by side, times w_out.")
def adds_up(t: Trial) -> None:
    """contributions add up to the layer's output, and each comes from its head alone"""
    heads, w_out = t.randn(2, 4, 3, 3), t.randn(12, 12)
    parts = t.a_tensor(t.call(heads, w_out), (2, 4, 3, 12))
    t.close(parts.sum(1), heads.transpose(1, 2).flatten(2) @ w_out, "their sum")
    moved = heads.clone()
    h = t.integer(0, 3)
    moved[:, h] += 1 + t.randn(2, 3, 3).abs()
    changed = t.a_tensor(t.call(moved, w_out), (2, 4, 3, 12)).sub(parts).abs().amax((0, 2, 3))
    t.expect(
        [bool(c > 1e-4) for c in changed] == [n == h for n in range(4)],
        f"only head {h} was changed, but other contributions change too, or its own does not",
    )


@exercise.prop(0.25, "A factor need not be 0 or 1, and it says nothing about the other heads.")
def head_mask(t: Trial) -> None:
    """a head mask (H,) multiplies each contribution by its factor"""
    # Against the answer's own contributions: whether these are right is asked above.
    factors = torch.tensor([0.0, 1.0, 0.5])[t.permutation(3)]
    heads, w_out = t.randn(2, 3, 4, 2), t.randn(6, 6)
    whole = t.a_tensor(t.call(heads, w_out), (2, 3, 4, 6))
    t.expect((whole != 0).any(), "no head adds anything")
    t.close(t.call(heads, w_out, factors), whole * factors[:, None, None])


@exercise.prop(0.25, "Line the axes up: (B, H) beside (B, H, T, D).")
def head_mask_of_sentences(t: Trial) -> None:
    """a head mask (B, H) has factors for each sentence"""
    factors = torch.tensor([[0.0, 1.0, 2.0], [1.0, 0.0, 0.25], [1.0, 1.0, 0.0]])[t.permutation(3)]
    heads, w_out = t.randn(3, 3, 3, 2), t.randn(6, 6)
    whole = t.a_tensor(t.call(heads, w_out), (3, 3, 3, 6))
    t.expect((whole != 0).any(), "no head adds anything")
    t.close(t.call(heads, w_out, factors), whole * factors[..., None, None])


@exercise.prop(0.5, "Which axis of w_out meets the heads? Only that one is cut.")
def oblong(t: Trial) -> None:
    """the output may be wider or narrower than the heads together"""
    heads, w_out = t.randn(2, 3, 4, 2), t.randn(6, t.integer(7, 10))
    whole = t.a_tensor(t.call(heads, w_out), (2, 3, 4, w_out.shape[1]))
    t.expect((whole != 0).any(), "no head adds anything")
    for width in (3, 1):
        narrow = t.a_tensor(t.call(heads, w_out[:, :width]), (2, 3, 4, width))
        t.close(narrow, whole[..., :width], f"an output of width {width}")


@exercise.prop(1, "Is anything detached, compared with a number, or computed under no_grad?")
def gradients(t: Trial) -> None:
    """gradients reach the heads, the projection and the mask"""
    f64 = torch.float64
    t.gradient(t.randn(2, 2, 2, 2, dtype=f64), t.randn(4, 4, dtype=f64), t.randn(2, dtype=f64))
