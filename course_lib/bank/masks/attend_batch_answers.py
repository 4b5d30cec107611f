from course_lib.attention import attention_weights
from course_lib.bank.masks.attend_batch import attend_as_it_came, exercise
from course_lib.bank.prelude import F, Tensor, changed, math, torch


@exercise.answer
def reference(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, drop: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """What the exercise asks for, put together from the library."""
    if mask is not None and mask.ndim == 3:
        mask = mask[:, None]
    weights = attention_weights(q, k, mask)
    return (weights if drop is None else weights * drop) @ v, weights


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake("Several things are wrong. Begin with the three symptoms above.")(
    attend_as_it_came
)


def right(q, k, v, mask=None, drop=None):
    """Base of the mistakes, itself right."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        mask = mask[:, None] if mask.ndim == 3 else mask
        scores = scores.masked_fill(~mask, -torch.inf)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    return (weights if drop is None else weights * drop) @ v, weights


@exercise.mistake("Which axis of the mask is your new axis in front of?")
@changed(right, (":, None", "None"))
def one_table_per_head():
    """A third axis is that of the heads, as it comes before queries and keys."""


@exercise.mistake("What has your repair done to a causal mask of shape (T, S)?")
@changed(right, ("[:, None] if mask.ndim == 3", ".unsqueeze(1) if mask.ndim < 4"))
def always_a_new_axis():
    """Every mask lacks the axis of the heads."""


@exercise.mistake("One symptom is cured. What does a query that sees nothing get?")
def only_the_axis(q, k, v, mask=None, drop=None):
    """With the axes right, any very negative number will do."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        mask = mask[:, None] if mask.ndim == 3 else mask
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return (weights if drop is None else weights * drop) @ v, weights


@exercise.mistake("What is a softmax over nothing but minus infinity?")
def empty_rows_forgotten(q, k, v, mask=None, drop=None):
    """There is always something to attend to."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        mask = mask[:, None] if mask.ndim == 3 else mask
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return (weights if drop is None else weights * drop) @ v, weights


@exercise.mistake("Sum a row of the weights that you return while the model is trained.")
def weights_after_dropout(q, k, v, mask=None, drop=None):
    """The weights to show are those that were used."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        mask = mask[:, None] if mask.ndim == 3 else mask
        scores = scores.masked_fill(~mask, -torch.inf)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    weights = weights if drop is None else weights * drop
    return weights @ v, weights


@exercise.mistake("Does dropping weights change your output at all?")
@changed(right, ("(weights if drop is None else weights * drop)", "weights"))
def dropout_lost():
    """If dropout must not touch the weights, it has no place here."""


@exercise.mistake("Which table does the second sentence of your batch use?")
@changed(right, (":, None", "0"))
def first_sentence_for_all():
    """One mask is enough for a batch."""


@exercise.alternative
def einsum(q, k, v, mask=None, drop=None):
    """Einstein sums, the mask expanded by name, and rows repaired by a product."""
    B, H, T, _ = q.shape
    weights = torch.einsum("bhtd,bhsd->bhts", q / math.sqrt(q.shape[-1]), k)
    if mask is not None:
        if mask.dim() == 3:
            mask = mask.unsqueeze(1).expand(B, H, T, k.shape[2])
        weights = torch.where(mask, weights, float("-inf"))
    seen = (weights > -math.inf).any(dim=-1, keepdim=True)
    weights = torch.softmax(torch.where(seen, weights, torch.zeros_like(weights)), dim=-1) * seen
    used = weights if drop is None else drop.to(weights.dtype) * weights
    return torch.einsum("bhts,bhsv->bhtv", used, v), weights


@exercise.alternative
def sentence_by_sentence(q, k, v, mask=None, drop=None):
    """One sentence and one head at a time, and a warning about it."""
    import warnings

    warnings.warn("looping over sentences and heads", stacklevel=1)
    outs, maps = [], []
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            scores = (q[b, h] * q.shape[-1] ** -0.5) @ k[b, h].T
            seen = torch.ones_like(scores, dtype=torch.bool)
            if mask is not None and mask.ndim == 2:
                seen = mask.expand_as(scores)
            elif mask is not None and mask.ndim == 3:
                seen = mask[b].expand_as(scores)
            elif mask is not None:
                seen = mask[b, h if mask.shape[1] > 1 else 0].expand_as(scores)
            scores = scores.masked_fill(~seen, -math.inf)
            weights = scores.softmax(-1).masked_fill(~seen, 0.0)
            maps.append(weights)
            outs.append((weights if drop is None else weights * drop[b, h]) @ v[b, h])
    shape = q.shape[:2]
    return torch.stack(outs).unflatten(0, shape), torch.stack(maps).unflatten(0, shape)


@exercise.alternative
def softmax_in_single(q, k, v, mask=None, drop=None):
    """A softmax in single precision, cast back, as large models write it."""
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if mask is not None:
        mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
        scores = scores.masked_fill(~mask, torch.finfo(q.dtype).min)
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    weights = weights if mask is None else weights.masked_fill(~mask, 0.0)
    return (weights if drop is None else weights * drop) @ v, weights
