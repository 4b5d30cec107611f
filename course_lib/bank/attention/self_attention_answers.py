from course_lib.bank.attention.self_attention import colleagues_self_attention, exercise
from course_lib.bank.prelude import F, changed, math, torch
from course_lib.mixing import self_attention

reference = exercise.answer(self_attention)


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


def right(x, w_q, w_k, w_v, mask=None):
    """Base of the mistakes, itself right."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


@exercise.mistake("Over how many terms does a score sum? Is that the width of a token?")
@changed(right, ("q.shape", "x.shape"))
def scaled_by_model_width():
    """The width in the scale is that of the tokens."""


@exercise.mistake("Axis 1 of how many? Try one sequence, then a batch of two.")
@changed(right, ("softmax(-", "softmax("))
def keys_on_axis_one():
    """The keys lie along axis 1, as in a table of queries and keys."""


@exercise.mistake("Must `love` look at `you` exactly as much as `you` at `love`?")
@changed(right, ("q, k, v", "q, v"), (", x @ w_k,", ","), ("= q @ k", "= q @ q"))
def one_role():
    """Query and key are the same vector, since both come from the same token."""


@exercise.mistake("What is averaged: the tokens, or something made from them?")
@changed(right, (", v = x", "= x"), ("w_k, x @ w_v", "w_k"), ("v, weights", "x, weights"))
def tokens_averaged():
    """Attention averages the tokens themselves; projections only decide where to look."""


@exercise.mistake("The docstring gives the shape of each projection: which axis meets the tokens?")
@changed(right, (", x @ w_k, x @ w_v", ".T, x @ w_k.T, x @ w_v.T"))
def as_in_linear():
    """A weight matrix is applied transposed, as nn.Linear does with its own."""


@exercise.mistake("What is the variance of q·k when every entry has variance 1?")
def unscaled(x, w_q, w_k, w_v, mask=None):
    """The projections have learned how large the scores are to be."""
    scores = x @ w_q @ (x @ w_k).mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ (x @ w_v), weights


@exercise.mistake("In this course, what does True in a mask mean? Test yours with a single True.")
def inverted_mask(x, w_q, w_k, w_v, mask=None):
    """True in a mask marks what is hidden, as in nn.MultiheadAttention."""
    scores = x @ w_q @ (x @ w_k).mT / math.sqrt(w_q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ (x @ w_v), weights


@exercise.mistake("After your mask is applied, do the weights of a row still sum to 1?")
def mask_after_softmax(x, w_q, w_k, w_v, mask=None):
    """Masking means to set unwanted weights to zero, whenever that is done."""
    weights = (x @ w_q @ (x @ w_k).mT / math.sqrt(w_q.shape[-1])).softmax(-1)
    if mask is not None:
        weights = weights * mask
    return weights @ (x @ w_v), weights


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
