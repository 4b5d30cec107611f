from course_lib.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_lib.bank.heads.multi_head_attention import attend, exercise
from course_lib.bank.prelude import F, Tensor, changed, math, torch


@exercise.answer
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


def right(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """Base of the mistakes, itself right."""

    def cut(y):
        return y.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    out, weights = attend(cut(x @ w_q), cut(memory @ w_k), cut(memory @ w_v), mask)
    return out.transpose(1, 2).flatten(2) @ w_out, weights


@exercise.mistake("The shape after your merge is right. Whose numbers are in row 0 of it?")
@changed(right, ("transpose(1, 2).flatten(2", "reshape(x.shape"))
def merged_without_transpose():
    """A reshape to (B, T, D) puts the heads side by side."""


@exercise.mistake("Your cut and your merge undo each other. Is that enough? See exercise 4.1.")
def reshaped_there_and_back(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """A cut is right if the merge undoes it."""

    def cut(y):
        return y.reshape(len(y), n_heads, -1, y.shape[-1] // n_heads)

    out, weights = attend(cut(x @ w_q), cut(memory @ w_k), cut(memory @ w_v), mask)
    return out.reshape(x.shape) @ w_out, weights


@exercise.mistake("Four projections came in. How many of them does your function use?")
@changed(right, ("@ w_out,", ","))
def no_output_projection():
    """The heads side by side are the output."""


@exercise.mistake("If all heads averaged with the same weights, what would several of them be for?")
def one_mind(x, memory, w_q, w_k, w_v, w_out, n_heads, mask=None):
    """The heads vote, and the values are averaged with their mean weights."""

    def cut(y):
        return y.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    v = cut(memory @ w_v)
    _, weights = attend(cut(x @ w_q), cut(memory @ w_k), v, mask)
    out = weights.mean(1, keepdim=True) @ v
    return out.transpose(1, 2).flatten(2) @ w_out, weights


@exercise.mistake("What is searched: x, or the memory?")
@changed(right, ("memory @ w_k", "x @ w_k"))
def looks_at_itself():
    """Only the values come from the memory; queries and keys are both made from x."""


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
