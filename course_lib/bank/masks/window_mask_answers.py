from course_lib.bank.masks.window_mask import exercise
from course_lib.bank.prelude import F, Tensor, torch
from course_lib.masks import causal_mask, sliding_window_mask


@exercise.answer
def reference(T: int, radius: int, causal: bool = False) -> Tensor:
    """What the exercise asks for, put together from the library."""
    window = sliding_window_mask(T, radius)
    return window & causal_mask(T) if causal else window


@exercise.mistake("How many neighbours does a query see on its left: radius, or half of it?")
def radius_is_width(T, radius, causal=False):
    """A window of size r holds r keys, half of them on each side."""
    i = torch.arange(T)
    keep = (i[:, None] - i).abs() <= radius // 2
    return keep & (i <= i[:, None]) if causal else keep


@exercise.mistake("Is a neighbour that is exactly `radius` steps away inside or outside?")
def open_interval(T, radius, causal=False):
    """Within a radius means nearer than the radius."""
    i = torch.arange(T)
    keep = (i[:, None] - i).abs() < radius
    return keep & (i <= i[:, None]) if causal else keep


@exercise.mistake("Is the last word of a sentence a neighbour of the first?")
def closed_ring(T, radius, causal=False):
    """The sequence closes to a ring, so every window is full."""
    i = torch.arange(T)
    distance = (i[:, None] - i) % T
    keep = torch.minimum(distance, T - distance) <= radius
    return keep & (i <= i[:, None]) if causal else keep


@exercise.mistake("Which keys does the first query see in your mask, and how far off are they?")
def shifted_at_the_ends(T, radius, causal=False):
    """Every query has a full window; at the ends it is shifted inwards."""
    i = torch.arange(T)
    start = (i - radius).clamp(min=0, max=max(0, T - 2 * radius - 1))[:, None]
    keep = (i >= start) & (i <= start + 2 * radius)
    return keep & (i <= i[:, None]) if causal else keep


@exercise.mistake("How many steps back does your causal window reach?")
def causal_keeps_the_count(T, radius, causal=False):
    """A causal window has as many keys as any other, so it reaches twice as far back."""
    i = torch.arange(T)
    distance = i[:, None] - i
    if causal:
        return (distance >= 0) & (distance <= 2 * radius)
    return distance.abs() <= radius


@exercise.mistake("What does a query see if the radius is 0?")
def neighbours_only(T, radius, causal=False):
    """A token is not its own neighbour."""
    i = torch.arange(T)
    distance = i[:, None] - i
    keep = (distance.abs() <= radius) & (distance != 0)
    return keep & (distance > 0) if causal else keep


@exercise.mistake("In which direction does a query look in your causal window? Print one row.")
def causal_looks_ahead(T, radius, causal=False):
    """Causal means that the upper triangle stays."""
    i = torch.arange(T)
    keep = (i[:, None] - i).abs() <= radius
    return keep & (i >= i[:, None]) if causal else keep


@exercise.mistake("How far off is the farthest key that a query in the middle of your mask sees?")
def one_too_wide(T, radius, causal=False):
    """A radius says how many keys lie between the query and the last that is visible."""
    distance = torch.arange(T)[:, None] - torch.arange(T)
    keep = distance.abs() <= radius + 1
    return keep & (distance >= 0) if causal else keep


@exercise.mistake("How many keys does a query see in your causal window with radius 1?")
def causal_counts_itself(T, radius, causal=False):
    """A causal window of radius r holds r keys, the query's own among them."""
    distance = torch.arange(T)[:, None] - torch.arange(T)
    if causal:
        return (distance >= 0) & (distance < max(radius, 1))
    return distance.abs() <= radius


@exercise.alternative
def two_triangles(T, radius, causal=False):
    """Cuts the band out of a full table with two triangles."""
    full = torch.ones(T, T, dtype=torch.bool)
    return full.tril(0 if causal else radius).triu(-radius)


@exercise.alternative
def spread_diagonal(T, radius, causal=False):
    """Spreads the diagonal by pooling, and warns about the cost."""
    import warnings

    warnings.warn("pooling over a square of positions", stacklevel=1)
    spread = F.max_pool1d(F.pad(torch.eye(T), (radius, radius)), 2 * radius + 1, stride=1) > 0
    if causal:
        spread = spread.logical_and(torch.ones(T, T).tril().bool())
    return spread


@exercise.alternative
def row_by_row(T, radius, causal=False):
    """Fills one row after the other."""
    mask = torch.zeros(T, T, dtype=torch.bool)
    for i in range(T):
        stop = i + 1 if causal else i + radius + 1
        mask[i, max(i - radius, 0) : stop] = True
    return mask
