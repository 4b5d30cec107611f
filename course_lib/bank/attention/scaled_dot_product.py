"""Exercise ``attention.scaled_dot_product``."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial

exercise = Exercise(
    id="attention.scaled_dot_product",
    function="scaled_dot_product_attention",
    reference=scaled_dot_product_attention,
    points=6,
    minutes=20,
    difficulty=2,
    chapter="03_attention.html#attention-formula",
    outcomes=("attention.formula",),
    returns=("the output", "weights"),
    example=lambda t: (t.randn(2, 4, 8), t.randn(2, 4, 8), t.randn(2, 4, 8)),
    forbidden=("attention",),
)


@exercise.prop(
    "output and weights follow softmax(q kᵀ / √d_head) v",
    points=1.5,
    hint="Compute the two matrix products and the softmax by hand for one query and two keys.",
)
def values(t: Trial) -> None:
    t.same(t.randn(2, 3, 5, 4), t.randn(2, 3, 5, 4), t.randn(2, 3, 5, 4))


@exercise.prop(
    "queries and keys may differ in number, values in width",
    points=1.5,
    hint="Write the shape of every product down: which axis is summed, which is normalised?",
)
def rectangular(t: Trial) -> None:
    heads, width = t.integer(1, 3), t.integer(2, 5)
    t.same(
        t.randn(2, heads, 3, width), t.randn(2, heads, 7, width), t.randn(2, heads, 7, width + 6)
    )
    t.same(t.randn(4, width), t.randn(6, width), t.randn(6, 1), note="without batch and heads")


@exercise.prop(
    "where the mask is False the weight is exactly 0 and each row still sums to 1",
    points=1,
    hint="What must a score be for its softmax to be exactly 0? And when must it be so?",
)
def mask(t: Trial) -> None:
    # Against the answer's own weights without a mask: whether these are right is asked above.
    q, k, v = t.randn(2, 1, 4, 6), t.randn(2, 1, 5, 6), t.randn(2, 1, 5, 3)
    for shape in ((2, 1, 4, 5), (2, 1, 4, 5), (2, 1, 1, 5)):
        keep = t.keep_mask(*shape)
        _, weights = t.parts(t.call(q, k, v, keep), "the output", "weights")
        _, unmasked = t.parts(t.call(q, k, v), "the output", "weights")
        t.a_tensor(weights, (2, 1, 4, 5), "weights")
        hidden = ~keep.expand_as(weights)
        t.expect((weights[hidden] == 0).all(), "a masked key still has weight")
        t.close(weights.sum(-1), torch.ones(2, 1, 4), "the sum of a row")
        left = t.a_tensor(unmasked, (2, 1, 4, 5), "weights without a mask") * keep
        t.close(weights, left / left.sum(-1, keepdim=True), "weights of the keys that are left")
    keep = t.keep_mask(2, 1, 4, 5)
    out, weights = t.parts(t.call(q, k, v, keep), "the output", "weights")
    t.close(out, weights @ v, "the output")


def _weighted(t: Trial, shape: tuple[int, ...], *arguments: Tensor) -> list[Tensor]:
    """The output and weights: a number for every query and key, none below 0 and not all 0."""
    found = t.parts(t.call(*arguments), "the output", "weights")
    weights = t.a_tensor(found[1], shape, "weights")
    t.expect((weights >= 0).all() and (weights > 0).any(), "what comes second are no weights")
    return found


@exercise.prop(
    "very large scores do no harm",
    points=0.5,
    hint="Is the largest score subtracted before exp, as torch's own softmax does?",
)
def large_scores(t: Trial) -> None:
    # Of whole numbers single precision computes such scores without rounding, and a width of 16
    # leaves them whole or in quarters, also where the scale is shared between both factors.
    q, k = (t.integers(-9, 9, 1, 3, 16).float() for _ in range(2))
    q, v = 2000 * q, t.randn(1, 3, 4)
    # As far below 0 in one row as above it in another: each has a largest score of its own.
    q[0, 0], q[0, 1], k = 2000 + 0 * q[0, 0], -2000 + 0 * q[0, 1], k + 20
    found = _weighted(t, (1, 3, 3), q, k, v)
    exact = t.parts(t.call(q.double(), k.double(), v.double()), "the output", "weights")
    for got, want, what in zip(found, exact, exercise.returns, strict=True):
        t.close(got, want.float(), what, note="against double precision")


@exercise.prop(
    "half precision works, mask and all, and stays half precision",
    points=0.5,
    hint="Which numbers fit into float16? Its largest is 65504; is yours larger?",
)
def half_precision(t: Trial) -> None:
    q, k, v = (t.randn(2, 3, 4, dtype=torch.float16) for _ in range(3))
    # Some key for every query, and some query for every key.
    keep = t.keep_mask(2, 3, 3) | torch.eye(3).bool()
    _weighted(t, (2, 3, 3), q, k, v)
    found = t.parts(t.call(q, k, v, keep), "the output", "weights")
    exact = t.parts(t.call(q.float(), k.float(), v.float(), keep), "the output", "weights")
    for got, want, what in zip(found, exact, exercise.returns, strict=True):
        t.close(got, want.half(), what, note="against single precision", exact=True)


@exercise.prop(
    "gradients reach q, k and v",
    points=0.5,
    hint="Is anything detached, converted to numpy, or computed under no_grad?",
)
def gradients(t: Trial) -> None:
    f64 = torch.float64
    t.gradient(
        t.randn(1, 3, 4, dtype=f64), t.randn(1, 5, 4, dtype=f64), t.randn(1, 5, 2, dtype=f64)
    )


@exercise.prop(
    "the arguments are left as they were",
    points=0.5,
    hint="Look for operations that end in an underscore, and for `/=` on an argument.",
)
def no_side_effect(t: Trial) -> None:
    q, k, v = t.randn(2, 3, 4), t.randn(2, 3, 4), t.randn(2, 3, 4)
    t.unchanged(q, k, v, t.keep_mask(2, 3, 3))


@exercise.mistake("What is the variance of q·k when every entry has variance 1?")
def unscaled(q, k, v, mask=None):
    """The dot product is a similarity as it is; scaling only changes units."""
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


@exercise.mistake(
    "You divide by d itself: how does the *standard deviation* of a sum of d terms grow?"
)
def scaled_by_width(q, k, v, mask=None):
    """A sum of d terms grows like d, so it is divided by d."""
    scores = q @ k.transpose(-2, -1) / q.shape[-1]
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


@exercise.mistake("Which vectors enter the dot product: queries and keys, or values?")
def scaled_by_value_width(q, k, v, mask=None):
    """The scale belongs to what is averaged, so it is the width of the values."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(v.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


@exercise.mistake(
    "For one query, what must sum to 1: its weights over the keys, or something else?"
)
def softmax_over_queries(q, k, v, mask=None):
    """Each key spreads its attention over the queries."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-2)
    return weights @ v, weights


@exercise.mistake("After your mask is applied, do the weights of a row still sum to 1?")
def mask_after_softmax(q, k, v, mask=None):
    """Masking means to set unwanted weights to zero, whenever that is done."""
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
    if mask is not None:
        weights = weights * mask
    return weights @ v, weights


@exercise.mistake("In this course, what does True in a mask mean? Test yours with a single True.")
def inverted_mask(q, k, v, mask=None):
    """True in a mask marks what is hidden, as in nn.MultiheadAttention."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


@exercise.mistake("What does exp give for a score of 0, and is that nothing?")
def masked_scores_zero(q, k, v, mask=None):
    """A score of 0 means no attention."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores * mask
    weights = scores.softmax(-1)
    return weights @ v, weights


@exercise.mistake(
    "The caller still needs q after the call: does your function hand it back unharmed?"
)
def scales_in_place(q, k, v, mask=None):
    """Scaling q in place saves memory and cannot be seen."""
    with torch.no_grad():
        q /= math.sqrt(q.shape[-1])
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


@exercise.alternative
def einsum(q, k, v, mask=None):
    """Einstein sums, and the scale shared between both factors."""
    scale = q.shape[-1] ** -0.25
    scores = torch.einsum("...td,...sd->...ts", q * scale, k * scale)
    if mask is not None:
        scores = torch.where(mask, scores, torch.full_like(scores, float("-inf")))
    weights = F.softmax(scores, dim=-1)
    return torch.einsum("...ts,...sv->...tv", weights, v), weights


@exercise.alternative
def loop_over_queries(q, k, v, mask=None):
    """One query at a time, with a softmax written out."""
    rows = []
    if mask is not None:
        mask = mask.expand(*mask.shape[:-2], q.shape[-2], k.shape[-2])
    for i in range(q.shape[-2]):
        scores = (k * q[..., i : i + 1, :]).sum(-1) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask[..., i, :], -torch.inf)
        top = scores.max(dim=-1, keepdim=True).values
        e = torch.exp(scores - top)
        rows.append(e / e.sum(-1, keepdim=True))
    weights = torch.stack(rows, dim=-2)
    return weights @ v, weights


@exercise.alternative
def double_inside(q, k, v, mask=None):
    """Computes in double precision and warns about it."""
    import warnings

    warnings.warn("computing in double precision", stacklevel=1)
    scores = q.double() @ k.double().mT / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(mask.logical_not(), -math.inf)
    weights = torch.exp(scores - scores.logsumexp(-1, keepdim=True))
    return (weights @ v.double()).to(v.dtype), weights.to(q.dtype)


@exercise.alternative
def softmax_in_single(q, k, v, mask=None):
    """A softmax in single precision, cast back, as large models write it."""
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return weights @ v, weights
