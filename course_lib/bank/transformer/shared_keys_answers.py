from course_lib.attention import scaled_dot_product_attention
from course_lib.bank.prelude import Tensor, math, torch
from course_lib.bank.transformer.shared_keys import exercise
from course_lib.masks import causal_mask


@exercise.answer
def reference(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The library's attention, one group after the other."""
    T, S = q.shape[2], k.shape[2]
    mask, groups = causal_mask(T, S), q.unflatten(1, (k.shape[1], -1)).unbind(1)
    outs = []
    for g, queries in enumerate(groups):
        # The heads of a group follow one another, each with a mask of its own.
        masks = mask.repeat(queries.shape[1], 1)
        out, _ = scaled_dot_product_attention(queries.flatten(1, 2), k[:, g], v[:, g], mask=masks)
        outs.append(out.unflatten(1, (-1, T)))
    return torch.cat(outs, dim=1)


@exercise.mistake("Four query heads, two key heads. Which one does query head 1 use?")
def every_other_head(q, k, v):
    """Query heads take the key heads in turn."""
    B, H, T, Dh = q.shape
    G, S = k.shape[1:3]
    rows = q.reshape(B, H // G, G, T, Dh).transpose(1, 2).reshape(B, G, -1, Dh)
    scores = (rows @ k.mT / math.sqrt(Dh)).unflatten(2, (-1, T))
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    out = (weights.flatten(2, 3) @ v).unflatten(2, (-1, T))
    return out.transpose(1, 2).reshape(B, H, T, -1)


@exercise.mistake("Right numbers. How often do the keys lie in memory while you compute?")
def copied_for_each_head(q, k, v):
    """Every query head needs keys and values of its own, so they are repeated first."""
    each = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(each, dim=1) for x in (k, v))
    past = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v


@exercise.mistake("Two query heads share a key head. Do they ask the same question?")
def one_query_for_a_group(q, k, v):
    """Heads that share keys share one query, too: their mean."""
    B, H, T, Dh = q.shape
    G, S = k.shape[1:3]
    mean = q.unflatten(1, (G, -1)).mean(2)
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    scores = (mean @ k.mT / math.sqrt(Dh)).masked_fill(~past, -torch.inf)
    return (scores.softmax(-1) @ v).repeat_interleave(H // G, dim=1)


@exercise.mistake("Three tokens are new. May the first of them look at the third?")
def no_mask(q, k, v):
    """What is in the cache is the past, so no mask is needed."""
    G, T = k.shape[1], q.shape[2]
    rows = q.unflatten(1, (G, -1)).flatten(2, 3)
    weights = (rows @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return (weights @ v).unflatten(2, (-1, T)).flatten(1, 2)


@exercise.mistake("One new token after ten cached ones: which keys does your mask let it see?")
def mask_from_the_top_left(q, k, v):
    """The first query sees the first key, however many keys are cached."""
    G, T, S = k.shape[1], q.shape[2], k.shape[2]
    rows = q.unflatten(1, (G, -1)).flatten(2, 3)
    scores = (rows @ k.mT / math.sqrt(q.shape[-1])).unflatten(2, (-1, T))
    past = torch.ones(T, S, dtype=torch.bool).tril()
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    return (weights.flatten(2, 3) @ v).unflatten(2, (-1, T)).flatten(1, 2)


@exercise.mistake("Stacked queries of two heads: is the second head's first query a later token?")
def mask_of_stacked_rows(q, k, v):
    """Queries of a group, written below each other, are one text, under one staircase."""
    G, T, S = k.shape[1], q.shape[2], k.shape[2]
    rows = q.unflatten(1, (G, -1)).flatten(2, 3)
    scores = rows @ k.mT / math.sqrt(q.shape[-1])
    past = torch.ones(scores.shape[2], S, dtype=torch.bool).tril(S - T)
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    return (weights @ v).unflatten(2, (-1, T)).flatten(1, 2)


@exercise.mistake("Between which vectors is the inner product taken, and how wide are they?")
def root_of_a_groups_width(q, k, v):
    """Scores are divided by the root of the width of all queries that share the keys."""
    G, T, S = k.shape[1], q.shape[2], k.shape[2]
    rows = q.unflatten(1, (G, -1)).flatten(2, 3)
    width = q.shape[1] // G * q.shape[-1]
    scores = (rows @ k.mT / math.sqrt(width)).unflatten(2, (-1, T))
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    return (weights.flatten(2, 3) @ v).unflatten(2, (-1, T)).flatten(1, 2)


@exercise.mistake("Number your heads before and after. In which order do they come back?")
def heads_in_another_order(q, k, v):
    """It makes no difference whether groups or the heads of a group come first."""
    G, T, S = k.shape[1], q.shape[2], k.shape[2]
    rows = q.unflatten(1, (G, -1)).flatten(2, 3)
    scores = (rows @ k.mT / math.sqrt(q.shape[-1])).unflatten(2, (-1, T))
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    out = (weights.flatten(2, 3) @ v).unflatten(2, (-1, T))
    return out.transpose(1, 2).flatten(1, 2)


@exercise.alternative
def head_by_head(q, k, v):
    """One query head after the other, each with its key head; prints to stderr."""
    import sys

    print("head by head", file=sys.stderr)
    each, T, S = q.shape[1] // k.shape[1], q.shape[2], k.shape[2]
    later = torch.arange(S) > torch.arange(S - T, S)[:, None]
    outs = []
    for head in range(q.shape[1]):
        scores = q[:, head] @ k[:, head // each].transpose(-2, -1) * q.shape[-1] ** -0.5
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        outs.append(weights @ v[:, head // each])
    return torch.stack(outs, dim=1)


@exercise.alternative
def by_names(q, k, v):
    """An axis for the heads of a group, and sums by the names of axes."""
    B, H, T, Dh = q.shape
    G, S = k.shape[1], k.shape[2]
    scores = torch.einsum("bgntd,bgsd->bgnts", q.view(B, G, H // G, T, Dh) / math.sqrt(Dh), k)
    bias = torch.zeros(T, S, dtype=q.dtype)
    bias[torch.arange(S) > torch.arange(S - T, S)[:, None]] = -math.inf
    weights = (scores + bias).softmax(dim=-1)
    return torch.einsum("bgnts,bgsd->bgntd", weights, v).reshape(B, H, T, -1)
