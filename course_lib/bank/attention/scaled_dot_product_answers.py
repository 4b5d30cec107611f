from course_lib.attention import scaled_dot_product_attention
from course_lib.bank.attention.scaled_dot_product import exercise
from course_lib.bank.prelude import F, changed, math, torch

reference = exercise.answer(scaled_dot_product_attention)


def right(q, k, v, mask=None):
    """Base of the mistakes, itself right."""
    scores = q / math.sqrt(q.shape[-1]) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


@exercise.mistake("What is the variance of q·k when every entry has variance 1?")
@changed(right, ("/ math.sqrt(q.shape[-1]) @", "@"))
def unscaled():
    """The dot product is a similarity as it is; scaling only changes units."""


@exercise.mistake(
    "You divide by d itself: how does the *standard deviation* of a sum of d terms grow?"
)
@changed(right, ("math.sqrt(q", "q"), ("]) @ k.", "] @ k."))
def scaled_by_width():
    """A sum of d terms grows like d, so it is divided by d."""


@exercise.mistake("Which vectors enter the dot product: queries and keys, or values?")
@changed(right, ("q.shape", "v.shape"))
def scaled_by_value_width():
    """The scale belongs to what is averaged, so it is the width of the values."""


@exercise.mistake(
    "For one query, what must sum to 1: its weights over the keys, or something else?"
)
@changed(right, ("softmax(-1", "softmax(-2"))
def softmax_over_queries():
    """Each key spreads its attention over the queries."""


@exercise.mistake("After your mask is applied, do the weights of a row still sum to 1?")
def mask_after_softmax(q, k, v, mask=None):
    """Masking means to set unwanted weights to zero, whenever that is done."""
    weights = (q / math.sqrt(q.shape[-1]) @ k.transpose(-2, -1)).softmax(-1)
    if mask is not None:
        weights = weights * mask
    return weights @ v, weights


@exercise.mistake("In this course, what does True in a mask mean? Test yours with a single True.")
@changed(right, ("(~mask,", "(mask,"))
def inverted_mask():
    """True in a mask marks what is hidden, as in nn.MultiheadAttention."""


@exercise.mistake("What does exp give for a score of 0, and is that nothing?")
@changed(right, (".masked_fill(~mask, -torch.inf)", "* mask"))
def masked_scores_zero():
    """A score of 0 means no attention."""


@exercise.mistake("Take a fill value of yours and scores of -20 000: which keys win?")
@changed(right, ("torch.inf", "1e4"))
def finite_fill():
    """A large negative number is as good as minus infinity."""


@exercise.mistake("Two scores, 30 and 20: who leads by how much before your bound, and after it?")
@changed(right, ("q / math", "(q / math"), ("-2, -1)", "-2, -1)).clamp(-20, 20)"))
def clamped():
    """Scores are kept small by a bound, and a softmax loses nothing by it."""


@exercise.mistake("Which is the largest number on the way: the score, or the product before it?")
@changed(right, ("/ math.", "@ k.transpose(-2, -1) / math."), (") @ k.transpose(-2, -1)", ")"))
def divided_afterwards():
    """Whether queries or their products are divided is the same, in half precision, too."""


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
        scores = (k * (q / math.sqrt(q.shape[-1]))[..., i : i + 1, :]).sum(-1)
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
    scores = (q * q.shape[-1] ** -0.5) @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return weights @ v, weights
