"""Writing a sequence with a model that says what may come next.

Nothing here knows what the model is. It is given as a function ``step(tokens, state)``, which takes
the last token of N sequences and whatever the model remembers of the tokens before (a recurrent
state, a cache of keys and values), and returns log-probabilities of the next token and the state
after the last one.
"""

from collections.abc import Callable
from typing import Any, Generic, Literal, NamedTuple, TypeVar, get_args

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from course_lib.masks.softmax import certain

State = TypeVar("State")
# Tokens (N,) and a state to log-probabilities (N, V) and the next state.
Step = Callable[[Tensor, State], tuple[Tensor, State]]
Method = Literal["greedy", "sample", "beam"]


class Decoded(NamedTuple, Generic[State]):
    """Generated tokens and their scores.

    Attributes:
        tokens: ``(B, T)``, from a beam ``(B, K, T)`` with the best first. The start token is not
            part of it; the end token is, and after it comes padding.
        log_probs: Log-probability of the tokens up to the end, under the model as it is,
            ``(B,)`` or ``(B, K)``.
        scores: What hypotheses are ranked by, of the same shape; the log-probability itself,
            unless a beam search weighs it by length.
        state: Of the model after the last step, in the order of ``tokens`` (a beam's K sequences
            follow one another). It says nothing of a sequence that has ended.
    """

    tokens: Tensor
    log_probs: Tensor
    scores: Tensor
    state: State


# --------------------------------------------------------------------------- one token at a time


def greedy(
    step: Step[State],
    start: Tensor,
    state: State,
    *,
    max_len: int,
    end: int | None = None,
    pad: int | None = None,
) -> Decoded[State]:
    """Take the most probable token at every step; it stops when all sequences have ended.

    Args:
        step: Maps tokens ``(B,)`` and a state to log-probabilities ``(B, V)`` and the next state.
        start: First token of each sequence, integers ``(B,)``.
        state: What the model remembers before it reads ``start``.
        max_len: Number of tokens after which to stop.
        end, pad: Token that ends a sequence, if any does; what to write after it, ``end`` if None.

    Example:
        Each row says what may follow one token: here mostly the next one, until 3 ends it all.

        >>> table = torch.tensor([[0, 7, 2, 1], [1, 0, 8, 1], [1, 1, 0, 8], [1, 1, 1, 7]]) / 10
        >>> follow = lambda tokens, state: (table.log()[tokens], state)
        >>> decoded = greedy(follow, torch.tensor([0, 2]), None, max_len=9, end=3)
        >>> decoded.tokens.tolist(), decoded.log_probs.exp()
        ([[1, 2, 3], [3, 3, 3]], tensor([0.4480, 0.8000]))
    """
    return _write(step, start, state, lambda x: x.argmax(dim=-1), max_len, end, pad)


def sample(
    step: Step[State],
    start: Tensor,
    state: State,
    *,
    max_len: int,
    end: int | None = None,
    pad: int | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: Generator | None = None,
) -> Decoded[State]:
    """Draw each token from the model's distribution, or from its likelier tokens.

    Arguments as for :func:`greedy`. The temperature is applied first, then ``top_k``, then
    ``top_p`` to what is left; log-probabilities are those of the model without all three.

    Args:
        temperature: Divides the log-probabilities: below 1 sharper, above 1 flatter.
        top_k: Draw from the k likeliest tokens only.
        top_p: Draw from the fewest tokens that hold this probability together.
        generator: Source of the draws, on the device of the log-probabilities.

    Example:
        >>> coin = lambda tokens, state: (torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log(), state)
        >>> tokens = sample(coin, torch.tensor([0]), None, max_len=12, top_p=0.7,
        ...                 generator=torch.Generator().manual_seed(0)).tokens
        >>> set(tokens.flatten().tolist())
        {0, 1}
    """
    if not temperature > 0:
        raise ValueError(
            f"temperature is {temperature}, wanted more than 0; its limit at 0 is greedy"
        )

    def choose(log_probs: Tensor) -> Tensor:
        # Half precision is too coarse for a cumulative sum over a vocabulary.
        log_probs = log_probs.to(torch.promote_types(log_probs.dtype, torch.float32)) / temperature
        if top_k is not None:
            log_probs = keep_top_k(log_probs, top_k)
        if top_p is not None:
            log_probs = keep_top_p(log_probs, top_p)
        return log_probs.softmax(dim=-1).multinomial(1, generator=generator)[:, 0]

    return _write(step, start, state, choose, max_len, end, pad)


@torch.no_grad()
def _write(
    step: Step[State],
    start: Tensor,
    state: State,
    choose: Callable[[Tensor], Tensor],
    max_len: int,
    end: int | None,
    pad: int | None,
) -> Decoded[State]:
    _check_start(start, max_len)
    pad = end if pad is None else pad
    last, done = start, torch.zeros_like(start, dtype=torch.bool)
    tokens, total = [], torch.zeros(start.shape, device=start.device)
    for _ in range(max_len):
        log_probs, state = step(last, state)
        _check_log_probs(log_probs, len(start))
        last = choose(log_probs)
        chosen = log_probs.gather(-1, last[:, None])[:, 0]
        total = total + chosen.masked_fill(done, 0.0)
        if end is None or pad is None:
            tokens.append(last)
            continue
        tokens.append(last.masked_fill(done, pad))
        last = last.masked_fill(done, _known(pad, end, log_probs))
        done = done | (last == end)
        if done.all():
            break
    return Decoded(torch.stack(tokens, dim=1), total, total, state)


def keep_top_k(log_probs: Tensor, top_k: int) -> Tensor:
    """Leave the k likeliest tokens of ``(..., V)``, of equal ones the first; others get ``-inf``.

    Source: Fan et al., Hierarchical Neural Story Generation (2018), section 5.4.
    """
    if top_k < 1:
        raise ValueError(f"top_k is {top_k}, wanted at least 1")
    _check_tokens(log_probs)
    best = log_probs.sort(dim=-1, descending=True, stable=True).indices[..., :top_k]
    keep = torch.zeros_like(log_probs, dtype=torch.bool).scatter(-1, best, True)
    return log_probs.masked_fill(~keep, -torch.inf)


def keep_top_p(log_probs: Tensor, top_p: float) -> Tensor:
    """Leave the nucleus: the fewest tokens that together have at least the probability p.

    The log-probabilities ``(..., V)`` need not be normalised, nor are they afterwards, with
    ``-inf`` for the others. The likeliest token always stays.

    Source: Holtzman et al., The Curious Case of Neural Text Degeneration (2020), equation 2.

    Example:
        The token that crosses the threshold belongs to the set.

        >>> keep_top_p(torch.tensor([0.1, 0.5, 0.3, 0.1]).log(), 0.6).exp()
        tensor([0.0000, 0.5000, 0.3000, 0.0000])
    """
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p is {top_p}, wanted a probability in (0, 1]")
    _check_tokens(log_probs)
    if top_p == 1:
        return log_probs
    probs, order = log_probs.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    before = probs.cumsum(dim=-1).roll(1, dims=-1)
    before[..., 0] = 0.0
    keep = torch.zeros_like(log_probs, dtype=torch.bool).scatter(-1, order, before < top_p)
    return log_probs.masked_fill(~keep, -torch.inf)


# --------------------------------------------------------------------------- several at a time


def length_norm(lengths: Tensor, length_penalty: float) -> Tensor:
    """Divisor of log-probabilities in a beam search: ``((5 + length) / 6) ^ penalty``, ``(...)``.

    Every token lowers a log-probability, so that short hypotheses would win without it. The length
    counts the end token.

    Source: Wu et al., Google's Neural Machine Translation System (2016), equation 14.
    """
    return ((5 + lengths) / 6) ** length_penalty


@torch.no_grad()
def beam_search(
    step: Step[State],
    start: Tensor,
    state: State,
    *,
    reorder: Callable[[State, Tensor], State],
    beam_size: int,
    max_len: int,
    end: int | None = None,
    pad: int | None = None,
    length_penalty: float = 0.0,
) -> Decoded[State]:
    """Follow the best K hypotheses at once: ``(B, K, T)``, the best first, and scores ``(B, K)``.

    At every step each hypothesis is extended by all tokens and the K best of all extensions stay.
    One that has ended competes with them by the score it has. Pushed out, it is set aside and
    ranked again in the end: no whole sentence that the beam held is lost to a worse hypothesis.
    A beam of 1 is :func:`greedy`; a beam that holds all sequences finds the best. Where there are
    fewer than K sequences, K is their number or the score ``-inf``.

    Source: Sutskever et al., Sequence to Sequence Learning with Neural Networks (2014), section
    3.2; Wu et al. (2016), section 7, for the weight of the length.

    Args:
        step, start, state, max_len, end, pad: As in :func:`greedy`, but that ``step`` gets B
            tokens first and then up to ``B * K``.
        reorder: ``reorder(state, indices)`` with ``indices (N,)`` gives the state in which
            sequence n continues the former sequence ``indices[n]``.
        beam_size: Number of hypotheses K.
        length_penalty: Exponent of :func:`length_norm`; the Transformer paper takes 0.6.

    Example:
        The likeliest first token leads into a split; the beam sees that the other is better.

        >>> table = torch.tensor([[0, 6, 4, 0], [0, 5, 0, 5], [0, 0, 0, 10], [0, 0, 0, 10]]) / 10
        >>> follow = lambda tokens, state: (table.log()[tokens], state)
        >>> beam = beam_search(follow, torch.tensor([0]), None, beam_size=2, max_len=2, end=3,
        ...                    reorder=lambda state, indices: state)
        >>> beam.tokens[0, 0], beam.log_probs[0].exp()
        (tensor([2, 3]), tensor([0.4000, 0.3000]))
    """
    _check_start(start, max_len)
    if beam_size < 1:
        raise ValueError(f"beam_size is {beam_size}, wanted at least 1")
    B, K = len(start), 1
    pad = end if pad is None else pad
    tokens = torch.empty(B, 1, 0, dtype=torch.long, device=start.device)
    lengths = torch.zeros(B, 1, dtype=torch.long, device=start.device)
    done = torch.zeros_like(lengths, dtype=torch.bool)
    total = scores = torch.zeros(B, 1, device=start.device)
    last = start
    aside: list[tuple[Tensor, Tensor, Tensor]] = []
    for _ in range(max_len):
        log_probs, state = step(last, state)
        _check_log_probs(log_probs, B * K)
        log_probs = log_probs.unflatten(0, (B, K))
        V = log_probs.shape[-1]
        if end is not None and pad is not None:
            # Ended sequences go on in one way only, which costs nothing.
            forced = torch.arange(V, device=start.device) != _known(pad, end, log_probs)
            after = log_probs.new_zeros(V).masked_fill(forced, -torch.inf)
            log_probs = torch.where(done[..., None], after, log_probs)
        longer = lengths + (~done).long()
        extended = total[..., None] + log_probs
        ranked = extended / length_norm(longer.to(extended), length_penalty)[..., None]
        first_row = torch.arange(B, device=start.device)[:, None] * K
        K = min(beam_size, K * V)
        before, (scores, best) = scores, ranked.flatten(1).topk(K)
        parent, token = best // V, best % V
        pushed_out = done.scatter(1, parent, False)
        if pushed_out.any():
            aside.append((before.masked_fill(~pushed_out, -torch.inf), total, tokens))
        total = extended.flatten(1).gather(1, best)
        lengths, done = longer.gather(1, parent), done.gather(1, parent)
        tokens = tokens.gather(1, parent[..., None].expand(-1, -1, tokens.shape[-1]))
        written = token if pad is None else token.masked_fill(done, pad)
        tokens = torch.cat([tokens, written[..., None]], dim=-1)
        state, last = reorder(state, (first_row + parent).flatten()), token.flatten()
        if end is not None:
            done = done | (token == end)
            if (done | (total == -torch.inf)).all():
                break
    if aside:
        length = tokens.shape[-1]
        aside = [(s, t, F.pad(x, (0, length - x.shape[-1]), value=pad)) for s, t, x in aside]
        all_scores, totals, texts = (
            torch.cat(parts, dim=1) for parts in zip((scores, total, tokens), *aside, strict=True)
        )
        # Equal ones in the order in which they came, the beam's own first.
        order = all_scores.sort(dim=1, descending=True, stable=True).indices[:, :K]
        scores, total = all_scores.gather(1, order), totals.gather(1, order)
        tokens = texts.gather(1, order[..., None].expand(-1, -1, length))
        first_row = torch.arange(B, device=start.device)[:, None] * K
        state = reorder(state, (first_row + order.clamp(max=K - 1)).flatten())
    return Decoded(tokens, total, scores, state)


def decode(
    step: Step[State],
    start: Tensor,
    state: State,
    *,
    reorder: Callable[[State, Tensor], State],
    method: Method = "greedy",
    max_len: int,
    end: int | None = None,
    pad: int | None = None,
    **options: Any,
) -> Decoded[State]:
    """Write by ``"greedy"``, ``"sample"`` or ``"beam"``: ``(B, T)``, from a beam ``(B, K, T)``.

    Arguments as for :func:`beam_search`; options are those of the function that is chosen.
    """
    if method not in get_args(Method):
        raise ValueError(f"method is {method!r}, wanted one of {get_args(Method)}")
    if method == "beam":
        return beam_search(
            step, start, state, reorder=reorder, max_len=max_len, end=end, pad=pad, **options
        )
    write = greedy if method == "greedy" else sample
    return write(step, start, state, max_len=max_len, end=end, pad=pad, **options)


def _known(pad: int, end: int, log_probs: Tensor) -> int:
    """Token that a model reads for padding, whose number may be none of its tokens."""
    return pad if 0 <= pad < log_probs.shape[-1] else end


def _check_tokens(log_probs: Tensor) -> None:
    if log_probs.ndim < 1:
        raise ValueError("log_probs is a single number, wanted (..., V)")


def _check_start(start: Tensor, max_len: int) -> None:
    if start.ndim != 1 or start.is_floating_point() or start.dtype == torch.bool:
        raise ValueError(
            f"start has shape {tuple(start.shape)} and dtype {start.dtype}, wanted integers (B,)"
        )
    if max_len < 1:
        raise ValueError(f"max_len is {max_len}, wanted at least 1")


def _check_log_probs(log_probs: Tensor, count: int) -> None:
    if log_probs.ndim != 2 or log_probs.shape[0] != count:
        raise ValueError(
            f"step returned log-probabilities of shape {tuple(log_probs.shape)}, "
            f"wanted ({count}, V)"
        )
    if certain(log_probs.isnan().any()):
        raise ValueError("step returned log-probabilities that are NaN, wanted numbers or -inf")


def check_target(target: Tensor, pad_id: int) -> None:
    """Refuse texts ``(B, T + 1)`` without a word to predict: their mean loss would be NaN."""
    if certain((target[:, 1:] == pad_id).all()):
        raise ValueError(
            f"target {tuple(target.shape)} holds nothing but padding after the first token, "
            "wanted words"
        )
