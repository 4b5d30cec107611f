from course_lib.bank.cheaper.mix_keys import exercise
from course_lib.bank.prelude import F, Tensor, changed, math, torch
from course_lib.efficient import linformer_attention


@exercise.answer
def reference(
    q: Tensor, k: Tensor, v: Tensor, e: Tensor, f: Tensor, real: Tensor | None = None
) -> Tensor:
    """The library's output, with a single head."""
    mask = None if real is None else real[:, None, None]
    return linformer_attention(q[:, None], k[:, None], v[:, None], e, f, mask)[0][:, 0]


@exercise.mistake("Once padding is part of a mixture it can't be taken out again. When can it?")
def mask_the_mixtures(q, k, v, e, f, real=None):
    """Mixtures need no mask, since no column of the scores is padding."""
    S = k.shape[1]
    scores = q @ (e[:, :S] @ k).mT / math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ (f[:, :S] @ v)


def right(q, k, v, e, f, real=None):
    """Base of the mistakes, itself right."""
    S = k.shape[1]
    if real is not None:
        k, v = k * real[..., None], v * real[..., None]
    scores = q @ (e[:, :S] @ k).mT / math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ (f[:, :S] @ v)


@exercise.mistake("Keys decide where to look. What is fetched from there?")
@changed(right, (", v = k * real[..., None], v", "= k"))
def keys_alone():
    """It is enough to take padding out of the keys."""


@exercise.mistake("Which column has been trained on the first word of a sentence?")
@changed(right, (":S] @ k", "-S:] @ k"), (":S] @ v", "-S:] @ v"))
def last_columns():
    """A shorter sequence uses the last columns."""


@exercise.mistake("There are two matrices. Which one have you not used?")
@changed(right, ("f[:, :S", "e[:, :S"))
def one_matrix():
    """Keys and values are mixed alike."""


@exercise.mistake("How many products are added up in one score: as many as mixtures, or channels?")
@changed(right, ("q.shape[-1", "e.shape[0"))
def root_of_the_rank():
    """Scores are divided by the root of the number of mixtures."""


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


@exercise.mistake("Which axis is still one of tokens after the mixing? What does your mask hide?")
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
