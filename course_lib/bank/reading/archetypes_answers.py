from course_lib.bank.prelude import Tensor, math, torch
from course_lib.bank.reading.archetypes import exercise


@exercise.answer
def reference(weights: Tensor) -> list[str]:
    """A rule of five thresholds; that of the library tries more templates and takes longer."""
    T = weights.shape[-1]
    places = torch.arange(T)
    distance = places - places[:, None]
    found = []
    for one in weights:
        bands = [float(one.diagonal(shift).sum()) / T for shift in (-1, 0, 1)]
        alike = torch.minimum(one[1:], one[:-1]).sum(-1)
        if torch.special.entr(one).sum() > 0.9 * T * math.log(T):
            found.append("uniform")
        elif one.sum(0).topk(2).values.sum() > 0.62 * T:
            found.append("vertical")
        elif max(bands) > 0.55 or (
            one[distance.abs() <= 1].sum() > 0.7 * T and alike.median() < 0.85
        ):
            found.append("diagonal")
        elif (alike > 0.75).float().mean() > 0.4:
            found.append("block")
        else:
            found.append("heterogeneous")
    return found


@exercise.mistake(
    "A head that looks at the previous token: how much of it is on the main diagonal?"
)
def main_diagonal_only(weights):
    """A diagonal map has its weight on the main diagonal."""
    found = []
    n = weights.shape[-1]
    for one in weights:
        share = torch.special.entr(one).sum(-1).mean() / math.log(n)
        column = one.mean(0).topk(2).values.sum()
        cuts = [c for c in range(2, n - 1) if one[c - 1].minimum(one[c]).sum() < 0.5]
        runs = torch.tensor([sum(c <= i for c in cuts) for i in range(n)])
        inside = (one * (runs[:, None] == runs)).sum(-1).mean()
        if share > 0.9:
            found.append("uniform")
        elif one.diagonal().mean() > 0.5:
            found.append("diagonal")
        elif column > 0.6:
            found.append("vertical")
        elif inside > 0.6 and 0 < len(cuts) < n / 2:
            found.append("block")
        else:
            found.append("heterogeneous")
    return found


@exercise.mistake("Let each query look at its own column: does your number for a column notice?")
def sharp_is_vertical(weights):
    """A map with large weights away from the diagonal is made of columns."""
    found = []
    n = weights.shape[-1]
    places = torch.arange(n)
    for one in weights:
        share = torch.special.entr(one).sum(-1).mean() / math.log(n)
        near = (places - places[:, None]).abs() <= 1
        cuts = [c for c in range(2, n - 1) if one[c - 1].minimum(one[c]).sum() < 0.5]
        if share > 0.9:
            found.append("uniform")
        elif (one * near).sum(-1).mean() > 0.55:
            found.append("diagonal")
        elif 0 < len(cuts) < n / 3 and one.amax(-1).mean() < 0.6:
            found.append("block")
        elif one.amax(-1).mean() > 0.5:
            found.append("vertical")
        else:
            found.append("heterogeneous")
    return found


@exercise.mistake("Noise of 0.3 in every row: does a uniform map reach an entropy of exactly ln T?")
def exactly_uniform(weights):
    """A uniform map has equal weights."""
    found = []
    n = weights.shape[-1]
    places = torch.arange(n)
    for one in weights:
        bands = [one.diagonal(k).sum() / (n - abs(k)) for k in (-1, 0, 1)]
        near = (one * ((places - places[:, None]).abs() <= 1)).sum(-1).mean()
        column = one.mean(0).topk(2).values.sum()
        cuts = [c for c in range(2, n - 1) if one[c - 1].minimum(one[c]).sum() < 0.5]
        runs = torch.tensor([sum(c <= i for c in cuts) for i in range(n)])
        inside = (one * (runs[:, None] == runs)).sum(-1).mean()
        if (one - 1 / n).abs().max() < 1e-3:
            found.append("uniform")
        elif max(bands) > 0.5 or near > 0.6:
            found.append("diagonal")
        elif column > 0.6:
            found.append("vertical")
        elif inside > 0.6 and 0 < len(cuts) < n / 2:
            found.append("block")
        else:
            found.append("heterogeneous")
    return found


@exercise.mistake(
    "Vertical, diagonal and heterogeneous maps all have low entropy. How do they differ?"
)
def by_entropy(weights):
    """How widely a head spreads its attention says what kind it is."""
    n = weights.shape[-1]
    spread = torch.special.entr(weights).sum(-1).mean(-1) / math.log(n)
    edges = torch.tensor([0.35, 0.45, 0.6, 0.9])
    names = ["diagonal", "vertical", "heterogeneous", "block", "uniform"]
    return [names[int(i)] for i in torch.bucketize(spread, edges)]


@exercise.mistake("In a block of six, how far from the query may a key be?")
def block_is_a_wide_band(weights):
    """Blocks are a wide band around the diagonal."""
    found = []
    n = weights.shape[-1]
    places = torch.arange(n)
    distance = (places - places[:, None]).abs()
    for one in weights:
        share = torch.special.entr(one).sum(-1).mean() / math.log(n)
        column = one.mean(0).topk(2).values.sum()
        if share > 0.9:
            found.append("uniform")
        elif column > 0.6:
            found.append("vertical")
        elif (one * (distance <= 1)).sum(-1).mean() > 0.55:
            found.append("diagonal")
        elif (one * (distance <= 4)).sum(-1).mean() > 0.6:
            found.append("block")
        else:
            found.append("heterogeneous")
    return found


@exercise.mistake("Which of the five names does your rule never return?")
def no_remainder(weights):
    """Every map is one of the four regular kinds, whichever comes nearest."""
    found = []
    n = weights.shape[-1]
    places = torch.arange(n)
    for one in weights:
        share = torch.special.entr(one).sum(-1).mean() / math.log(n)
        near = (one * ((places - places[:, None]).abs() <= 1)).sum(-1).mean()
        column = one.mean(0).topk(2).values.sum()
        if share > 0.9:
            found.append("uniform")
        elif column > max(0.6, near):
            found.append("vertical")
        elif near > 0.55:
            found.append("diagonal")
        else:
            found.append("block")
    return found


@exercise.alternative
def by_templates(weights):
    """Overlaps with templates: bands, the two largest columns, and blocks between cuts."""
    found = []
    T = weights.shape[-1]
    index = torch.arange(T)
    gap = index[None] - index[:, None]
    for one in weights:
        if torch.special.entr(one).sum() >= 0.9 * T * math.log(T):
            found.append("uniform")
            continue
        bands = [(gap == k).float() for k in (-1, 0, 1)] + [(gap.abs() <= 1) / 3]
        top = one.mean(0).topk(2)
        columns = torch.zeros(T, T)
        columns[:, top.indices] = top.values / top.values.sum()
        alike = torch.minimum(one[1:], one[:-1]).sum(-1)
        run = torch.cat([torch.zeros(1), (alike < 0.5).cumsum(0)])
        same = (run[None] == run[:, None]).float()
        if same.sum(-1).median() < 2 or run[-1] == 0:
            same = torch.zeros(T, T)
        score = {
            "diagonal": max(torch.minimum(one, band).sum() / T for band in bands),
            "vertical": torch.minimum(one, columns).sum() / T,
            "block": torch.minimum(one, same / same.sum(-1, keepdim=True).clamp(min=1)).sum() / T,
        }
        best = max(score, key=lambda kind: float(score[kind]))
        found.append(best if score[best] >= 0.5 else "heterogeneous")
    return found


@exercise.alternative
def by_comparing_rows(weights):
    """Compares rows with each other, as they are and shifted along; prints to stderr."""
    import sys

    T = weights.size(-1)
    names = []
    for w in weights:
        spread = -(w.clamp(min=1e-12).log() * w).sum(1).mean() / math.log(T)
        common = torch.minimum(w.unsqueeze(0), w.unsqueeze(1)).sum(2)
        along = torch.minimum(w[:-1, :-1], w[1:, 1:]).sum(1).mean()
        neighbours = common.diagonal(1)
        if float(spread) > 0.9:
            names.append("uniform")
        elif common.mean() > 0.62:
            names.append("vertical")
        elif (neighbours > 0.6).float().mean() > 0.35 and neighbours.min() < 0.5:
            names.append("block")
        elif along > 0.5:
            names.append("diagonal")
        else:
            names.append("heterogeneous")
    print(len(names), "maps", file=sys.stderr)
    return names
