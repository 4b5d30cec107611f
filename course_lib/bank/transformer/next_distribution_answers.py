from course_lib.bank.prelude import F, Tensor, math, torch
from course_lib.bank.transformer.next_distribution import exercise
from course_lib.decoding import keep_top_k, keep_top_p


@exercise.answer
def reference(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """The probabilities from which the next token is drawn."""
    logits = logits.float()
    if temperature == 0:
        return F.one_hot(logits.argmax(dim=-1), logits.shape[-1]).float()
    logits = logits / temperature
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    if top_p is not None:
        logits = keep_top_p(logits, top_p)
    return logits.softmax(dim=-1)


@exercise.mistake("Probabilities 0.5, 0.3, 0.2 and p = 0.6. How much do yours hold together?")
def stops_before_p(logits, temperature=1.0, top_k=None, top_p=None):
    """Tokens are kept as long as their sum stays below p."""
    logits = logits.float()
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).float()
    ordered, order = (logits / temperature).softmax(-1).sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        ordered[..., top_k:] = 0
        ordered = ordered / ordered.sum(-1, keepdim=True)
    if top_p is not None:
        beyond = ordered.cumsum(-1) > top_p + 1e-6
        beyond[..., 0] = False
        ordered = ordered.masked_fill(beyond, 0)
    kept = torch.zeros_like(ordered).scatter(-1, order, ordered)
    return kept / kept.sum(-1, keepdim=True)


@exercise.mistake("Which is the more daring writer: temperature 0.5 or 2? Is yours?")
def heat_multiplies(logits, temperature=1.0, top_k=None, top_p=None):
    """A higher temperature makes the differences larger."""
    logits = logits.float()
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).float()
    ordered, order = (logits * temperature).softmax(-1).sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        ordered[..., top_k:] = 0
        ordered = ordered / ordered.sum(-1, keepdim=True)
    if top_p is not None:
        before = ordered.cumsum(-1) - ordered
        ordered = ordered.masked_fill(before >= top_p, 0)
    kept = torch.zeros_like(ordered).scatter(-1, order, ordered)
    return kept / kept.sum(-1, keepdim=True)


@exercise.mistake("Add your probabilities up.")
def shares_lost(logits, temperature=1.0, top_k=None, top_p=None):
    """Cutting tokens off leaves the probabilities of the others as they are."""
    logits = logits.float()
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).float()
    probs = (logits / temperature).softmax(-1)
    ordered, order = probs.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        ordered[..., top_k:] = 0
    if top_p is not None:
        before = (ordered / ordered.sum(-1, keepdim=True)).cumsum(-1).roll(1, -1)
        before[..., 0] = 0
        ordered = ordered.masked_fill(before >= top_p, 0)
    return torch.zeros_like(ordered).scatter(-1, order, ordered)


@exercise.mistake("Your largest probability: is it where the largest logit is?")
def sorted_for_good(logits, temperature=1.0, top_k=None, top_p=None):
    """What has been sorted to be cut can stay sorted."""
    logits = logits.float()
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).float()
    probs = (logits / temperature).softmax(-1)
    if top_k is None and top_p is None:
        return probs
    ordered = probs.sort(-1, descending=True).values
    if top_k is not None:
        ordered[..., top_k:] = 0
        ordered = ordered / ordered.sum(-1, keepdim=True)
    if top_p is not None:
        before = ordered.cumsum(-1) - ordered
        ordered = ordered.masked_fill(before >= top_p, 0)
    return ordered / ordered.sum(-1, keepdim=True)


@exercise.mistake("Does your p count tokens that top-k has thrown away?")
def p_of_the_whole(logits, temperature=1.0, top_k=None, top_p=None):
    """The two cuts are made independently, each on the whole distribution."""
    logits = logits.float()
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).float()
    ordered, order = (logits / temperature).softmax(-1).sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered
    if top_k is not None:
        ordered = ordered.clone()
        ordered[..., top_k:] = 0
    if top_p is not None:
        ordered = ordered.masked_fill(before >= top_p, 0)
    kept = torch.zeros_like(ordered).scatter(-1, order, ordered)
    return kept / kept.sum(-1, keepdim=True)


@exercise.mistake("Which probabilities does your p add up: those before the temperature, or after?")
def cut_then_warmed(logits, temperature=1.0, top_k=None, top_p=None):
    """The temperature is a finishing touch, applied to what the cuts have left."""
    logits = logits.float()
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).float()
    ordered, order = logits.softmax(-1).sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        ordered[..., top_k:] = 0
        ordered = ordered / ordered.sum(-1, keepdim=True)
    if top_p is not None:
        before = ordered.cumsum(-1) - ordered
        ordered = ordered.masked_fill(before >= top_p, 0)
    kept = torch.zeros_like(ordered).scatter(-1, order, ordered) ** (1 / temperature)
    return kept / kept.sum(-1, keepdim=True)


@exercise.mistake("What probability does a logit of 0 have?")
def cut_to_zero(logits, temperature=1.0, top_k=None, top_p=None):
    """A token is cut off by setting its logit to 0."""
    logits = logits.float()
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).float()
    logits = logits / temperature
    ordered, order = logits.softmax(-1).sort(dim=-1, descending=True, stable=True)
    keep = torch.ones_like(ordered, dtype=torch.bool)
    if top_k is not None:
        keep[..., top_k:] = False
    if top_p is not None:
        left = ordered * keep
        left = left / left.sum(-1, keepdim=True)
        keep = keep & (left.cumsum(-1) - left < top_p)
    keep = torch.zeros_like(keep).scatter(-1, order, keep)
    return logits.masked_fill(~keep, 0).softmax(-1)


@exercise.alternative
def by_rank(logits, temperature=1.0, top_k=None, top_p=None):
    """Ranks the tokens in place, and cuts logits."""
    x = logits.to(torch.float32)
    if not temperature:
        top_k, top_p, temperature = 1, None, 1.0
    x = x / temperature
    rank = x.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    if top_k is not None:
        x = torch.where(rank < top_k, x, -torch.inf)
    if top_p is not None:
        probs = torch.softmax(x, -1)
        likelier = rank[..., None, :] < rank[..., :, None]
        x = torch.where((likelier * probs[..., None, :]).sum(-1) < top_p, x, -torch.inf)
    return torch.softmax(x, -1)


@exercise.alternative
def token_by_token(logits, temperature=1.0, top_k=None, top_p=None):
    """Goes through each row from the likeliest token down, in Python; warns."""
    import warnings

    warnings.warn("slow", stacklevel=1)
    out = torch.zeros(logits.shape)
    rows, filled = logits.float().reshape(-1, logits.shape[-1]), out.view(-1, logits.shape[-1])
    for row, probs in zip(rows.tolist(), filled, strict=True):
        best = sorted(range(len(row)), key=lambda i: -row[i])
        if temperature == 0:
            probs[best[0]] = 1
            continue
        powers = [math.exp((row[i] - row[best[0]]) / temperature) for i in best]
        if top_k is not None:
            powers = powers[:top_k]
        total, left = sum(powers), []
        for power in powers:
            if top_p is not None and left and sum(left) / total >= top_p:
                break
            left.append(power)
        for i, power in zip(best, left, strict=False):
            probs[i] = power / sum(left)
    return out
