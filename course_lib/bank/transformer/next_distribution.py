"""Exercise ``transformer.next_distribution``."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.decoding import keep_top_k, keep_top_p


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


exercise = Exercise(
    id="transformer.next_distribution",
    function="next_distribution",
    reference=reference,
    points=5.5,
    minutes=25,
    difficulty=3,
    chapter="09_transformer.html#transformer-decoding",
    outcomes=("transformer.decode",),
    example=lambda t: (torch.tensor([4.0, 2.0, 3.0, 1.0]).log(),),
)


def logits(t: Trial, *shape: int) -> Tensor:
    """Logits of shape ``(*shape, 6)``, shuffled, whose probabilities are 1..6 of 21."""
    counts = torch.arange(1.0, 7.0).expand(*shape, 6)
    order = torch.rand(*shape, 6, generator=t.generator).argsort(dim=-1)
    return counts.gather(-1, order).log() + t.randn(*shape, 1)


@exercise.prop(
    "the temperature sharpens below 1 and flattens above",
    points=1.5,
    hint="What becomes of the ratio of two probabilities when their logits are divided by T?",
)
def warm_and_cold(t: Trial) -> None:
    t.same(logits(t, 2))
    for temperature in (0.25, 0.5, 3.0):
        t.same(logits(t), temperature=temperature, note=f"temperature {temperature}")


@exercise.prop(
    "top-k leaves the k likeliest of each row, and they add up to 1",
    points=1,
    hint="Print two rows for k = 2. How many numbers are not 0, and what is their sum?",
)
def k_likeliest(t: Trial) -> None:
    for top_k in (1, t.integer(2, 4)):
        t.same(logits(t), top_k=top_k, note=f"k = {top_k}")
    rows = logits(t, 3) + torch.tensor([0.0, 4.0, 8.0])[:, None]
    t.same(rows, top_k=2, note="rows at different heights")


@exercise.prop(
    "top-p leaves the fewest that together reach p",
    points=1,
    hint="Probabilities 0.5, 0.3, 0.2 and p = 0.6: is 0.5 enough? How many are needed?",
)
def nucleus(t: Trial) -> None:
    # How many are left: which ones, and what they have then, is asked above and below.
    # Of 21: 6, 11, 15, 18, 20, 21.
    for reached in (8.5, 13.0, 16.5, 19.0):
        rows, p = logits(t, 2), reached / 21
        got = t.a_tensor(t.call(rows, top_p=p), rows.shape)
        want = t.want(rows, top_p=p)
        t.close((got > 0).sum(-1), (want > 0).sum(-1), "the number of tokens", note=f"p = {p:.3f}")


@exercise.prop(
    "temperature first, then k, then p of what is left",
    points=0.5,
    hint="After top-k the rest adds up to 1 again. Of which probabilities is p a share?",
)
def in_turn(t: Trial) -> None:
    # The three likeliest are 6, 5 and 4 of 15: two of them hold 0.73, of all six only 0.52.
    t.same(logits(t), top_k=3, top_p=0.65, note="k and p")
    # Squared, 36 and 25 of 91 hold 0.67; as they were, 0.52.
    t.same(logits(t), temperature=0.5, top_p=0.6, note="temperature and p")
    t.same(logits(t), temperature=2.0, top_k=4, top_p=0.5, note="all three")


@exercise.prop(
    "at the ends: temperature 0, p near 0 and 1, k beyond the vocabulary, equal tokens",
    points=0.5,
    hint="Each end has a meaning: what should be left at temperature 0? And of a tiny p?",
)
def ends(t: Trial) -> None:
    t.same(logits(t, 2), temperature=0, note="temperature 0")
    t.same(logits(t), temperature=0, top_k=3, top_p=0.9, note="temperature 0 with cuts")
    t.same(logits(t), top_p=0.01, note="p = 0.01")
    t.same(logits(t), top_p=1.0, note="p = 1")
    t.same(logits(t), top_k=t.integer(6, 9), note="k of the vocabulary and beyond")
    equal = torch.tensor([1.0, 3.0, 1.0, 3.0, 3.0])
    t.same(equal, temperature=0, note="equal tokens, temperature 0")
    t.same(equal, top_k=2, note="equal tokens, k = 2")
    t.same(equal, top_p=0.5, note="equal tokens, p = 0.5")
    t.same(torch.zeros(4), top_p=0.5, note="four equal tokens, two hold p exactly")


@exercise.prop(
    "forbidden tokens stay at 0, large logits do no harm, any precision comes back as float32",
    points=0.5,
    hint="A logit of minus infinity has probability 0, before and after any cut. And which dtype"
    " has your result, for logits in half and in double precision, at temperature 0 as well?",
)
def extremes(t: Trial) -> None:
    some = logits(t)
    # Without the likeliest, 5 and 4 of 15 are left first, at any of the temperatures.
    some[some.argmax()] = -torch.inf
    t.same(some, note="a logit of -inf")
    t.same(some, temperature=0.5, top_k=5, top_p=0.5, note="a logit of -inf, and cuts")
    t.same(1e4 * logits(t), top_p=0.9, note="logits of 10^4")
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        rows = logits(t, 2).to(dtype)
        t.same(rows, top_k=4, note=f"{dtype}", exact=True)
        t.same(rows, temperature=0, note=f"{dtype}, temperature 0", exact=True)
    low = torch.tensor([-20_000.0, -20_016.0, -20_032.0])
    t.same(low.half(), top_k=1, note="logits near -20,000")


@exercise.prop(
    "logits of any shape, every row for itself, left as they were",
    points=0.5,
    hint="Does one of your steps end in an underscore, or write into what you were given?",
)
def left_alone(t: Trial) -> None:
    rows = logits(t, 2, 2) + torch.tensor([[0.0, 4.0], [8.0, 2.0]])[..., None]
    together = t.a_tensor(t.call(rows, temperature=0.7, top_k=4, top_p=0.8), rows.shape)
    t.expect(together.std(-1).min() > 0, "all tokens are equally likely")
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        alone = t.call(rows[i, j], temperature=0.7, top_k=4, top_p=0.8)
        t.close(alone, together[i, j], f"row {i, j} alone")
    t.unchanged(logits(t, 2), 0.7, 4, 0.8)
    t.unchanged(logits(t, 2), 1.0, 2, None)


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


@exercise.mistake("Your largest probability: does it stand where the largest logit stands?")
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


@exercise.mistake("Your p counts tokens that top-k has already thrown away.")
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


@exercise.mistake("Print the dtype that comes back for logits in half precision.")
def in_the_given_precision(logits, temperature=1.0, top_k=None, top_p=None):
    """Probabilities come back in the precision in which the logits came."""
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits)
    ordered, order = (logits / temperature).softmax(-1).sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        ordered[..., top_k:] = 0
        ordered = ordered / ordered.sum(-1, keepdim=True)
    if top_p is not None:
        before = ordered.cumsum(-1) - ordered
        ordered = ordered.masked_fill(before >= top_p, 0)
    kept = torch.zeros_like(ordered).scatter(-1, order, ordered)
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
    """Ranks the tokens where they stand, and cuts logits."""
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
