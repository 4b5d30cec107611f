"""Exercise ``attention.self_attention``."""

import math

import torch
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.mixing import self_attention

exercise = Exercise(
    id="attention.self_attention",
    function="self_attention",
    reference=self_attention,
    points=5,
    minutes=20,
    difficulty=2,
    chapter="03_attention.html#attention-self",
    outcomes=("attention.self", "attention.formula"),
    example=lambda t: (t.randn(2, 3, 4), t.randn(4, 4), t.randn(4, 4), t.randn(4, 4)),
)


def _projections(t: Trial, d_model: int, d_head: int, d_value: int) -> tuple[torch.Tensor, ...]:
    return t.randn(d_model, d_head), t.randn(d_model, d_head), t.randn(d_model, d_value)


def _two(t: Trial, *args: torch.Tensor) -> list[torch.Tensor]:
    return t.parts(t.call(*args), "the output", "weights")


@exercise.prop(
    "output and weights, all widths equal",
    points=1,
    hint="Check every step on two tokens with numbers that you can follow by hand.",
)
def values(t: Trial) -> None:
    t.same(t.randn(2, 5, 4), *_projections(t, 4, 4, 4))


@exercise.prop(
    "tokens, heads and values may all differ in width",
    points=1,
    hint="Three widths come in: which of them is summed over in a score?",
)
def widths(t: Trial) -> None:
    d_head = t.integer(2, 3)
    t.same(t.randn(4, 8), *_projections(t, 8, d_head, 5), note="narrow heads")
    t.same(t.randn(4, 3), *_projections(t, 3, d_head + 4, 2), note="wide heads")


@exercise.prop(
    "one sequence, a batch or more leading axes; gradients reach the tokens and all projections",
    points=1,
    hint="Count the axes from the end: which one do the keys of a query lie along? And is anything"
    " detached, converted to numpy, or computed under no_grad?",
)
def leading_axes(t: Trial) -> None:
    x, w = t.randn(2, 3, 5, 4), _projections(t, 4, 4, 4)
    together = _two(t, x, *w)
    alone = [_two(t, x[i, j], *w) for i in range(2) for j in range(3)]
    t.expect(not torch.allclose(alone[0][0], alone[1][0]), "two sequences have the same output")
    for part, what in enumerate(("the output", "weights")):
        each = torch.stack([pair[part] for pair in alone]).unflatten(0, (2, 3))
        t.close(together[part], each, f"{what} of (2, 3) sequences")
        t.close(_two(t, x[1], *w)[part], each[1], f"{what} of 3 sequences")
        t.close(_two(t, x[:1, 0], *w)[part], each[:1, 0], f"{what} of a batch of one")
    w = tuple(w.double() for w in _projections(t, 3, 3, 3))
    t.gradient(t.randn(2, 4, 3, dtype=torch.float64), *w)


@exercise.prop(
    "where the mask is False the weight is exactly 0, each row sums to 1; nothing changes in place",
    points=1,
    hint="True means may attend. Is the mask used before the weights are normalised? And does a"
    " line of yours end in an underscore?",
)
def mask(t: Trial) -> None:
    # Against the answer's own weights without a mask: whether these are right is asked above.
    x, w = t.randn(2, 5, 4), _projections(t, 4, 4, 4)
    unmasked = t.a_tensor(_two(t, x, *w)[1], (2, 5, 5), "weights without a mask")
    for keep in (t.keep_mask(2, 5, 5), t.keep_mask(2, 5, 5)):
        weights = t.a_tensor(_two(t, x, *w, keep)[1], (2, 5, 5), "weights")
        t.expect((weights[~keep] == 0).all(), "a masked key still has weight")
        t.close(weights.sum(-1), torch.ones(2, 5), "the sum of a row")
        left = unmasked * keep
        t.close(weights, left / left.sum(-1, keepdim=True), "weights of the keys that are left")
    t.unchanged(x, *w, keep)


@exercise.prop(
    "permuting the tokens permutes the outputs, and rows and columns of the weights, alike",
    points=1,
    hint="Which step looks at where a token stands rather than at what it is?",
)
def permutation(t: Trial) -> None:
    x, w, order = t.randn(2, 6, 4), _projections(t, 4, 4, 4), t.permutation(6)
    out, weights = _two(t, x, *w)
    t.a_tensor(out, (2, 6, 4), "the output")
    t.a_tensor(weights, (2, 6, 6), "weights")
    note = f"tokens in the order {order.tolist()}"
    moved, moved_weights = _two(t, x[:, order], *w)
    t.close(moved, out[:, order], "the output", note=note)
    t.close(moved_weights, weights[:, order][:, :, order], "weights", note=note)
    t.expect(not torch.allclose(out, out[:, order]), "all tokens get the same output")


def colleagues_self_attention(x, w_q, w_k, w_v, mask=None):
    """Whatever runs and returns the right shapes is right."""
    q = x @ w_q
    k = x @ w_k
    v = x @ w_v
    k_t = k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])
    scores = q @ k_t / math.sqrt(x.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=1)
    return weights @ v, weights


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake("Several things are wrong. Begin with the two cells of symptoms above.")(
    colleagues_self_attention
)


@exercise.mistake("Print `k` and your version of its transpose for two tokens of width 3.")
def reshape_for_transpose(x, w_q, w_k, w_v, mask=None):
    """A reshape to the transposed shape transposes."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    flipped = k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])
    scores = q @ flipped / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


@exercise.mistake("Over how many terms does a score sum? Is that the width of a token?")
def scaled_by_model_width(x, w_q, w_k, w_v, mask=None):
    """The width in the scale is that of the tokens."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.transpose(-2, -1) / math.sqrt(x.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


@exercise.mistake("Axis 1 of how many? Try one sequence, then a batch of two.")
def keys_on_axis_one(x, w_q, w_k, w_v, mask=None):
    """The keys lie along axis 1, as in a table of queries and keys."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(1)
    return weights @ v, weights


@exercise.mistake("Must `love` look at `you` exactly as much as `you` at `love`?")
def one_role(x, w_q, w_k, w_v, mask=None):
    """Query and key are the same vector, since both come from the same token."""
    q, v = x @ w_q, x @ w_v
    scores = q @ q.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


@exercise.mistake("What is averaged: the tokens, or something made from them?")
def tokens_averaged(x, w_q, w_k, w_v, mask=None):
    """Attention averages the tokens themselves; projections only decide where to look."""
    q, k = x @ w_q, x @ w_k
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ x, weights


@exercise.mistake("The docstring gives the shape of each projection: which axis meets the tokens?")
def as_in_linear(x, w_q, w_k, w_v, mask=None):
    """A weight matrix is applied transposed, as nn.Linear does with its own."""
    q, k, v = x @ w_q.T, x @ w_k.T, x @ w_v.T
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


@exercise.alternative
def einsum(x, w_q, w_k, w_v, mask=None):
    """Einstein sums throughout, with query and key projection merged into one matrix first."""
    bilinear = torch.einsum("ih,jh->ij", w_q, w_k) / w_q.shape[1] ** 0.5
    scores = torch.einsum("...ti,ij,...sj->...ts", x, bilinear, x)
    if mask is not None:
        scores = torch.where(mask, scores, torch.full_like(scores, float("-inf")))
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("...ts,...sd,dv->...tv", weights, x, w_v), weights


@exercise.alternative
def one_query_at_a_time(x, w_q, w_k, w_v, mask=None):
    """Loops over the tokens with a softmax written out, and logs to stderr."""
    import logging

    logging.getLogger("attention").warning("one token at a time")
    k, v = x @ w_k, x @ w_v
    n = x.shape[-2]
    rows = []
    for t in range(n):
        q = x[..., t : t + 1, :] @ w_q
        scores = (k * q).sum(-1) / math.sqrt(k.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask[..., t, :], -math.inf)
        e = (scores - scores.amax(-1, keepdim=True)).exp()
        rows.append(e / e.sum(-1, keepdim=True))
    weights = torch.stack(rows, -2)
    return weights @ v, weights


@exercise.alternative
def softmax_in_single(x, w_q, w_k, w_v, mask=None):
    """A softmax in single precision, cast back, as large models write it."""
    scores = x @ w_q @ (x @ w_k).mT * w_k.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype)
    return weights @ (x @ w_v), weights
