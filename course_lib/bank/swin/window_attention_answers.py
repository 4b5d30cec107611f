from course_lib.bank.prelude import F, Tensor, changed, math, torch
from course_lib.bank.swin.window_attention import exercise
from course_lib.swin import window_partition, window_reverse


@exercise.answer
def reference(q: Tensor, k: Tensor, v: Tensor, window: tuple[int, int]) -> Tensor:
    """Cut, attend, join."""
    size = (window[0], window[1])
    q_cut, k_cut, v_cut = (window_partition(x, size) for x in (q, k, v))
    scores = q_cut @ k_cut.mT / math.sqrt(q.shape[-1])
    return window_reverse(scores.softmax(dim=-1) @ v_cut, size, q.shape[1], q.shape[2])


@exercise.mistake("What does your largest tensor hold for two tokens from different windows?")
def masks_all_pairs(q, k, v, window):
    """What a mask forbids costs nothing."""
    B, rows, columns, D = q.shape
    number = torch.arange(rows)[:, None] // window[0] * columns + torch.arange(columns) // window[1]
    together = number.flatten()[:, None] == number.flatten()
    q, k, v = q.flatten(1, 2), k.flatten(1, 2), v.flatten(1, 2)
    scores = (q @ k.mT / math.sqrt(D)).masked_fill(~together, -torch.inf)
    return (scores.softmax(dim=-1) @ v).unflatten(1, (rows, columns))


@exercise.mistake("Cut a grid of the numbers 0 to 23 and print the first window. Is it a strip?")
def strips(q, k, v, window):
    """Tokens that follow each other in memory are a window."""
    B, rows, columns, D = q.shape
    cut = [x.reshape(-1, window[0] * window[1], x.shape[-1]) for x in (q, k, v)]
    out = (cut[0] @ cut[1].mT / math.sqrt(D)).softmax(dim=-1) @ cut[2]
    return out.reshape(B, rows, columns, -1)


@exercise.mistake("Send a grid of numbers through cutting and joining alone. Does it come back?")
def not_put_back(q, k, v, window):
    """Windows that are laid one after the other are the grid again."""
    B, rows, columns, D = q.shape
    m, n = window

    def cut(x):
        tiles = x.reshape(B, rows // m, m, columns // n, n, x.shape[-1])
        return tiles.transpose(2, 3).reshape(-1, m * n, x.shape[-1])

    out = (cut(q) @ cut(k).mT / math.sqrt(D)).softmax(dim=-1) @ cut(v)
    return out.reshape(B, rows, columns, -1)


def right(q, k, v, window):
    """Base of the mistakes, itself right."""
    B, rows, columns, D = q.shape
    m, n = window

    def cut(x):
        tiles = x.reshape(B, rows // m, m, columns // n, n, x.shape[-1])
        return tiles.transpose(2, 3).reshape(-1, m * n, x.shape[-1])

    out = (cut(q) @ cut(k).mT / math.sqrt(D)).softmax(dim=-1) @ cut(v)
    tiles = out.reshape(B, rows // m, columns // n, m, n, -1)
    return tiles.transpose(2, 3).reshape(B, rows, columns, -1)


@exercise.mistake("In a grid of 2 x 8 with windows of 2 x 2: how many windows are in a row?")
@changed(
    right,
    ("rows // m, columns // n", "columns // n, rows // m"),
    ("transpose(2, 3).reshape(B", "permute(0, 2, 3, 1, 4, 5).reshape(B"),
)
def counts_exchanged():
    """As many windows are in a row of the grid as in a column."""


@exercise.mistake("Is the first number of `window` a height or a width? Try windows of 2 x 3.")
def window_turned(q, k, v, window):
    """A window of 2 x 3 is two wide and three high."""
    n, m = window
    if q.shape[1] % m or q.shape[2] % n:
        m, n = window
    out = torch.zeros_like(v)
    for i in range(0, q.shape[1], m):
        for j in range(0, q.shape[2], n):
            tile = (slice(None), slice(i, i + m), slice(j, j + n))
            a, b, c = (x[tile].flatten(1, 2) for x in (q, k, v))
            weights = (a @ b.mT / math.sqrt(q.shape[-1])).softmax(dim=-1)
            out[tile] = (weights @ c).unflatten(1, q[tile].shape[1:3])
    return out


@exercise.mistake("Which vectors make a score, and how wide are they?")
@changed(right, (", D = q", ", _ = q"), ("sqrt(D)", "sqrt(v.shape[-1])"))
def scaled_by_values():
    """Scores are divided by the root of the width that comes out."""


@exercise.mistake("Over which axis do the weights of one query add up to 1?")
@changed(right, ("dim=-1)", "dim=-2)"))
def softmax_over_queries():
    """Weights add up to 1 over the queries of a window."""


@exercise.alternative
def window_by_window(q, k, v, window):
    """Loops over the windows and writes each where it belongs; warns."""
    import warnings

    warnings.warn("a loop", stacklevel=1)
    m, n = window
    bands = []
    for i in range(0, q.shape[1], m):
        parts = []
        for j in range(0, q.shape[2], n):
            a, b, c = (x[:, i : i + m, j : j + n].flatten(1, 2) for x in (q, k, v))
            weights = torch.softmax(a @ b.transpose(1, 2) * q.shape[3] ** -0.5, dim=2)
            parts.append((weights @ c).reshape(len(q), m, n, -1))
        bands.append(torch.cat(parts, dim=2))
    return torch.cat(bands, dim=1)


@exercise.alternative
def six_axes(q, k, v, window):
    """Keeps the axes of windows apart and lets einsum find its way."""
    m, n = window
    q, k, v = (x.unflatten(2, (-1, n)).unflatten(1, (-1, m)) for x in (q, k, v))
    scores = torch.einsum("bimjnd,bikjld->bijmnkl", q, k) / q.shape[-1] ** 0.5
    weights = scores.flatten(-2).softmax(dim=-1).view_as(scores)
    out = torch.einsum("bijmnkl,bikjld->bimjnd", weights, v)
    return out.flatten(3, 4).flatten(1, 2)


@exercise.alternative
def softmax_in_single(q, k, v, window):
    """A softmax in single precision, cast back, as large models write it."""
    m, n = window
    B, rows, columns, _ = q.shape
    q, k, v = (
        x.reshape(B, rows // m, m, columns // n, n, -1).transpose(2, 3).flatten(3, 4)
        for x in (q, k, v)
    )
    scores = q @ k.mT * q.shape[-1] ** -0.5
    out = F.softmax(scores, dim=-1, dtype=torch.float32).to(v.dtype) @ v
    return out.unflatten(3, (m, n)).transpose(2, 3).reshape(B, rows, columns, -1)
