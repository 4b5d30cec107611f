from course_lib.attention_maps import diagonality, entropy, max_weight, mean_relative_position
from course_lib.bank.prelude import Tensor, changed, math, torch
from course_lib.bank.reading.map_metrics import exercise


@exercise.answer
def reference(
    weights: Tensor, mask: Tensor, radius: int = 1
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Four numbers of the library for each map."""
    return (
        entropy(weights, mask=mask[:, None], normalised=True),
        diagonality(weights, radius),
        max_weight(weights),
        mean_relative_position(weights),
    )


def right(weights, mask, radius=1):
    """Base of the mistakes, itself right."""
    counted, own = mask.any(-1)[:, None], torch.arange(weights.shape[-1])
    choice, apart = counted & (mask.sum(-1)[:, None] > 1), own - own[:, None]
    entropy = torch.special.entr(weights).sum(-1) / mask.sum(-1)[:, None].clamp(min=2).log()
    near = (weights * (apart.abs() <= radius)).sum(-1)
    rows = entropy, near, weights.amax(-1), (weights * apart).sum(-1)
    counts = choice, counted, counted, counted
    return tuple((r * c).sum(-1) / c.sum(-1) for r, c in zip(rows, counts, strict=True))


@exercise.mistake("Which keys may the third query of a causal model see? Can it reach ln T?")
@changed(right, ("mask.sum(-1)[:, None].clamp(min=2).log(", "math.log(len(own)"))
def all_keys():
    """The largest entropy is ln T for every query."""


@exercise.mistake(
    "What do a row of 8 equal weights and one of 2 equal weights get? Both are as wide as can be."
)
@changed(right, (") / mask.sum(-1)[:, None].clamp(min=2).log()", ")"))
def in_nats():
    """The entropy of a row says by itself how widely it looks."""


@exercise.mistake("How many queries ask in a sentence of 4 that is padded to 9?")
def padding_counts(weights, mask, radius=1):
    """A row of zeros adds nothing to a sum, so it can stay in the mean."""
    own = torch.arange(weights.shape[-1])
    apart = own - own[:, None]
    entropy = torch.special.entr(weights).sum(-1) / mask.sum(-1)[:, None].clamp(min=2).log()
    near = (weights * (apart.abs() <= radius)).sum(-1)
    rows = entropy, near, weights.amax(-1), (weights * apart).sum(-1)
    return tuple(r.mean(-1) for r in rows)


@exercise.mistake("A query that sees one key has entropy 0. Is the head therefore sharp?")
def no_choice_counts(weights, mask, radius=1):
    """A query with a single visible key counts with entropy 0."""
    counted, own = mask.any(-1)[:, None], torch.arange(weights.shape[-1])
    apart = own - own[:, None]
    entropy = torch.special.entr(weights).sum(-1) / mask.sum(-1)[:, None].clamp(min=2).log()
    near = (weights * (apart.abs() <= radius)).sum(-1)
    rows = entropy, near, weights.amax(-1), (weights * apart).sum(-1)
    return tuple((r * counted).sum(-1) / counted.sum(-1) for r in rows)


@exercise.mistake("Compute by hand what a head that looks at the previous token gets for radius 1.")
@changed(
    right, ("(weights * (apart.abs() <= radius)).sum(", "torch.diagonal(weights, dim1=-2, dim2=")
)
def main_diagonal():
    """A diagonal head is one with its weight on the main diagonal."""


@exercise.mistake("Which keys are at most 1 place away, and how many are less than 1 away?")
@changed(right, ("abs() <=", "abs() <"))
def band_without_its_ends():
    """A band of radius 1 ends before the neighbour."""


@exercise.mistake("Ten queries look everywhere, one at a single key. Is the head sharp?")
def largest_of_the_map(weights, mask, radius=1):
    """Its largest weight says how sharp a head is."""
    counted, own = mask.any(-1)[:, None], torch.arange(weights.shape[-1])
    choice, apart = counted & (mask.sum(-1)[:, None] > 1), own - own[:, None]
    entropy = torch.special.entr(weights).sum(-1) / mask.sum(-1)[:, None].clamp(min=2).log()
    near = (weights * (apart.abs() <= radius)).sum(-1)
    largest = weights.amax((-2, -1), keepdim=True)[..., 0]
    rows = entropy, near, largest, (weights * apart).sum(-1)
    counts = choice, counted, counted, counted
    return tuple((r * c).sum(-1) / c.sum(-1) for r, c in zip(rows, counts, strict=True))


@exercise.mistake(
    "Half on the key before, half on the one after: where does such a query look on average?"
)
@changed(right, ("(weights * apart).sum(-1)", "weights.argmax(-1) - own"))
def most_attended_key():
    """A query looks where its largest weight is."""


@exercise.mistake("Two queries, each sure of another key: is the mean of their rows sure, too?")
def of_the_mean_row(weights, mask, radius=1):
    """The entropy of a head is the entropy of its average row."""
    counted, own = mask.any(-1)[:, None], torch.arange(weights.shape[-1])
    apart = own - own[:, None]
    n = counted.sum(-1)
    mean = (weights * counted[..., None]).sum(-2) / n[..., None]
    entropy = torch.special.entr(mean).sum(-1) / n.clamp(min=2).log()
    near = (weights * (apart.abs() <= radius)).sum(-1)
    rows = near, weights.amax(-1), (weights * apart).sum(-1)
    return entropy, *((r * counted).sum(-1) / n for r in rows)


@exercise.mistake("The previous token is at -1. What do you get for it?")
@changed(right, ("(weights * apart", "own - (weights * own"))
def query_minus_key():
    """A relative position is how far the query is ahead of what it looks at."""


@exercise.mistake("What is 0 * log(0) on a machine?")
def log_of_zero(weights, mask, radius=1):
    """A weight of 0 times its logarithm is 0 by itself."""
    counted, own = mask.any(-1)[:, None], torch.arange(weights.shape[-1])
    choice, apart = counted & (mask.sum(-1)[:, None] > 1), own - own[:, None]
    nats = -(weights * weights.log()).sum(-1)
    entropy = nats / mask.sum(-1)[:, None].clamp(min=2).log()
    near = (weights * (apart.abs() <= radius)).sum(-1)
    rows = entropy, near, weights.amax(-1), (weights * apart).sum(-1)
    counts = choice, counted, counted, counted
    return tuple((r * c).sum(-1) / c.sum(-1) for r, c in zip(rows, counts, strict=True))


@exercise.alternative
def row_by_row(weights, mask, radius=1):
    """Goes through the rows in plain Python, and prints to stderr."""
    import sys

    print("row by row", file=sys.stderr)
    B, H, T, _ = weights.shape
    out = torch.zeros(4, B, H)
    for b in range(B):
        for h in range(H):
            spread, band, top, looks = [], [], [], []
            for i in range(T):
                seen = mask[b, i].nonzero()[:, 0].tolist()
                if not seen:
                    continue
                row = weights[b, h, i].tolist()
                band.append(sum(row[j] for j in seen if abs(j - i) <= radius))
                top.append(max(row))
                looks.append(sum(row[j] * (j - i) for j in seen))
                if len(seen) > 1:
                    nats = -sum(row[j] * math.log(row[j]) for j in seen if row[j] > 0)
                    spread.append(nats / math.log(len(seen)))
            for n, found in enumerate((spread, band, top, looks)):
                out[n, b, h] = sum(found) / len(found)
    return tuple(out)


@exercise.alternative
def by_nanmean(weights, mask, radius=1):
    """Writes NaN where nothing counts and lets the mean leave it out; distances by subtraction."""
    own = torch.arange(weights.shape[-1])
    apart = own.view(1, -1) - own.view(-1, 1)
    empty = ~mask.any(dim=-1).unsqueeze(1)
    log_w = torch.where(weights > 0, weights, torch.ones_like(weights)).log()
    nats = -torch.einsum("bhij,bhij->bhi", weights, log_w)
    share = nats / mask.sum(dim=-1).log().unsqueeze(1)
    share = share.masked_fill((mask.sum(dim=-1) < 2).unsqueeze(1), torch.nan)
    in_band = weights.masked_fill(apart.abs() > radius, 0).sum(dim=-1)
    away = torch.einsum("bhij,ij->bhi", weights, apart.to(weights))
    rest = [x.masked_fill(empty, torch.nan) for x in (in_band, weights.max(dim=-1)[0], away)]
    return tuple(x.nanmean(dim=-1) for x in (share, *rest))
