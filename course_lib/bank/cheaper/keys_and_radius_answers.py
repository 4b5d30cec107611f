from course_lib.attention_maps import top_mass
from course_lib.bank.cheaper.keys_and_radius import exercise
from course_lib.bank.prelude import Tensor, math, torch
from course_lib.masks import sliding_window_mask


@exercise.answer
def reference(weights: Tensor, share: float) -> tuple[int, int]:
    """How many best keys, and which radius of a window, hold a share on average."""
    T = weights.shape[-1]
    k = next(k for k in range(1, T + 1) if top_mass(weights, k).mean() >= share)
    windows = (
        radius
        for radius in range(T)
        if (weights * sliding_window_mask(T, radius)).sum(-1).mean() >= share
    )
    return k, next(windows)


@exercise.mistake("On average over the queries. What does one flat row do to your number?")
def for_every_row(weights, share):
    """Every single row must hold the share."""
    T = weights.shape[-1]
    held = weights.sort(-1, descending=True).values.cumsum(-1)
    k = next(k for k in range(1, T + 1) if (held[..., k - 1] >= share - 1e-6).all())
    distance = (torch.arange(T)[:, None] - torch.arange(T)).abs()
    for radius in range(T):
        if ((weights * (distance <= radius)).sum(-1) >= share - 1e-6).all():
            return k, radius


@exercise.mistake("You average numbers of keys. What is to be averaged?")
def mean_of_numbers(weights, share):
    """The answer is the average of the rows' own numbers."""
    T = weights.shape[-1]
    held = weights.sort(-1, descending=True).values.cumsum(-1)
    k = math.ceil((1.0 + (held < share - 1e-6).sum(-1)).mean().item() - 1e-6)
    distance = (torch.arange(T)[:, None] - torch.arange(T)).abs()
    inside = torch.stack([(weights * (distance <= r)).sum(-1) for r in range(T)], -1)
    radius = math.ceil((inside < share - 1e-6).sum(-1).float().mean().item() - 1e-6)
    return k, radius


@exercise.mistake("A share that is met exactly: is it held?")
def more_than_the_share(weights, share):
    """A share is held only where it is exceeded."""
    T = weights.shape[-1]
    held = weights.sort(-1, descending=True).values.cumsum(-1).flatten(0, -2).mean(0)
    k = next((k for k in range(1, T + 1) if held[k - 1] > share + 1e-6), T)
    distance = (torch.arange(T)[:, None] - torch.arange(T)).abs()
    for radius in range(T):
        if (weights * (distance <= radius)).sum(-1).mean() > share + 1e-6:
            return k, radius
    return k, T - 1


@exercise.mistake("Which is asked for, the radius or the number of keys within it?")
def width_of_the_window(weights, share):
    """A window is given by how many keys it has."""
    T = weights.shape[-1]
    held = weights.sort(-1, descending=True).values.cumsum(-1).flatten(0, -2).mean(0)
    k = next(k for k in range(1, T + 1) if held[k - 1] >= share - 1e-6)
    distance = (torch.arange(T)[:, None] - torch.arange(T)).abs()
    for radius in range(T):
        if (weights * (distance <= radius)).sum(-1).mean() >= share - 1e-6:
            return k, 2 * radius + 1


@exercise.mistake("Try a head that looks at the next word.")
def back_only(weights, share):
    """A window lies before its query."""
    T = weights.shape[-1]
    held = weights.sort(-1, descending=True).values.cumsum(-1).flatten(0, -2).mean(0)
    k = next(k for k in range(1, T + 1) if held[k - 1] >= share - 1e-6)
    back = torch.arange(T)[:, None] - torch.arange(T)
    for radius in range(T):
        if (weights * ((back >= 0) & (back <= radius))).sum(-1).mean() >= share - 1e-6:
            return k, radius
    return k, T - 1


@exercise.mistake("Do all queries have the same best keys?")
def best_columns(weights, share):
    """The best keys are those that get most from all queries together."""
    T = weights.shape[-1]
    held = weights.flatten(0, -2).mean(0).sort(descending=True).values.cumsum(0)
    k = next((k for k in range(1, T + 1) if held[k - 1] >= share - 1e-6), T)
    distance = (torch.arange(T)[:, None] - torch.arange(T)).abs()
    for radius in range(T):
        if (weights * (distance <= radius)).sum(-1).mean() >= share - 1e-6:
            return k, radius


@exercise.mistake("The share is a sum of weights. Where do you add?")
def weights_above_the_share(weights, share):
    """The keys that hold a share are those whose weight is close enough to the largest."""
    T = weights.shape[-1]
    large = weights >= (1 - share) * weights.amax(-1, keepdim=True)
    k = max(1, round(large.sum(-1).float().mean().item()))
    distance = (torch.arange(T)[:, None] - torch.arange(T)).abs()
    for radius in range(T):
        if (weights * (distance <= radius)).sum(-1).mean() >= share - 1e-6:
            return k, radius


@exercise.alternative
def sorts_once(weights, share):
    """One sort and one sum along the diagonals for all k and all radii."""
    T = weights.shape[-1]
    rows = weights.reshape(-1, T).double()
    held = rows.sort(-1, descending=True).values.cumsum(-1).mean(0)
    k = int((held < share - 1e-9).sum()) + 1
    maps = weights.reshape(-1, T, T).double().mean(0)
    by_distance = torch.zeros(T, dtype=torch.float64)
    for offset in range(-T + 1, T):
        by_distance[abs(offset)] += maps.diagonal(offset).sum() / T
    radius = int((by_distance.cumsum(0) < share - 1e-9).sum())
    return k, radius


@exercise.alternative
def number_by_number(weights, share):
    """Plain Python; warns."""
    import warnings

    warnings.warn("slow", stacklevel=1)
    T = weights.shape[-1]
    rows = [(i % T, row) for i, row in enumerate(weights.reshape(-1, T).tolist())]
    k = radius = 0
    while True:
        k += 1
        if sum(sum(sorted(row)[T - k :]) for _, row in rows) / len(rows) >= share - 1e-7:
            break
    while sum(sum(row[max(0, i - radius) : i + radius + 1]) for i, row in rows) < (
        (share - 1e-7) * len(rows)
    ):
        radius += 1
    return k, radius
