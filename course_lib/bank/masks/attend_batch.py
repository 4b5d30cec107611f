"""Exercise ``masks.attend_batch``."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.attention import attention_weights
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, drop: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """What the exercise asks for, put together from the library."""
    if mask is not None and mask.ndim == 3:
        mask = mask[:, None]
    weights = attention_weights(q, k, mask)
    return (weights if drop is None else weights * drop) @ v, weights


exercise = Exercise(
    id="masks.attend_batch",
    function="attend_batch",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=3,
    chapter="05_masks.html#masks-heads",
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
    "a mask (B, T, S) holds for its own sentence and all its heads, also if B = H",
    points=1.5,
    hint="Broadcasting lines shapes up from the right. What does the axis B of the mask meet?",
)
def one_table_each(t: Trial) -> None:
    n = t.integer(2, 3)
    q, k, v = _inputs(t, n, n)
    for keep in (t.keep_mask(n, 4, 5), t.keep_mask(n, 4, 5)):
        t.same(q, k, v, keep, note=f"{n} sentences, {n} heads")


@exercise.prop(
    "also if B and H differ; (T, S), (B, 1, 1, S) and (B, H, T, S) mean what they always meant",
    points=1.5,
    hint="Which masks needed no repair? Do they still pass through yours unharmed?",
)
def other_shapes(t: Trial) -> None:
    for B, H in ((3, 2), (2, 4), (1, 3)):
        q, k, v = _inputs(t, B, H)
        t.same(q, k, v, t.keep_mask(B, 4, 5), note=f"{B} sentences, {H} heads")
    # As many of everything: an axis in the wrong place goes unnoticed by broadcasting.
    n = t.integer(3, 4)
    q, k, v = _inputs(t, n, n, n, n)
    for shape in ((n, n), (n, 1, 1, n), (n, n, n, n)):
        t.same(q, k, v, t.keep_mask(*shape), note=f"mask {shape}")


@exercise.prop(
    "a query that sees nothing gets exactly 0, in every dtype, and finite gradients",
    points=1,
    hint="Which number does a mask put in place of a score, and is there one in float16?",
)
def empty_rows(t: Trial) -> None:
    mask = t.keep_mask(1, 4, 5)
    mask[0, 1] = False
    q, k, v = _inputs(t, 1, 2)
    t.same(q, k, v, mask)
    t.same(q.half(), k.half(), v.half(), mask, note="float16")
    t.gradient(q.double(), k.double(), v.double(), mask)


@exercise.prop(
    "dropout acts on the output of every head, and the weights returned are those before it",
    points=1,
    hint="Do the rows that you draw sum to 1 while the model is trained? And without a mask, and"
    " without dropout, what did chapter 3 return?",
)
def before_dropout(t: Trial) -> None:
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


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake("Several things are wrong. Begin with the three symptoms above.")(
    attend_as_it_came
)


@exercise.mistake("Which axis of the mask does your new axis stand in front of?")
def one_table_per_head(q, k, v, mask=None, drop=None):
    """A third axis is that of the heads, as it stands next to queries and keys."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        mask = mask[None] if mask.ndim == 3 else mask
        scores = scores.masked_fill(~mask, -torch.inf)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    return (weights if drop is None else weights * drop) @ v, weights


@exercise.mistake("What has your repair done to a causal mask of shape (T, S)?")
def always_a_new_axis(q, k, v, mask=None, drop=None):
    """Every mask lacks the axis of the heads."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        mask = mask.unsqueeze(1) if mask.ndim < 4 else mask
        scores = scores.masked_fill(~mask, -torch.inf)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    return (weights if drop is None else weights * drop) @ v, weights


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
def dropout_lost(q, k, v, mask=None, drop=None):
    """If dropout must not touch the weights, it has no place here."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        mask = mask[:, None] if mask.ndim == 3 else mask
        scores = scores.masked_fill(~mask, -torch.inf)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    return weights @ v, weights


@exercise.mistake("Which table does the second sentence of your batch use?")
def first_sentence_for_all(q, k, v, mask=None, drop=None):
    """One mask is enough for a batch."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        mask = mask[0] if mask.ndim == 3 else mask
        scores = scores.masked_fill(~mask, -torch.inf)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    return (weights if drop is None else weights * drop) @ v, weights


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
