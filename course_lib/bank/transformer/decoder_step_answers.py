from course_lib.attention import scaled_dot_product_attention
from course_lib.bank.prelude import F, changed, math, nn, torch
from course_lib.bank.transformer.decoder_step import exercise
from course_lib.masks import causal_mask


@exercise.answer
def reference(tokens, keys, values, words, places, w_qkv, w_out, w_up, w_down):
    """Logits of new tokens, and the grown cache of every layer."""
    (H, S), (D,) = keys.shape[2:4], words.shape[1:]
    mask = causal_mask(tokens.shape[1], S + tokens.shape[1])
    x = words[tokens] + places[S : S + tokens.shape[1]]
    cache = []
    for layer, projections in enumerate(w_qkv):
        normed = F.layer_norm(x, (D,))
        q, k, v = ((normed @ w).unflatten(-1, (H, -1)).transpose(1, 2) for w in projections)
        k, v = torch.cat([keys[layer], k], dim=2), torch.cat([values[layer], v], dim=2)
        out, _ = scaled_dot_product_attention(q, k, v, mask=mask)
        x = x + out.transpose(1, 2).flatten(2) @ w_out[layer]
        x = x + (F.layer_norm(x, (D,)) @ w_up[layer]).relu() @ w_down[layer]
        cache.append((k, v))
    keys, values = (torch.stack(part) for part in zip(*cache, strict=True))
    return F.layer_norm(x, (D,)) @ words.T, keys, values


def right(tokens, keys, values, words, places, w_qkv, w_out, w_up, w_down):
    """Base of the mistakes, itself right."""
    (H, S), T, D = keys.shape[2:4], tokens.shape[1], words.shape[1]
    x, grown = words[tokens] + places[S : S + T], []
    later = torch.ones(T, S + T, dtype=torch.bool).triu(S + 1)
    for layer, w in enumerate(w_qkv):
        q, k, v = (F.layer_norm(x, (D,)) @ w[:, None]).unflatten(-1, (H, -1)).transpose(2, 3)
        k, v = torch.cat([keys[layer], k], 2), torch.cat([values[layer], v], 2)
        scores = (q @ k.mT / math.sqrt(D / H)).masked_fill(later, -torch.inf)
        x = x + (scores.softmax(-1) @ v).transpose(1, 2).flatten(2) @ w_out[layer]
        x = x + (F.layer_norm(x, (D,)) @ w_up[layer]).relu() @ w_down[layer]
        grown.append(torch.stack([k, v]))
    return F.layer_norm(x, (D,)) @ words.T, *torch.stack(grown, dim=1)


@exercise.mistake("A second token, and the first is cached: which row of `places` has it?")
@changed(right, ("S : S +", ":"))
def always_from_the_first_place():
    """The tokens of a call are at the first places."""


@exercise.mistake("One token after ten cached ones: which keys does your mask let it see?")
@changed(right, ("(S + 1)", "(1)"))
def mask_from_the_top_left():
    """The first query sees the first key, however many keys are cached."""


@exercise.mistake("What does the first of three tokens look at in training, and in writing?")
@changed(right, (".masked_fill(later, -torch.inf)", ""))
def everything_is_seen():
    """The model writes from left to right, so that no mask is needed."""


@exercise.mistake("After attention, where is the word that a token began with?")
@changed(right, ("x + (scores", "(scores"))
def nothing_is_added():
    """What attention finds takes the place of the stream."""


@exercise.mistake("Two tokens come one by one. Whose keys does the second layer meet?")
@changed(right, ("layer], k", "0], k"), ("layer], v", "0], v"))
def one_cache_for_all_layers():
    """Keys of earlier tokens are the same in all layers."""


@exercise.mistake("Reshape 2 tokens of 4 channels to 2 heads. What does head 0 hold?")
def heads_cut_through_tokens(tokens, keys, values, words, places, w_qkv, w_out, w_up, w_down):
    """A reshape to (B, H, T, Dh) cuts the channels into heads."""
    (H, S), T, D = keys.shape[2:4], tokens.shape[1], words.shape[1]
    x, grown = words[tokens] + places[S : S + T], []
    later = torch.ones(T, S + T, dtype=torch.bool).triu(S + 1)
    for layer, w in enumerate(w_qkv):
        q, k, v = F.layer_norm(x, (D,)) @ w[:, None]
        q, k, v = (part.reshape(len(x), H, T, -1) for part in (q, k, v))
        k, v = torch.cat([keys[layer], k], 2), torch.cat([values[layer], v], 2)
        scores = (q @ k.mT / math.sqrt(D / H)).masked_fill(later, -torch.inf)
        x = x + (scores.softmax(-1) @ v).transpose(1, 2).flatten(2) @ w_out[layer]
        x = x + (F.layer_norm(x, (D,)) @ w_up[layer]).relu() @ w_down[layer]
        grown.append(torch.stack([k, v]))
    return F.layer_norm(x, (D,)) @ words.T, *torch.stack(grown, dim=1)


@exercise.alternative
def by_the_librarys_attention(tokens, keys, values, words, places, w_qkv, w_out, w_up, w_down):
    """Lets the library attend, with a mask that knows of the cache."""
    (H, S), T, D = keys.shape[2:4], tokens.shape[1], words.shape[1]
    x, grown = words[tokens] + places[S : S + T], []
    later = torch.ones(T, S + T, dtype=torch.bool).triu(S + 1)
    for layer, w in enumerate(w_qkv):
        q, k, v = (F.layer_norm(x, (D,)) @ w[:, None]).unflatten(-1, (H, -1)).transpose(2, 3)
        k, v = torch.cat([keys[layer], k], 2), torch.cat([values[layer], v], 2)
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=~later)
        x = x + found.transpose(1, 2).flatten(2) @ w_out[layer]
        x = x + (F.layer_norm(x, (D,)) @ w_up[layer]).relu() @ w_down[layer]
        grown.append(torch.stack([k, v]))
    return F.layer_norm(x, (D,)) @ words.T, *torch.stack(grown, dim=1)


@exercise.alternative
def token_by_token(tokens, keys, values, words, places, w_qkv, w_out, w_up, w_down):
    """Takes in one token after the other, so that no mask is needed."""
    (H, S), outs = keys.shape[2:4], []
    cache = list(torch.stack([keys, values], dim=1))
    norm = nn.LayerNorm(words.shape[1], elementwise_affine=False, dtype=words.dtype)
    for place, token in enumerate(tokens.T, start=S):
        x = words[token] + places[place]
        for layer, w in enumerate(w_qkv):
            q, *new = torch.matmul(norm(x), w).unflatten(-1, (H, 1, -1))
            k, v = cache[layer] = torch.cat([cache[layer], torch.stack(new)], dim=3)
            weights = torch.softmax(q @ k.mT * k.shape[-1] ** -0.5, dim=-1)
            x = x + (weights @ v).flatten(1) @ w_out[layer]
            x = x + F.relu(norm(x) @ w_up[layer]) @ w_down[layer]
        outs.append(norm(x) @ words.T)
    return torch.stack(outs, dim=1), *torch.stack(cache, dim=1)
