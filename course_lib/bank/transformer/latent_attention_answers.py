from course_lib.attention import scaled_dot_product_attention
from course_lib.bank.prelude import Tensor, math, torch
from course_lib.bank.transformer.latent_attention import exercise
from course_lib.masks import causal_mask


@exercise.answer
def reference(
    q: Tensor, turned_q: Tensor, latents: Tensor, turned_k: Tensor, U_k: Tensor, U_v: Tensor
) -> Tensor:
    """The library's attention, on keys and values that are made, one head after the other."""
    mask, outs = causal_mask(q.shape[2], latents.shape[1]), []
    for h in range(q.shape[1]):
        query = torch.cat([q[:, h], turned_q[:, h]], dim=-1)
        key = torch.cat([latents @ U_k[h].mT, turned_k], dim=-1)
        outs.append(scaled_dot_product_attention(query, key, latents @ U_v[h].mT, mask=mask)[0])
    return torch.stack(outs, dim=1)


@exercise.mistake("Right numbers. How many keys of how many heads lie in memory meanwhile?")
def makes_every_key(q, turned_q, latents, turned_k, U_k, U_v):
    """Keys and values of all heads are made, and then attention is as always."""
    T, S = q.shape[2], latents.shape[1]
    k, v = (latents[:, None] @ U.mT for U in (U_k, U_v))
    scores = (q @ k.mT + turned_q @ turned_k[:, None].mT) / math.sqrt(
        q.shape[-1] + turned_q.shape[-1]
    )
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v


@exercise.mistake("Two products are added. How wide are the vectors of both together?")
def scaled_by_the_still_width(q, turned_q, latents, turned_k, U_k, U_v):
    """Scores are divided by the root of a head's width, whatever turns beside it."""
    T, S = q.shape[2], latents.shape[1]
    scores = (q @ U_k) @ latents[:, None].mT + turned_q @ turned_k[:, None].mT
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    weights = (scores / math.sqrt(q.shape[-1])).masked_fill(~past, -torch.inf).softmax(-1)
    return (weights @ latents[:, None]) @ U_v.mT


@exercise.mistake("The carried query is as wide as a latent. Has the score it gives changed?")
def scaled_by_the_latents_width(q, turned_q, latents, turned_k, U_k, U_v):
    """Scores are divided by the root of the width of the vectors that meet."""
    T, S = q.shape[2], latents.shape[1]
    carried = torch.cat([q @ U_k, turned_q], dim=-1)
    keys = torch.cat([latents, turned_k], dim=-1)[:, None]
    scores = carried @ keys.mT / math.sqrt(keys.shape[-1])
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    return (weights @ latents[:, None]) @ U_v.mT


@exercise.mistake("What does a model without any turned channel know of the order?")
def nothing_turns(q, turned_q, latents, turned_k, U_k, U_v):
    """The latents hold all that is known of a token."""
    T, S = q.shape[2], latents.shape[1]
    scores = (q @ U_k) @ latents[:, None].mT / math.sqrt(q.shape[-1] + turned_q.shape[-1])
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    return (weights @ latents[:, None]) @ U_v.mT


@exercise.mistake("One latent for all heads. Is there one matrix for all heads, too?")
def one_matrix_for_all(q, turned_q, latents, turned_k, U_k, U_v):
    """All heads share what is kept, so they share the first head's matrices."""
    T, S = q.shape[2], latents.shape[1]
    scores = (q @ U_k[0]) @ latents[:, None].mT + turned_q @ turned_k[:, None].mT
    scores = scores / math.sqrt(q.shape[-1] + turned_q.shape[-1])
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    return (weights @ latents[:, None]) @ U_v[0].mT


@exercise.mistake("Two scores for one key. How many softmaxes decide how much it gets?")
def two_softmaxes(q, turned_q, latents, turned_k, U_k, U_v):
    """Contents and places have weights of their own, and their mean counts."""
    T, S = q.shape[2], latents.shape[1]
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    scale = math.sqrt(q.shape[-1] + turned_q.shape[-1])
    both = ((q @ U_k) @ latents[:, None].mT, turned_q @ turned_k[:, None].mT)
    weights = sum((x / scale).masked_fill(~past, -torch.inf).softmax(-1) for x in both) / 2
    return (weights @ latents[:, None]) @ U_v.mT


@exercise.mistake("Three tokens are new. May the first of them look at the third?")
def no_mask(q, turned_q, latents, turned_k, U_k, U_v):
    """What is kept is the past, so no mask is needed."""
    scores = (q @ U_k) @ latents[:, None].mT + turned_q @ turned_k[:, None].mT
    weights = (scores / math.sqrt(q.shape[-1] + turned_q.shape[-1])).softmax(-1)
    return (weights @ latents[:, None]) @ U_v.mT


@exercise.mistake("One new token after ten others: which latents does your mask let it see?")
def mask_from_the_top_left(q, turned_q, latents, turned_k, U_k, U_v):
    """The first query sees the first latent, however many are kept."""
    T, S = q.shape[2], latents.shape[1]
    scores = (q @ U_k) @ latents[:, None].mT + turned_q @ turned_k[:, None].mT
    scores = scores / math.sqrt(q.shape[-1] + turned_q.shape[-1])
    past = torch.ones(T, S, dtype=torch.bool).tril()
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    return (weights @ latents[:, None]) @ U_v.mT


@exercise.alternative
def head_by_head(q, turned_q, latents, turned_k, U_k, U_v):
    """One head after the other; prints to stderr."""
    import sys

    print("head by head", file=sys.stderr)
    T, S, outs = q.shape[2], latents.shape[1], []
    later = torch.arange(S) > torch.arange(S - T, S)[:, None]
    keys = torch.cat([latents, turned_k], dim=2).transpose(1, 2)
    for h in range(q.shape[1]):
        carried = torch.cat([q[:, h] @ U_k[h], turned_q[:, h]], dim=2)
        scores = carried @ keys * (q.shape[-1] + turned_q.shape[-1]) ** -0.5
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        outs.append(weights @ latents @ U_v[h].transpose(0, 1))
    return torch.stack(outs, dim=1)


@exercise.alternative
def by_names(q, turned_q, latents, turned_k, U_k, U_v):
    """Sums by the names of axes."""
    T, S = q.shape[2], latents.shape[1]
    carried = torch.einsum("bhtd,hdc->bhtc", q, U_k)
    scores = torch.einsum("bhtc,bsc->bhts", carried, latents)
    scores = scores + torch.einsum("bhtr,bsr->bhts", turned_q, turned_k)
    bias = torch.zeros(T, S, dtype=q.dtype)
    bias[torch.arange(S) > torch.arange(S - T, S)[:, None]] = -math.inf
    weights = (scores / math.sqrt(q.shape[-1] + turned_q.shape[-1]) + bias).softmax(dim=-1)
    mixed = torch.einsum("bhts,bsc->bhtc", weights, latents)
    return torch.einsum("bhtc,hvc->bhtv", mixed, U_v)
