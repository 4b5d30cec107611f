"""Exercise ``cheaper.keys_and_radius``."""

import math

import torch
from torch import Tensor

from course_lib.attention_maps import top_mass
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.masks import sliding_window_mask


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


exercise = Exercise(
    id="cheaper.keys_and_radius",
    function="keys_and_radius",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=2,
    chapter="14_cheaper.html#cheaper-sparsity",
    outcomes=("cheaper.sparsity",),
    example=lambda t: (t.randn(6, 6).softmax(-1), 0.7),
    returns=("k", "the radius"),
)

SHARES = (0.5, 0.75, 0.9)


def part(t: Trial, index: int, weights: Tensor, share: float, note: str) -> None:
    """Compare one of the two numbers."""
    got, want = t.values(t.call(weights, share)), t.want(weights, share)
    t.close(got[index], want[index], exercise.returns[index], note=f"{note}, share {share:g}")


def local_map(t: Trial, *lead: int, T: int = 12, near: float = 0.5, sharp: float = 2) -> Tensor:
    """A map that prefers what is near, and is uneven besides."""
    distance = (torch.arange(T)[:, None] - torch.arange(T)).abs()
    return (sharp * t.randn(*lead, T, T) - near * distance).softmax(-1)


def two_kinds(t: Trial, T: int = 12) -> Tensor:
    """A map of which half of the rows look at one key, and the others at all alike."""
    rows = torch.full((T, T), 1 / T)
    rows[::2] = torch.eye(T)[t.permutation(T)][::2]
    return rows


@exercise.prop(
    "how many best keys hold the share, on average over the queries",
    points=1,
    hint="Sort one row, downwards, and add up. Then average over the rows *before* you compare.",
)
def best_keys(t: Trial) -> None:
    for share in SHARES:
        part(t, 0, local_map(t), share, "a map that prefers what is near")
        part(t, 0, two_kinds(t), share, "a map of two kinds of rows")


@exercise.prop(
    "where all rows have the same weights in another order, any row tells how many keys",
    points=0.5,
    hint="Sort one row, downwards, and add up.",
)
def rows_alike(t: Trial) -> None:
    weights = torch.linspace(0, 4, 12).softmax(-1)[t.permutation(12)]
    rolled = torch.stack([weights.roll(i) for i in range(12)])
    # Between two sums, so that rounding decides nothing.
    held = weights.sort(descending=True).values.cumsum(0)
    for k in (1, 3):
        part(t, 0, rolled, float(held[k - 1 : k + 1].mean()), "a row that is moved on and on")


@exercise.prop(
    "how wide a window holds the share, on average over the queries",
    points=1.5,
    hint="Radius 0 is the diagonal alone. What does radius 1 add, and on which sides?",
)
def radii(t: Trial) -> None:
    for share in SHARES:
        part(t, 1, local_map(t), share, "a map that prefers what is near")
        part(t, 1, local_map(t, near=1.0), share, "a map that prefers what is very near")
    # Every other query needs radius 0 and the others a wide one: their mean is not what is asked.
    T, first = 12, t.integer(0, 1)
    rows = torch.full((T, T), 1 / T)
    rows[first::2] = torch.eye(T)[first::2]
    for share in (0.6, 0.9):
        part(t, 1, rows, share, "a map of which every other row is sharp")


@exercise.prop(
    "a share that is met exactly is held, and a share of 0 by one key or the diagonal",
    points=0.5,
    hint="Eight equal weights: how many of them hold one half? From which k and radius on do you"
    " count?",
)
def exact(t: Trial) -> None:
    t.same(local_map(t), 0.0, note="a share of 0")
    for k in (1, 2, 4, 6):
        part(t, 0, torch.full((8, 8), 1 / 8), k / 8, "eight equal weights")
    # Half of the weight on the query itself and a quarter on each side.
    T = 16
    ring = torch.eye(T) / 2 + torch.eye(T).roll(1, 1) / 4 + torch.eye(T).roll(-1, 1) / 4
    part(t, 1, ring, 0.5, "half of the weight on the diagonal")


@exercise.prop(
    "one key may be enough and yet be far away",
    points=0.5,
    hint="A head that looks at the word before needs one key. Which radius does that take?",
)
def far(t: Trial) -> None:
    T, back = t.integer(11, 13), t.integer(1, 4)
    previous = torch.eye(T)[(torch.arange(T) - back).clamp(min=0)]
    for index in (0, 1):
        part(t, index, previous, 0.9, f"a head that looks {back} back")
        part(t, index, previous.flip(0, 1), 0.9, f"a head that looks {back} ahead")
        part(t, index, torch.eye(T), 0.9, "a head that looks at itself")


@exercise.prop(
    "many heads and sentences at once: one average over all of them",
    points=0.5,
    hint="The average is over all rows of all maps. Which axes are those?",
)
def many_maps(t: Trial) -> None:
    # One map that needs a key and a map that needs nearly all: the average needs some.
    T = 12
    sharp, flat = torch.eye(T), torch.full((T, T), 1 / T)
    maps = torch.stack([sharp, flat, flat, sharp]).unflatten(0, (2, 2))
    for index in (0, 1):
        for share in (0.6, 0.7, 0.85):
            part(t, index, maps, share, "maps (2, 2, 12, 12), two sharp and two flat")
        part(t, index, local_map(t, 2, 3), t.integer(50, 90) / 100, "maps (2, 3, 12, 12)")


@exercise.prop(
    "the map is left as it was", points=0.5, hint="Sorting and masking can be done in a copy."
)
def no_side_effect(t: Trial) -> None:
    t.unchanged(local_map(t), 0.6)


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
    """Find the number for each row and average the numbers."""
    T = weights.shape[-1]
    held = weights.sort(-1, descending=True).values.cumsum(-1)
    k = math.ceil((1.0 + (held < share - 1e-6).sum(-1)).mean().item() - 1e-6)
    distance = (torch.arange(T)[:, None] - torch.arange(T)).abs()
    inside = torch.stack([(weights * (distance <= r)).sum(-1) for r in range(T)], -1)
    radius = math.ceil((inside < share - 1e-6).sum(-1).float().mean().item() - 1e-6)
    return k, radius


@exercise.mistake("A share that is met exactly: is it held?")
def more_than_the_share(weights, share):
    """A share is held by what holds more than it."""
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


@exercise.mistake("Try a head that looks at the word behind.")
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
