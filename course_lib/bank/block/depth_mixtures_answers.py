from course_lib.bank.block.depth_mixtures import exercise
from course_lib.bank.prelude import F, Tensor, math, torch


@exercise.answer
def reference(outputs: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
    """All readers at once, under a triangle over depth."""
    keys = F.rms_norm(outputs, outputs.shape[-1:])
    scores = torch.einsum("ld,sbtd->lsbt", queries, keys)
    past = torch.ones(len(outputs), len(outputs), dtype=torch.bool).tril()
    weights = scores.masked_fill(~past[:, :, None, None], -math.inf).softmax(dim=1)
    return torch.einsum("lsbt,sbtd->lbtd", weights, outputs), weights


@exercise.mistake("Has the last layer put anything out when the first reader is at work?")
def sees_later_layers(outputs, queries):
    """Every reader may look at all layers."""
    keys = F.rms_norm(outputs, outputs.shape[-1:])
    weights = torch.einsum("ld,sbtd->lsbt", queries, keys).softmax(dim=1)
    return torch.einsum("lsbt,sbtd->lbtd", weights, outputs), weights


@exercise.mistake("Make one output a hundred times as large: should it be looked for more?")
def raw_keys(outputs, queries):
    """Outputs are keys as they are."""
    scores = torch.einsum("ld,sbtd->lsbt", queries, outputs)
    past = torch.ones(len(outputs), len(outputs), dtype=torch.bool).tril()
    weights = scores.masked_fill(~past[:, :, None, None], -math.inf).softmax(dim=1)
    return torch.einsum("lsbt,sbtd->lbtd", weights, outputs), weights


@exercise.mistake("What do your weights add up to for a reader of three outputs?")
def sums_as_a_stream(outputs, queries):
    """As in a residual stream, what is mixed is a sum: equal weights are 1 each."""
    keys = F.rms_norm(outputs, outputs.shape[-1:])
    scores = torch.einsum("ld,sbtd->lsbt", queries, keys)
    past = torch.ones(len(outputs), len(outputs), dtype=torch.bool).tril()
    weights = scores.masked_fill(~past[:, :, None, None], -math.inf).softmax(dim=1)
    weights = weights * past.sum(1)[:, None, None, None]
    return torch.einsum("lsbt,sbtd->lbtd", weights, outputs), weights


@exercise.mistake("With scores of 0, what do your weights add up to, and what takes the rest?")
def may_look_at_nothing(outputs, queries):
    """A reader that looks for nothing should read little: one more score of 0 takes a share."""
    keys = F.rms_norm(outputs, outputs.shape[-1:])
    scores = torch.einsum("ld,sbtd->lsbt", queries, keys)
    past = torch.ones(len(outputs), len(outputs), dtype=torch.bool).tril()
    parts = scores.masked_fill(~past[:, :, None, None], -math.inf).exp()
    weights = parts / (1 + parts.sum(dim=1, keepdim=True))
    return torch.einsum("lsbt,sbtd->lbtd", weights, outputs), weights


@exercise.mistake("Keys say where to look. What should be brought back?")
def mixes_the_keys(outputs, queries):
    """The normed outputs are keys and values."""
    keys = F.rms_norm(outputs, outputs.shape[-1:])
    scores = torch.einsum("ld,sbtd->lsbt", queries, keys)
    past = torch.ones(len(outputs), len(outputs), dtype=torch.bool).tril()
    weights = scores.masked_fill(~past[:, :, None, None], -math.inf).softmax(dim=1)
    return torch.einsum("lsbt,sbtd->lbtd", weights, keys), weights


@exercise.mistake("May a token look at what a layer has put out for its neighbour?")
def softmax_over_tokens(outputs, queries):
    """A query compares the tokens of a layer with each other."""
    keys = F.rms_norm(outputs, outputs.shape[-1:])
    scores = torch.einsum("ld,sbtd->lsbt", queries, keys)
    past = torch.ones(len(outputs), len(outputs), dtype=torch.bool).tril()
    weights = scores.softmax(dim=-1) * past[:, :, None, None]
    return torch.einsum("lsbt,sbtd->lbtd", weights, outputs), weights


@exercise.mistake("The task says how scores are made. By what do you divide them?")
def scaled_by_the_root(outputs, queries):
    """Every dot product of attention is divided by the root of the width."""
    keys = F.rms_norm(outputs, outputs.shape[-1:])
    scores = torch.einsum("ld,sbtd->lsbt", queries, keys) / math.sqrt(outputs.shape[-1])
    past = torch.ones(len(outputs), len(outputs), dtype=torch.bool).tril()
    weights = scores.masked_fill(~past[:, :, None, None], -math.inf).softmax(dim=1)
    return torch.einsum("lsbt,sbtd->lbtd", weights, outputs), weights


@exercise.alternative
def reader_by_reader(outputs, queries):
    """Lets each reader see a shorter list."""
    size = outputs.square().mean(-1, keepdim=True).sqrt()
    mixtures = torch.zeros_like(outputs)
    weights = outputs.new_zeros(len(outputs), *outputs.shape[:3])
    for last, query in enumerate(queries):
        there = outputs[: last + 1]
        found = ((there / size[: last + 1]) * query).sum(-1).softmax(0)
        weights[last, : last + 1] = found
        mixtures[last] = (found[..., None] * there).sum(0)
    return mixtures, weights


@exercise.alternative
def by_torch(outputs, queries):
    """Calls fused attention with the layers as keys, once for the mixture and once for weights."""
    L, B, T, D = outputs.shape
    layers = outputs.permute(1, 2, 0, 3)
    keys = layers / layers.pow(2).mean(-1, keepdim=True).sqrt()
    asks = queries.expand(B, T, L, D)
    how = {"is_causal": True, "scale": 1.0}
    mixtures = F.scaled_dot_product_attention(asks, keys, layers, **how)
    ones = torch.eye(L, dtype=outputs.dtype).expand(B, T, L, L)
    weights = F.scaled_dot_product_attention(asks, keys, ones, **how)
    return mixtures.permute(2, 0, 1, 3), weights.permute(2, 3, 0, 1)
