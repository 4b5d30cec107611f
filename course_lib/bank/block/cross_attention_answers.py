from course_lib.attention import scaled_dot_product_attention
from course_lib.bank.block.cross_attention import exercise
from course_lib.bank.prelude import F, Tensor, changed, math, torch
from course_lib.masks import padding_mask


@exercise.answer
def reference(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_out: Tensor,
    lengths: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """What the exercise asks for, put together from the library."""
    mask = None if lengths is None else padding_mask(lengths, memory.shape[1])[:, 0]
    out, weights = scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, mask)
    return out @ w_out, weights


def right(x, memory, w_q, w_k, w_v, w_out, lengths=None):
    """Base of the mistakes, itself right."""
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if lengths is not None:
        keep = torch.arange(k.shape[1]) < lengths[:, None]
        scores = scores.masked_fill(~keep[:, None], -torch.inf)
    weights = scores.softmax(-1).nan_to_num(0.0)
    return weights @ v @ w_out, weights


@exercise.mistake("For each token of which does the output have a row: the target or the memory?")
@changed(
    right, ("x @ w_q, memory @ w_k, memory", "memory @ w_q, x @ w_k, x"), ("k.shape", "x.shape")
)
def roles_swapped():
    """The memory asks, and the target answers."""


@exercise.mistake("What would the decoder look at, if the values were made from its own tokens?")
@changed(right, ("w_k, memory", "w_k, x"))
def own_values():
    """The memory only decides where to look; what is averaged are the decoder's own tokens."""


@exercise.mistake("Is the third word of the source still to come when the first target is written?")
def causal_too(x, memory, w_q, w_k, w_v, w_out, lengths=None):
    """A decoder must not look ahead, in the memory either."""
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~torch.ones_like(scores).tril().bool(), -torch.inf)
    if lengths is not None:
        keep = torch.arange(k.shape[1]) < lengths[:, None]
        scores = scores.masked_fill(~keep[:, None], -torch.inf)
    weights = scores.softmax(-1).nan_to_num(0.0)
    return weights @ v @ w_out, weights


@exercise.mistake("Over how many products does one score sum? Is that a width of the memory?")
@changed(right, ("q.shape", "memory.shape"))
def scaled_by_memory_width():
    """The keys come from the memory, so its width is the one under the root."""


@exercise.mistake("Whose lengths are these, and along which axis of the scores do they lie?")
def lengths_of_the_target(x, memory, w_q, w_k, w_v, w_out, lengths=None):
    """Lengths say which rows, that is queries, are real."""
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    if lengths is not None:
        real = torch.arange(x.shape[1]) < lengths[:, None]
        weights = weights * real[:, :, None]
    return weights @ v @ w_out, weights


@exercise.mistake("Add up a row of your weights in a padded sentence.")
def zeroed_afterwards(x, memory, w_q, w_k, w_v, w_out, lengths=None):
    """Padding is hidden by setting its weights to 0 after the softmax."""
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    if lengths is not None:
        keep = torch.arange(k.shape[1]) < lengths[:, None]
        weights = weights * keep[:, None]
    return weights @ v @ w_out, weights


@exercise.mistake("If all keys of a memory are padding, what is left to average?")
@changed(right, ("torch.inf", "1e9"), (").nan_to_num(0.0)", ")"))
def very_negative():
    """A large negative number hides as well as minus infinity does, in every row."""


@exercise.mistake("For one word that is being written, which numbers must add up to 1?")
@changed(right, ("softmax(-1", "softmax(-2"))
def queries_compete():
    """The tokens of the target share out each vector of the memory."""


@exercise.mistake("How large are the scores of wide queries, and how sharp is their softmax?")
@changed(right, ("mT / math.sqrt(q.shape[-1])", "mT"))
def unscaled():
    """The matrices have learned how large the scores are to be."""


@exercise.mistake("A memory of 3 tokens: which indices do they have, and is 3 one?")
@changed(right, ("< lengths", "<= lengths"))
def one_key_too_many():
    """A memory of 3 tokens has indices from 0 to 3."""


@exercise.alternative
def sentence_by_sentence(x, memory, w_q, w_k, w_v, w_out, lengths=None):
    """Cuts the padding off, sentence by sentence; warns."""
    import warnings

    warnings.warn("one sentence at a time", stacklevel=1)
    outs, maps = [], []
    for b in range(len(x)):
        n = memory.shape[1] if lengths is None else int(lengths[b])
        real = memory[b, :n]
        scores = (x[b] @ w_q) @ (real @ w_k).T / w_q.shape[1] ** 0.5
        weights = scores.softmax(-1)
        outs.append(weights @ (real @ w_v) @ w_out)
        maps.append(F.pad(weights, (0, memory.shape[1] - n)))
    return torch.stack(outs), torch.stack(maps)


@exercise.alternative
def bilinear(x, memory, w_q, w_k, w_v, w_out, lengths=None):
    """One matrix for the scores, one for values and output, and a softmax written out."""
    scores = torch.einsum("btd,de,bse->bts", x, w_q @ w_k.T, memory) * w_q.shape[1] ** -0.5
    keep = torch.ones_like(scores, dtype=torch.bool)
    if lengths is not None:
        keep = keep & (torch.arange(memory.shape[1]) < lengths[:, None])[:, None]
    top = scores.where(keep, -torch.inf).amax(-1, keepdim=True)
    e = torch.exp((scores - top.nan_to_num(neginf=0.0)).where(keep, -torch.inf))
    weights = e / e.sum(-1, keepdim=True).clamp(min=1e-30)
    return torch.einsum("bts,bsd,do->bto", weights, memory, w_v @ w_out), weights
