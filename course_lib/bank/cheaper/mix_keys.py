"""Exercise ``cheaper.mix_keys``."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.efficient import linformer_attention


def reference(
    q: Tensor, k: Tensor, v: Tensor, e: Tensor, f: Tensor, real: Tensor | None = None
) -> Tensor:
    """The library's output, with a single head."""
    mask = None if real is None else real[:, None, None]
    return linformer_attention(q[:, None], k[:, None], v[:, None], e, f, mask)[0][:, 0]


exercise = Exercise(
    id="cheaper.mix_keys",
    function="mix_keys",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=2,
    chapter="14_state.html#cheaper-linformer",
    outcomes=("cheaper.approximate",),
    example=lambda t: drawn(t, 1, 4, 6, 4, 4, rank=3, length=6),
)


def drawn(
    t: Trial,
    B: int,
    T: int,
    S: int,
    Dh: int,
    Dv: int,
    *,
    rank: int,
    length: int,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, ...]:
    """Queries, keys, values, and the two mixing matrices."""
    shapes = (B, T, Dh), (B, S, Dh), (B, S, Dv), (rank, length), (rank, length)
    return tuple(t.randn(*shape, dtype=dtype) for shape in shapes)


def padded(t: Trial, B: int, S: int) -> Tensor:
    """Real tokens first, at least one and not all of them."""
    return torch.arange(S) < t.integers(1, S - 1, B, 1)


@exercise.prop(
    "queries attend to mixtures of the keys and get mixtures of the values",
    points=1,
    hint="Which shapes have E k, the scores and F v? The width of the keys is Dh as before.",
)
def values(t: Trial) -> None:
    S = t.integer(6, 9)
    # As many mixtures as channels, and both matrices alike: other requirements tell them apart.
    q, k, v, e, _ = drawn(t, 2, S, S, 4, 4, rank=4, length=S)
    t.same(q, k, v, e, e.clone(), note="E and F alike")


@exercise.prop(
    "a shorter sequence uses the first columns",
    points=1,
    hint="Column j of E belongs to the token in place j, however many tokens follow.",
)
def shorter(t: Trial) -> None:
    length = t.integer(9, 12)
    for S in (length - 1, t.integer(3, 6)):
        q, k, v, e, f = drawn(t, 2, S, S, 4, 4, rank=3, length=length)
        want = t.a_tensor(t.call(q, k, v, e[:, :S], f[:, :S]), v.shape)
        t.close(t.call(q, k, v, e, f), want, note=f"S = {S} of {length}, compared to these columns")
        other = t.call(q, k, v, e, f.flip(-1))
        t.expect((other - want).abs().max() > 1e-3, "the order of the columns makes no difference")


@exercise.prop(
    "a padded sentence gets what it gets alone",
    points=1.5,
    hint="Make the padded keys NaN in your head: where may they still be touched? Mixing is a sum.",
)
def padding(t: Trial) -> None:
    S = t.integer(6, 8)
    q, k, v, e, f = drawn(t, 3, 4, S, 4, 4, rank=3, length=S + 2)
    real = padded(t, 3, S)
    real[0, 1:] = False  # one short sentence at least
    n = [int(x) for x in real.sum(-1)]
    behind, front = t.call(q, k, v, e, f, real), t.call(q, k, v, e, f, real.flip(-1))
    for b in range(3):
        first, last = slice(0, n[b]), slice(S - n[b], S)
        one = slice(b, b + 1)
        for found, at in ((behind, first), (front, last)):
            alone = t.call(q[one], k[one, at], v[one, at], e[:, at], f[:, at])
            note = f"{n[b]} real tokens of {S}, compared to alone"
            t.close(t.a_tensor(found, (3, 4, 4))[one], alone, note=note)
    every = t.call(q, k, v, e, f, torch.ones_like(real))
    t.close(every, t.call(q, k, v, e, f), note="nothing padded, compared to no mask")


@exercise.prop(
    "a sentence of padding alone gives 0",
    points=0.5,
    hint="What are the mixed values if every value has been made 0?",
)
def nothing(t: Trial) -> None:
    q, k, v, e, f = drawn(t, 2, 3, 5, 4, 4, rank=2, length=5)
    got = t.a_tensor(t.call(q, k, v, e, f, torch.tensor([[False] * 5, [True] * 5])), (2, 3, 4))
    t.close(got[0], torch.zeros(3, 4), "a sentence of padding")
    t.expect(bool(got[1].any()), "a sentence without padding gives 0, too")


@exercise.prop(
    "two different matrices; queries from elsewhere, another width of values, large scores",
    points=0.5,
    hint="T, S, Dh, Dv and the rank are five different numbers. Which one stands under the root?",
)
def other_shapes(t: Trial) -> None:
    t.same(*drawn(t, 2, 5, 7, 9, 6, rank=3, length=8), note="T = 5, S = 7, Dh = 9, Dv = 6")
    t.same(*drawn(t, 2, 4, 4, 4, 4, rank=1, length=4), note="a single mixture")
    q, *rest = drawn(t, 1, 4, 6, 4, 4, rank=3, length=6)
    t.same(1e4 * q, *rest, note="large scores")


@exercise.prop(
    "gradients reach tokens and both matrices; nothing is changed in place",
    points=0.5,
    hint="Making keys 0 can be done in a copy: `masked_fill`, not `masked_fill_`.",
)
def gradients(t: Trial) -> None:
    arguments = drawn(t, 2, 3, 4, 3, 3, rank=2, length=5, dtype=torch.float64)
    real = torch.arange(4) < torch.tensor([[3], [1]])
    t.gradient(*arguments, real)
    t.unchanged(*drawn(t, 2, 3, 5, 4, 4, rank=2, length=5), padded(t, 2, 5))


@exercise.mistake("Once padding is part of a mixture it can't be taken out again. When can it?")
def mask_the_mixtures(q, k, v, e, f, real=None):
    """Mixtures need no mask, since no column of the scores is padding."""
    S = k.shape[1]
    scores = q @ (e[:, :S] @ k).mT / math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ (f[:, :S] @ v)


@exercise.mistake("Keys decide where to look. What is fetched from there?")
def keys_alone(q, k, v, e, f, real=None):
    """It is enough to take padding out of the keys."""
    S = k.shape[1]
    if real is not None:
        k = k * real[..., None]
    scores = q @ (e[:, :S] @ k).mT / math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ (f[:, :S] @ v)


@exercise.mistake("Which column has been trained on the first word of a sentence?")
def last_columns(q, k, v, e, f, real=None):
    """A shorter sequence stands at the end of the mixtures."""
    S = k.shape[1]
    if real is not None:
        k, v = k * real[..., None], v * real[..., None]
    scores = q @ (e[:, -S:] @ k).mT / math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ (f[:, -S:] @ v)


@exercise.mistake("There are two matrices. Which one have you not used?")
def one_matrix(q, k, v, e, f, real=None):
    """Keys and values are mixed alike."""
    S = k.shape[1]
    if real is not None:
        k, v = k * real[..., None], v * real[..., None]
    scores = q @ (e[:, :S] @ k).mT / math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ (e[:, :S] @ v)


@exercise.mistake("How many products are added up in one score: as many as mixtures, or channels?")
def root_of_the_rank(q, k, v, e, f, real=None):
    """Scores are divided by the root of the number of mixtures."""
    S = k.shape[1]
    if real is not None:
        k, v = k * real[..., None], v * real[..., None]
    scores = q @ (e[:, :S] @ k).mT / math.sqrt(e.shape[0])
    return scores.softmax(dim=-1) @ (f[:, :S] @ v)


@exercise.mistake("E is learned. Does anything say that its rows are averages?")
def mixtures_are_averages(q, k, v, e, f, real=None):
    """A mixture is an average, so rows of E and F are normalised first."""
    S = k.shape[1]
    if real is not None:
        k, v = k * real[..., None], v * real[..., None]
    e, f = e[:, :S].softmax(dim=-1), f[:, :S].softmax(dim=-1)
    scores = q @ (e @ k).mT / math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ (f @ v)


@exercise.mistake("Which tokens are in the last mixture: the last ones, or a bit of all?")
def empty_mixtures_are_left_out(q, k, v, e, f, real=None):
    """A longer sentence has more mixtures, so the padded share of them is left out."""
    S = k.shape[1]
    rank = e.shape[0]
    if real is not None:
        k, v = k * real[..., None], v * real[..., None]
    scores = q @ (e[:, :S] @ k).mT / math.sqrt(q.shape[-1])
    if real is not None:
        used = (rank * real.float().mean(-1, keepdim=True)).ceil().clamp(min=1)
        scores = scores.masked_fill((torch.arange(rank) >= used)[:, None], -torch.inf)
    return scores.softmax(dim=-1) @ (f[:, :S] @ v)


@exercise.mistake("Which axis is still one of tokens behind the mixing? What does your mask hide?")
def mask_on_the_scores(q, k, v, e, f, real=None):
    """Where there is padding, scores get -inf, as everywhere else."""
    S = k.shape[1]
    scores = q @ (e[:, :S] @ k).mT / math.sqrt(q.shape[-1])
    if real is not None:
        rank = scores.shape[-1]
        hidden = ~F.pad(real, (0, max(0, rank - S)))[:, None, :rank]
        scores = scores.masked_fill(hidden, -1e9)
    return scores.softmax(dim=-1) @ (f[:, :S] @ v)


@exercise.alternative
def as_long_as_planned(q, k, v, e, f, real=None):
    """Keys and values are filled up with zeros to the length of the mixtures; warns."""
    import warnings

    missing = e.shape[1] - k.shape[1]
    warnings.warn(f"{missing} tokens filled up", stacklevel=1)
    if real is not None:
        k = torch.where(real[..., None], k, torch.zeros_like(k))
        v = v.masked_fill(~real[..., None], 0.0)
    k, v = (F.pad(x, (0, 0, 0, missing)) for x in (k, v))
    weights = torch.softmax((q / q.shape[-1] ** 0.5) @ (e @ k).transpose(1, 2), dim=2)
    return torch.matmul(weights, f @ v)


@exercise.alternative
def padding_in_the_matrices(q, k, v, e, f, real=None):
    """A matrix for each sentence, whose columns of padding are 0."""
    S = k.shape[-2]
    e, f = e[:, :S].expand(len(k), -1, -1), f[:, :S].expand(len(k), -1, -1)
    if real is not None:
        e, f = (m.masked_fill(~real[:, None, :], 0.0) for m in (e, f))
    scores = torch.einsum("btd,brs,bsd->btr", q, e, k) * q.shape[-1] ** -0.5
    scores = scores - scores.amax(-1, keepdim=True)
    weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
    return torch.einsum("btr,brs,bsv->btv", weights, f, v)
