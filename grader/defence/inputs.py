"""The inputs that questions are about: those on which an exercise's properties try an answer.

Each comes twice. Of numbers that are not printed a question says only that they are random, so its
answer has to be the same for others; where it is not, the question is not asked.
"""

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from grader.base.tensors import Tensor, torch
from grader.checks.answer_proxy import AnswerLost, AnswerProxy
from grader.checks.compare import name
from grader.checks.exercise import Exercise, find, namespace
from grader.checks.grading import quiet
from grader.checks.protocol import unpack
from grader.checks.seeds import sample_seed
from grader.checks.structure import copies
from grader.checks.trial import Trial, attempt

# Printed length of a tensor, and of all arguments together.
FEW_NUMBERS, FEW_CHOICES, MOST_WORDS = 8, 64, 420
MOST_INPUTS, MOST_ENTRIES, MOST_PLAIN = 14, 4096, 120
# Number of draws of random numbers.
DRAWS = 6
# Requests to an answer by one property; one that trains a model makes thousands.
MOST_REQUESTS = 12
Call = tuple[tuple[Any, ...], Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Input:
    """Arguments of one call, and the same with other random numbers, several times."""

    place: tuple[str, int]  # the property that tries it, and the number of its call
    words: tuple[tuple[str, str], ...]  # each argument's name, and what is printed of it
    draws: tuple[Call, ...]  # positional and named arguments

    @property
    def shapes(self) -> set[tuple[int, ...]]:
        """The shapes of the tensors among the arguments."""
        args, kwargs = self.draws[0]
        return {tuple(a.shape) for a in (*args, *kwargs.values()) if isinstance(a, Tensor)}

    def __str__(self) -> str:
        return "; ".join(f"{called} = {text}" for called, text in self.words) or "no argument"


@cache
def inputs(identifier: str) -> tuple[Input, ...]:
    """Printable inputs of an exercise, no two with the same words."""
    exercise = find(identifier)
    by_words: dict[tuple[tuple[str, str], ...], Input] = {}
    for place, call in _calls(exercise):
        words = _words(exercise, call)
        if words is not None and words not in by_words:
            args, kwargs = call
            hidden = any(map(_hidden, (*args, *kwargs.values())))
            # One after the other: what was the same twice is not on paper, where it is not told.
            draw = torch.Generator().manual_seed(len(by_words)) if hidden else None
            others = [
                (
                    tuple(_again(a, draw) for a in args),
                    {k: _again(v, draw) for k, v in kwargs.items()},
                )
                for _ in range(DRAWS - 1 if hidden else 1)
            ]
            by_words[words] = Input(place, words, (call, *others))
    # The last properties are about edges: of many inputs some of each kind stay.
    distinct = list(by_words.values())
    return tuple(distinct[:: max(1, -(-len(distinct) // MOST_INPUTS))])


def _calls(exercise: Exercise) -> Iterator[tuple[tuple[str, int], Call]]:
    with quiet():
        names = namespace(exercise, "") | {exercise.function: exercise.reference}
    for prop in exercise.properties:
        tries = MOST_REQUESTS
        local = AnswerProxy.local(names)

        def few(frame: bytes, local: AnswerProxy = local) -> bytes:
            nonlocal tries
            tries -= 1
            if tries < 0 or unpack(frame)["verb"] == "probe":
                raise AnswerLost("of no use on paper")
            return local.exchange(frame)

        seed = sample_seed("defence", exercise.id, prop.name)
        trial = Trial(exercise, AnswerProxy(few), seed)
        with contextlib.suppress(AnswerLost), quiet():
            attempt(prop.run, trial)
        for number, (args, kwargs, _) in enumerate(trial.calls):
            yield (prop.name, number), (tuple(args), kwargs)


def _words(exercise: Exercise, call: Call) -> tuple[tuple[str, str], ...] | None:
    """Text of a call; None where that would not be all that decides."""
    names = [*inspect.signature(exercise.reference).parameters]
    named = {**dict(zip(names, call[0], strict=False)), **call[1]}
    texts = {called: words(value) for called, value in named.items()}
    if len(named) < len(call[0]) + len(call[1]) or not all(texts.values()):
        return None
    return tuple(texts.items()) if sum(map(len, texts.values())) <= MOST_WORDS else None


def words(value: Any) -> str:
    """A value as a sheet prints it; empty where it cannot be printed.

    Example:
        >>> words(torch.eye(2)), words(torch.ones(3, 5)), words(None)
        ('float32 (2, 2): [[1, 0], [0, 1]]', '', 'None')
    """
    if isinstance(value, Tensor):
        form = f"{name(value)} {tuple(value.shape)}"
        if _hidden(value):
            return f"{form}, random numbers {how}" if (how := _random(value)) else ""
        if value.numel() == 0:
            return f"{form}, empty"
        few = FEW_NUMBERS if value.is_floating_point() else FEW_CHOICES
        return f"{form}: {_numbers(value.tolist())}" if value.numel() <= few else ""
    return repr(value) if _plain(value) and len(repr(value)) <= MOST_PLAIN else ""


def _plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_numbers, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else str(int(value))


def _hidden(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.numel() > FEW_NUMBERS


def _random(value: Tensor) -> str:
    """Names of numbers that are not printed; empty where that would tell too little."""
    flat = value.detach().double().flatten()
    if flat.numel() > MOST_ENTRIES or not flat.isfinite().all() or not 0.05 < flat.std() < 5:
        return ""
    if len(set(flat.tolist())) < flat.numel():
        return ""
    if flat.min() >= 0:
        return "from 0 to 1" if flat.max() <= 1 else "above 0"
    return "about 0" if abs(flat.mean()) < 0.7 else ""


def _again(value: Any, generator: Any) -> Any:
    """An argument with other random numbers, where they are not printed."""
    if not _hidden(value):
        return value
    if _random(value) == "about 0":
        drawn = torch.randn(value.shape, generator=generator, dtype=torch.float64)
        return (drawn * value.double().std()).to(value.dtype)
    drawn = torch.rand(value.shape, generator=generator, dtype=torch.float64)
    return (drawn * value.double().max()).to(value.dtype)


def outcome(proxy: AnswerProxy, function: str, call: Call) -> Any:
    """Result of a call, or its failure."""
    reply = proxy.call(function, *copies(call[0]), **copies(dict(call[1])))
    return reply.error or reply.value
