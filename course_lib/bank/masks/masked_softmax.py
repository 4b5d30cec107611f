from course_lib.bank.prelude import Exercise, Trial, math, torch

exercise = Exercise(
    id="masks.masked_softmax",
    points=6,
    minutes=20,
    difficulty=3,
    chapter="05_masks.html#masks-empty",
    outcomes=("masks.empty",),
    example=lambda t: (t.randn(2, 3, 4), t.keep_mask(2, 3, 4)),
    forbidden=("attention",),
)


def _with_empty_rows(t: Trial, *shape: int) -> torch.Tensor:
    mask = t.keep_mask(*shape)
    mask[..., -1, :] = False
    return mask


@exercise.prop(0.5, "Over which axis must the weights of a query sum to 1?")
def no_mask(t: Trial) -> None:
    """without a mask it is the plain softmax"""
    t.same(t.randn(2, 3, 4, 5))
    t.same(t.randn(3, 4))


@exercise.prop(1, "Print one row of your weights: is anything left on a blocked key, is the sum 1?")
def partly_blocked(t: Trial) -> None:
    """a blocked key gets exactly 0, the others share a weight of 1"""
    scores, mask = t.randn(2, 3, 5), t.keep_mask(2, 3, 5)
    # Blocked keys that would win if they were not masked.
    scores = scores.masked_fill(~mask, 3.0)
    weights = t.a_tensor(t.same(scores, mask), (2, 3, 5))
    t.expect((weights[~mask] == 0).all(), "a blocked key still has some weight")
    t.same(t.randn(3, 4), torch.ones(3, 4, dtype=torch.bool), note="a mask of nothing but True")


@exercise.prop(0.5, "Does every step of yours broadcast, the last ones too?")
def broadcasting(t: Trial) -> None:
    """masks (T, S) and (B, 1, 1, S) reach every head and query of scores (B, H, T, S)"""
    # Against the same mask in full: whether its weights are right is asked elsewhere.
    scores = t.randn(3, 2, 4, 5)
    for mask in (t.keep_mask(4, 5), t.keep_mask(3, 1, 1, 5), _with_empty_rows(t, 4, 5)):
        full = t.a_tensor(t.call(scores, mask.expand_as(scores).clone()), scores.shape)
        t.expect((full != full[0, 0, 0, 0]).any(), "all weights are the same")
        t.close(t.call(scores, mask), full, note=f"mask {tuple(mask.shape)}, against it in full")


@exercise.prop(
    1, "What should a query take from nothing? Is that what a softmax over nothing gives?"
)
def empty_rows(t: Trial) -> None:
    """a row without a visible key becomes exactly 0"""
    weights = t.same(t.randn(2, 3, 4), _with_empty_rows(t, 2, 3, 4))
    t.expect((weights[:, -1] == 0).all(), "an empty row has weights other than 0")


@exercise.prop(1, "Call backward on a sum of squares and print the gradient of an empty row.")
def gradients(t: Trial) -> None:
    """gradients are right in full rows and exactly 0 in empty ones"""
    scores, mask = t.randn(2, 3, 4, dtype=torch.float64), _with_empty_rows(t, 2, 3, 4)
    t.gradient(scores, mask)
    # Weights that are wrong there have a gradient that fits them.
    found = t.vjp((scores, mask), [t.randn(2, 3, 4, dtype=torch.float64)]).inputs[0]
    t.expect(found is None or (found[:, -1] == 0).all(), "a gradient passes through an empty row")


@exercise.prop(0.5, "Try visible keys that score -10000 beside blocked ones that score +10000.")
def large_scores(t: Trial) -> None:
    """very large scores do no harm, on visible keys or on blocked ones"""
    mask = t.keep_mask(3, 6)
    scores = 1e4 * (1 + t.randn(3, 6).abs())
    t.same(torch.where(mask, -scores, scores), mask, note="the blocked ones higher")
    t.same(torch.where(mask, scores, -scores), mask, note="the visible ones higher")


@exercise.prop(
    0.5, "Padding may hold anything. What becomes of a NaN that is added to, or multiplied?"
)
def garbage(t: Trial) -> None:
    """the value at a blocked key does not matter, even NaN"""
    scores, mask = t.randn(3, 5), t.keep_mask(3, 5)
    t.same(scores.masked_fill(~mask, math.nan), mask, note="NaN at the blocked keys")
    t.same(scores.masked_fill(~mask, math.inf), mask, note="inf at the blocked keys")


@exercise.prop(
    0.5, "What is the largest float16? Does every number you fill in fit, in your dtype?"
)
def half(t: Trial) -> None:
    """half precision works and stays half precision, in both its forms"""
    for dtype in (torch.float16, torch.bfloat16):
        scores, mask = t.randn(2, 3, 4, dtype=dtype), _with_empty_rows(t, 2, 3, 4)
        exact = t.a_tensor(t.call(scores.float(), mask), (2, 3, 4))
        note = f"{dtype}, against float32"
        t.close(t.call(scores, mask), exact.to(dtype), note=note, exact=True)


@exercise.prop(
    0.5, "Look for operations that end in an underscore, and for assignments into an argument."
)
def no_side_effect(t: Trial) -> None:
    """the arguments are left as they were"""
    t.unchanged(t.randn(2, 3, 5), t.keep_mask(2, 3, 5))
