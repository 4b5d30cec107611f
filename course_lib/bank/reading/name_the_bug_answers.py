from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.reading.name_the_bug import exercise


@exercise.answer
def reference(weights: Tensor, mask: Tensor) -> str:
    """Where weights lie that should not, where none lie, and what sums to 1."""
    weights = weights.float()
    hidden = (weights * ~mask[:, None]).sum(-1)  # (B, H, T)
    empty = (~mask.any(-1))[:, None].expand(hidden.shape)
    if (hidden[~empty] > 0).any():
        return "mask inverted"
    if (hidden[empty] > 0).any():
        return "finite fill"
    if (weights.sum(-1)[~empty] - 1).abs().max() < 1e-2:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    visible = mask[:, None].expand(weights.shape)
    return "dropout" if (weights[visible] == 0).any() else "mask after softmax"


@exercise.mistake("Rows sum to 1 under an inverted mask, too. Where is their weight?")
def rows_sum_to_one(weights, mask):
    """A map whose rows sum to 1 is sound."""
    weights = weights.float()
    sums = weights.sum(-1)
    full = sums > 0
    if (sums[full] - 1).abs().max() < 1e-2:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    visible = mask[:, None].expand(weights.shape)
    return "dropout" if (weights[visible] == 0).any() else "mask after softmax"


@exercise.mistake("Finite fill or sound? Rows without a visible key tell. Do you look at them?")
def empty_rows_left_out(weights, mask):
    """The weights of a query that may see nothing need not be checked."""
    weights = weights.float()
    asks = mask.any(-1)[:, None].expand(weights.shape[:-1])
    hidden = (weights * ~mask[:, None]).sum(-1)
    if (hidden[asks] > 0).any():
        return "mask inverted"
    if (weights.sum(-1)[asks] - 1).abs().max() < 1e-2:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    visible = mask[:, None].expand(weights.shape)
    return "dropout" if (weights[visible] == 0).any() else "mask after softmax"


@exercise.mistake("Only some rows attend where they may not. Does an inverted mask stop there?")
def any_leak_is_inverted(weights, mask):
    """Weight on a hidden key means that the mask was read the wrong way round."""
    weights = weights.float()
    if (weights * ~mask[:, None]).any():
        return "mask inverted"
    asks = mask.any(-1)[:, None].expand(weights.shape[:-1])
    if (weights.sum(-1)[asks] - 1).abs().max() < 1e-2:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    visible = mask[:, None].expand(weights.shape)
    return "dropout" if (weights[visible] == 0).any() else "mask after softmax"


@exercise.mistake("Average two heads, each with other weights dropped. Do you still see zeros?")
def mean_over_heads(weights, mask):
    """The mean over the heads shows what every head does."""
    weights = weights.float().mean(1)
    asks = mask.any(-1)
    hidden = (weights * ~mask).sum(-1)
    if (hidden[asks] > 0).any():
        return "mask inverted"
    if (hidden[~asks] > 0).any():
        return "finite fill"
    if (weights.sum(-1)[asks] - 1).abs().max() < 1e-2:
        return "sound"
    if (weights.sum(-2)[mask.any(-2)] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    return "dropout" if (weights[mask] == 0).any() else "mask after softmax"


@exercise.mistake("How exactly does a row of half-precision numbers sum to 1?")
def exactly_one(weights, mask):
    """The rows of a sound map sum to 1 exactly."""
    asks = mask.any(-1)[:, None].expand(weights.shape[:-1])
    hidden = (weights * ~mask[:, None]).sum(-1)
    if (hidden[asks] > 0).any():
        return "mask inverted"
    if (hidden[~asks] > 0).any():
        return "finite fill"
    if (weights.float().sum(-1)[asks] - 1).abs().max() < 1e-6:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    visible = mask[:, None].expand(weights.shape)
    return "dropout" if (weights[visible] == 0).any() else "mask after softmax"


@exercise.mistake("In a row of a causal map some weights are rightly 0. Did you leave those out?")
def zeros_everywhere(weights, mask):
    """A weight of 0 was dropped."""
    weights = weights.float()
    asks = mask.any(-1)[:, None].expand(weights.shape[:-1])
    hidden = (weights * ~mask[:, None]).sum(-1)
    if (hidden[asks] > 0).any():
        return "mask inverted"
    if (hidden[~asks] > 0).any():
        return "finite fill"
    if (weights.sum(-1)[asks] - 1).abs().max() < 1e-2:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    return "dropout" if (weights == 0).any() else "mask after softmax"


@exercise.mistake("Dropout may leave a row below 1, too. Which sign does it always leave?")
def dropout_exceeds_one(weights, mask):
    """Dropout shows in rows that sum to more than 1."""
    weights = weights.float()
    asks = mask.any(-1)[:, None].expand(weights.shape[:-1])
    hidden = (weights * ~mask[:, None]).sum(-1)
    if (hidden[asks] > 0).any():
        return "mask inverted"
    if (hidden[~asks] > 0).any():
        return "finite fill"
    sums = weights.sum(-1)[asks]
    if (sums - 1).abs().max() < 1e-2:
        return "sound"
    seen = mask.any(-2)[:, None].expand(*weights.shape[:2], -1)
    if (weights.sum(-2)[seen] - 1).abs().max() < 1e-2:
        return "softmax over queries"
    return "dropout" if sums.max() > 1.01 else "mask after softmax"


@exercise.alternative
def row_by_row(weights, mask):
    """Looks at one row after the other in plain Python, and prints to stderr."""
    import sys

    B, H, T, S = weights.shape
    print(B * H * T, "rows", file=sys.stderr)
    off, gone = False, False
    for b in range(B):
        for h in range(H):
            for i in range(T):
                row, may = weights[b, h, i].tolist(), mask[b, i].tolist()
                leak = [w for w, m in zip(row, may, strict=True) if not m and w > 0]
                if leak:
                    return "mask inverted" if any(may) else "finite fill"
                off |= any(may) and abs(sum(row) - 1) > 0.01
                gone |= any(m and w == 0 for w, m in zip(row, may, strict=True))
    if not off:
        return "sound"
    columns = weights.double().sum(dim=2)
    used = mask.any(dim=1)
    even = all(
        abs(columns[b, h, j].item() - 1) < 0.01
        for b in range(B)
        for h in range(H)
        for j in range(S)
        if used[b, j]
    )
    return "softmax over queries" if even else ["mask after softmax", "dropout"][gone]


@exercise.alternative
def by_making_it_right(weights, mask):
    """Compares the map with what it would be if each row were made to sum to 1 where it may."""
    w = weights.double()
    allowed = w * mask.unsqueeze(1)
    leak = w.sum() - allowed.sum()
    if leak > 0:
        per_row = (w - allowed).sum(dim=-1).amax(dim=1)
        return "mask inverted" if per_row[mask.any(dim=-1)].max() > 0 else "finite fill"
    total = allowed.sum(dim=-1, keepdim=True)
    right = allowed / torch.where(total > 0, total, torch.ones_like(total))
    if torch.allclose(right, w, atol=5e-3):
        return "sound"
    down = allowed.sum(dim=-2, keepdim=True)
    if torch.allclose(allowed / torch.where(down > 0, down, torch.ones_like(down)), w, atol=5e-3):
        return "softmax over queries"
    lost = torch.logical_and(mask.unsqueeze(1), w == 0)
    return "dropout" if lost.sum() > 0 else "mask after softmax"
