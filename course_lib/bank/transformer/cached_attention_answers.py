from course_lib.attention import scaled_dot_product_attention
from course_lib.bank.prelude import F, Tensor, math, torch
from course_lib.bank.transformer.cached_attention import exercise
from course_lib.masks import causal_mask


@exercise.answer
def reference(
    x: Tensor, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs of the new tokens, and the grown cache."""
    keys = torch.cat([keys, x @ w_k], dim=1)
    values = torch.cat([values, x @ w_v], dim=1)
    mask = causal_mask(x.shape[1], keys.shape[1])
    out, _ = scaled_dot_product_attention(x @ w_q, keys, values, mask=mask)
    return out, keys, values


@exercise.mistake("Print how many keys your queries meet.")
def cache_kept_but_not_read(x, keys, values, w_q, w_k, w_v):
    """The cache is handed on for later; a call attends among its own tokens."""
    k, v = x @ w_k, x @ w_v
    T = x.shape[1]
    scores = x @ w_q @ k.mT / math.sqrt(k.shape[-1])
    past = torch.ones(T, T, dtype=torch.bool).tril()
    out = scores.masked_fill(~past, -torch.inf).softmax(-1) @ v
    return out, torch.cat([keys, k], 1), torch.cat([values, v], 1)


@exercise.mistake("One new token after ten cached ones: which keys does your mask let it see?")
def mask_from_the_top_left(x, keys, values, w_q, w_k, w_v):
    """The first query sees the first key, however many keys are cached."""
    k, v = torch.cat([keys, x @ w_k], 1), torch.cat([values, x @ w_v], 1)
    scores = x @ w_q @ k.mT / math.sqrt(k.shape[-1])
    past = torch.ones(x.shape[1], k.shape[1], dtype=torch.bool).tril()
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v, k, v


@exercise.mistake("Three tokens arrive at once. May the first of them look at the third?")
def no_mask(x, keys, values, w_q, w_k, w_v):
    """With a cache everything that is there is the past, so no mask is needed."""
    k, v = torch.cat([keys, x @ w_k], 1), torch.cat([values, x @ w_v], 1)
    scores = x @ w_q @ k.mT / math.sqrt(k.shape[-1])
    return scores.softmax(-1) @ v, k, v


@exercise.mistake("Read two pieces one after the other and look at the order of the keys.")
def put_in_front(x, keys, values, w_q, w_k, w_v):
    """The order of the keys does not matter, so new ones may come first."""
    T, S = x.shape[1], keys.shape[1]
    k, v = torch.cat([x @ w_k, keys], 1), torch.cat([x @ w_v, values], 1)
    scores = x @ w_q @ k.mT / math.sqrt(k.shape[-1])
    old = torch.ones(T, S, dtype=torch.bool)
    past = torch.cat([torch.ones(T, T, dtype=torch.bool).tril(), old], 1)
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v, k, v


@exercise.mistake("Between which vectors is the inner product taken, and how wide are they?")
def root_of_the_model_width(x, keys, values, w_q, w_k, w_v):
    """Scores are divided by the root of the width of the tokens."""
    k, v = torch.cat([keys, x @ w_k], 1), torch.cat([values, x @ w_v], 1)
    scores = x @ w_q @ k.mT / math.sqrt(x.shape[-1])
    past = torch.ones(x.shape[1], k.shape[1], dtype=torch.bool).tril(keys.shape[1])
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v, k, v


@exercise.mistake("Right numbers. How many rows does your mask have, and how many do you use?")
def square_of_the_length(x, keys, values, w_q, w_k, w_v):
    """A causal mask is square; the rows that are needed are cut out of it."""
    k, v = torch.cat([keys, x @ w_k], 1), torch.cat([values, x @ w_v], 1)
    scores = x @ w_q @ k.mT / math.sqrt(k.shape[-1])
    past = torch.ones(k.shape[1], k.shape[1], dtype=torch.bool).tril()[keys.shape[1] :]
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v, k, v


@exercise.mistake("Is a token among the things that it may look at? Try an empty cache.")
def old_ones_only(x, keys, values, w_q, w_k, w_v):
    """A new token looks at what is cached, and is cached itself afterwards."""
    k, v = torch.cat([keys, x @ w_k], 1), torch.cat([values, x @ w_v], 1)
    scores = x @ w_q @ k.mT / math.sqrt(k.shape[-1])
    past = torch.ones(x.shape[1], k.shape[1], dtype=torch.bool).tril(keys.shape[1] - 1)
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v, k, v


@exercise.alternative
def token_by_token(x, keys, values, w_q, w_k, w_v):
    """Takes in one new token after the other, so that no mask is needed; prints to stderr."""
    import sys

    print("token by token", file=sys.stderr)
    outs = []
    for t in range(x.shape[1]):
        new = x[:, t : t + 1]
        keys = torch.cat((keys, new @ w_k), dim=1)
        values = torch.cat((values, new @ w_v), dim=1)
        weights = torch.softmax((new @ w_q) @ keys.mT * keys.shape[-1] ** -0.5, dim=-1)
        outs.append(weights @ values)
    return torch.cat(outs, dim=1), keys, values


@exercise.alternative
def positions_compared(x, keys, values, w_q, w_k, w_v):
    """Compares positions and adds what is hidden as minus infinity."""
    S, T = keys.shape[1], x.shape[1]
    k, v = (torch.cat(pair, 1) for pair in ((keys, x @ w_k), (values, x @ w_v)))
    scores = torch.einsum("btd,bsd->bts", x @ w_q, k) / k.shape[-1] ** 0.5
    later = torch.arange(S + T)[None, :] > torch.arange(S, S + T)[:, None]
    bias = torch.zeros(T, S + T, dtype=x.dtype).masked_fill(later, float("-inf"))
    return torch.einsum("bts,bsd->btd", (scores + bias).softmax(-1), v), k, v


@exercise.alternative
def two_sums(x, keys, values, w_q, w_k, w_v):
    """Adds up powers over old keys and over new ones, and divides once."""
    q, k, v = (x @ w_q) / math.sqrt(keys.shape[-1]), x @ w_k, x @ w_v
    old, new = q @ keys.mT, q @ k.mT
    T = x.shape[1]
    new = new.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), float("-inf"))
    top = torch.cat([old, new], -1).amax(-1, keepdim=True)
    old, new = (old - top).exp(), (new - top).exp()
    total = old.sum(-1, keepdim=True) + new.sum(-1, keepdim=True)
    out = (old @ values + new @ v) / total
    return out, torch.cat([keys, k], 1), torch.cat([values, v], 1)


@exercise.alternative
def softmax_in_single(x, keys, values, w_q, w_k, w_v):
    """A softmax in single precision, cast back, as large models write it."""
    keys = torch.cat([keys, x @ w_k], dim=1)
    values = torch.cat([values, x @ w_v], dim=1)
    T, S = x.shape[1], keys.shape[1]
    future = torch.arange(S) > torch.arange(S - T, S)[:, None]
    scores = (x @ w_q @ keys.mT * keys.shape[-1] ** -0.5).masked_fill(future, -torch.inf)
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype)
    return weights @ values, keys, values
