"""Exercise ``heads.multi_head_attention``."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_out: Tensor,
    n_heads: int,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """What the exercise asks for, put together from the library."""
    q, k, v = (split_heads(y, n_heads) for y in (x @ w_q, memory @ w_k, memory @ w_v))
    out, weights = scaled_dot_product_attention(q, k, v, mask)
    return merge_heads(out) @ w_out, weights


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
    function="multi_head_attention",
    reference=reference,
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
    "output and weights of two and three heads",
    points=1.5,
    hint="Follow one token through: its four products, the cut, one head, the merge. Print shapes,"
    " then numbers.",
)
def values(t: Trial) -> None:
    for length, n_heads in ((4, 2), (5, 3)):
        x = t.randn(2, length, 6)
        t.same(x, x, *_square(t, 6), n_heads)


@exercise.prop(
    "the memory may have another length and another width than x",
    points=1,
    hint="Which of the four products is made from x, and which from the memory?",
)
def other_memory(t: Trial) -> None:
    # One head: nothing is cut.
    t.same(t.randn(2, 4, 6), t.randn(2, 4, 6), *_square(t, 6), 1, note="another memory")
    t.same(t.randn(2, 3, 8), t.randn(2, 6, 5), *_square(t, 8, 5), 1, note="of another form")


@exercise.prop(
    "one head is attention as in chapter 3, and there may be as many heads as channels",
    points=1,
    hint="With one head nothing is cut. How wide is a head if there are d_model of them, and what"
    " are its scores divided by?",
)
def extremes(t: Trial) -> None:
    for n_heads in (1, 6):
        x = t.randn(2, 4, 6)
        t.same(x, x, *_square(t, 6), n_heads, note=f"{n_heads} heads")


@exercise.prop(
    "if the output projection changes nothing, block h of the output is head h alone",
    points=1,
    hint="With w_out = identity you see the merged heads. Which channels must each of them fill?",
)
def blocks(t: Trial) -> None:
    x, (w_q, w_k, w_v, _) = t.randn(2, 4, 6), _square(t, 6)
    h = t.integer(0, 2)
    block = slice(2 * h, 2 * h + 2)
    out, weights = _two(t, x, x, w_q, w_k, w_v, torch.eye(6), 3)
    out = t.a_tensor(out, (2, 4, 6), "the output")
    alone, own = reference(x, x, w_q[:, block], w_k[:, block], w_v[:, block], torch.eye(2), 1)
    t.close(out[..., block], alone, f"block {h} of the output")
    weights = t.a_tensor(weights, (2, 3, 4, 4), "weights")
    t.close(weights[:, h], own[:, 0], f"weights of head {h}")


def _two(t: Trial, *args: object) -> tuple[Tensor, Tensor]:
    output, weights = t.values(t.call(*args))
    return output, weights


@exercise.prop(
    "a mask for each sentence, or for each head, hides what it says",
    points=1.5,
    hint="The mask broadcasts to (B, H, T, S), just as the scores of all heads are.",
)
def mask(t: Trial) -> None:
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


@exercise.prop(
    "gradients reach the tokens and all four projections",
    points=0.5,
    hint="Is anything detached, converted to numpy, or computed under no_grad?",
)
def gradients(t: Trial) -> None:
    w = [w.double() for w in _square(t, 4)]
    f64 = torch.float64
    t.gradient(t.randn(1, 3, 4, dtype=f64), t.randn(1, 2, 4, dtype=f64), *w, 2, output=0)


@exercise.prop(
    "the arguments are left as they were",
    points=0.5,
    hint="Look for operations that end in an underscore, and for `/=` on an argument.",
)
def no_side_effect(t: Trial) -> None:
    t.unchanged(t.randn(2, 3, 4), t.randn(2, 3, 4), *_square(t, 4), 2, t.keep_mask(2, 1, 3, 3))


@exercise.mistake("How many channels does a score of one head sum over?")
def scaled_by_model_width(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """The scale is the root of the width of the model."""

    def cut(y):
        return y.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    q, k, v = cut(x @ w_q), cut(memory @ w_k), cut(memory @ w_v)
    scores = q @ k.mT / math.sqrt(x.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return (weights @ v).transpose(1, 2).flatten(2) @ w_out, weights


@exercise.mistake("The shape after your merge is right. Whose numbers stand in row 0 of it?")
def merged_without_transpose(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """A reshape to (B, T, D) puts the heads side by side."""

    def cut(y):
        return y.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    out, weights = attend(cut(x @ w_q), cut(memory @ w_k), cut(memory @ w_v), mask)
    return out.reshape(x.shape) @ w_out, weights


@exercise.mistake("Your cut and your merge undo each other. Is that enough? See exercise 4.1.")
def reshaped_there_and_back(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """A cut is right if the merge undoes it."""

    def cut(y):
        return y.reshape(len(y), n_heads, -1, y.shape[-1] // n_heads)

    out, weights = attend(cut(x @ w_q), cut(memory @ w_k), cut(memory @ w_v), mask)
    return out.reshape(x.shape) @ w_out, weights


@exercise.mistake("Four projections came in. How many of them does your function use?")
def no_output_projection(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """The heads side by side are the output."""

    def cut(y):
        return y.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    out, weights = attend(cut(x @ w_q), cut(memory @ w_k), cut(memory @ w_v), mask)
    return out.transpose(1, 2).flatten(2), weights


@exercise.mistake("If all heads averaged with the same weights, what would several of them be for?")
def one_mind(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """The heads vote, and the values are averaged with their mean weights."""

    def cut(y):
        return y.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    v = cut(memory @ w_v)
    _, weights = attend(cut(x @ w_q), cut(memory @ w_k), v, mask)
    out = weights.mean(1, keepdim=True) @ v
    return out.transpose(1, 2).flatten(2) @ w_out, weights


@exercise.mistake("Who is looked at: x, or the memory?")
def looks_at_itself(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """Only the values come from the memory; who is alike is found out among the tokens of x."""

    def cut(y):
        return y.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    out, weights = attend(cut(x @ w_q), cut(x @ w_k), cut(memory @ w_v), mask)
    return out.transpose(1, 2).flatten(2) @ w_out, weights


@exercise.mistake("The docstring gives the shape of each projection: which axis meets the tokens?")
def as_in_linear(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """A weight matrix is applied transposed, as nn.Linear does with its own."""

    def cut(y):
        return y.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    out, weights = attend(cut(x @ w_q.T), cut(memory @ w_k.T), cut(memory @ w_v.T), mask)
    return out.transpose(1, 2).flatten(2) @ w_out.T, weights


@exercise.mistake("For one query of one head, which numbers must sum to 1?")
def heads_compete(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """Axis 1 of the scores holds the keys, as it did when there was one head and no batch."""

    def cut(y):
        return y.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    q, k, v = cut(x @ w_q), cut(memory @ w_k), cut(memory @ w_v)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(1)
    return (weights @ v).transpose(1, 2).flatten(2) @ w_out, weights


@exercise.alternative
def head_by_head(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """One head after the other, each with its block of every matrix, and their outputs added."""
    width = x.shape[-1] // n_heads
    out, maps = 0, []
    for h in range(n_heads):
        block = slice(h * width, (h + 1) * width)
        own = mask
        if mask is not None and mask.ndim > 2:
            own = mask[:, h if mask.shape[1] > 1 else 0]
        head, weights = attend(x @ w_q[:, block], memory @ w_k[:, block],
                               memory @ w_v[:, block], own)  # fmt: skip
        out = out + head @ w_out[block]
        maps.append(weights)
    return out, torch.stack(maps, dim=1)


@exercise.alternative
def einstein(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """Einstein sums over matrices that are cut instead of the tokens; says so on stderr."""
    import sys

    print("summing", file=sys.stderr)
    q, k, v = (w.unflatten(-1, (n_heads, -1)) for w in (w_q, w_k, w_v))
    query = torch.einsum("btm,mhd->bhtd", x, q)
    key = torch.einsum("bsm,mhd->bhsd", memory, k)
    scores = torch.einsum("bhtd,bhsd->bhts", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    out = torch.einsum("bhts,bsm,mhd->bthd", weights, memory, v)
    return torch.einsum("bthd,hdm->btm", out, w_out.unflatten(0, (n_heads, -1))), weights


@exercise.alternative
def softmax_in_single(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """A softmax in single precision, cast back, as large models write it."""
    q, k, v = (
        tokens.unflatten(-1, (n_heads, -1)).transpose(1, 2)
        for tokens in (x @ w_q, memory @ w_k, memory @ w_v)
    )
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype)
    return (weights @ v).transpose(1, 2).flatten(2) @ w_out, weights
