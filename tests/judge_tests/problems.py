"""Problems of somebody else's tests, and the answers of the bank that are handed to them."""

import multiprocessing
import os
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError

from course_lib.checks.exercise import PRELUDE, Answer, find, given_source
from course_lib.errors import Refused
from course_lib.grading.authoring import Model, answers

# Larger than rounding, smaller than what an answer that computes something else is off by.
TOLERANCE = 1e-3


class Adapter(BaseModel):
    """How one exercise's answer, under the name ``answer``, becomes what the tests call."""

    model_config = ConfigDict(extra="forbid")
    exercise: str
    code: str = ""


class Problem(BaseModel):
    """A function or class that tests ask for; ``probe`` yields outputs of one on random inputs.

    ``wrong`` are wrong answers to the first exercise, ``open`` banked ones that aren't tried, with
    why; ``module`` is imported by tests of pytest, and ``tests`` are those that belong to it.
    """

    model_config = ConfigDict(extra="forbid")
    name: str
    probe: str = ""
    module: str = ""
    tests: list[str] = []
    adapters: list[Adapter]
    wrong: dict[str, str] = {}
    open: dict[str, str] = {}


@dataclass(frozen=True)
class Candidate:
    """An answer that tests are tried on: its code for the exercise, and ``text`` for the tests."""

    name: str
    exercise: str  # empty: of the adapter's own
    graded: str  # the exercise that it is an answer to
    source: str
    text: str
    right: bool

    @property
    def title(self) -> str:
        return f"{self.name} ({self.exercise or 'of the adapter'})"


def read(path: Path) -> dict[str, Problem]:
    """The problems of a file of adapters."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return {key: Problem.model_validate(value) for key, value in table.items()}
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise Refused(f"{path}: {error}") from None


def candidates(problem: Problem, root: Path) -> tuple[list[Candidate], list[str]]:
    """The answers that are right or wrong here, and the titles of mistakes left out.

    Left out are mistakes whose outputs are those of the model answer, those that the problem leaves
    open, and those that the adapter's shapes don't fit.
    """
    kept, out = [], []
    for number, adapter in enumerate(problem.adapters):
        model, *others = every(problem, adapter, root, own=number == 0)
        want = outputs(problem, model)
        if want is None and problem.probe:
            raise Refused(f"{adapter.exercise}: its model answer fails on the probe")
        kept.append(model)
        for one in others:
            tried = one.name not in problem.open
            if tried and (one.right or _is_wrong(problem, one, want)):
                kept.append(one)
            else:
                out.append(one.title)
    return [one for one in kept if one.name not in problem.open], out


def _is_wrong(problem: Problem, one: Candidate, want: list[Any] | None) -> bool:
    got = outputs(problem, one)
    return not problem.probe or (got is not None and not agree(got, want or []))


@cache
def solutions(root: Path) -> dict[str, Model]:
    """The model answers by exercise, read once."""
    return answers(root)


def every(problem: Problem, adapter: Adapter, root: Path, *, own: bool) -> Iterator[Candidate]:
    """The model answer first."""
    exercise, model = find(adapter.exercise), solutions(root)[adapter.exercise]
    given = "\n".join(given_source(function) for function in exercise.given)
    code = adapter.code or f"{problem.name} = answer"

    def candidate(answer: Answer, *, right: bool, mine: bool = False) -> Candidate:
        text = f"{PRELUDE}\n{given}\n{answer.source}\nanswer = {exercise.function}\n{code}\n"
        of = "" if mine else exercise.id
        return Candidate(answer.name, of, exercise.id, answer.source, text, right)

    yield candidate(Answer("model", f"{model.before}\n{model.source}", ""), right=True)
    yield from (candidate(one, right=True) for one in exercise.alternatives)
    yield from (candidate(one, right=False) for one in exercise.mistakes if one.source)
    for name, source in problem.wrong.items() if own else ():
        wrong = Answer(name, f"{source}\n{exercise.function} = answer", "")
        yield candidate(wrong, right=False, mine=True)


def outputs(problem: Problem, one: Candidate) -> list[Any] | None:
    """What the probe yields, as arrays; None if it ends in an error."""
    return _probed(one.text, problem.probe, problem.name) if problem.probe else None


@cache
def _probed(text: str, probe: str, name: str) -> list[Any] | None:
    def run() -> list[Any]:
        names: dict[str, Any] = {}
        exec(text, names)
        exec(probe, names)
        with torch.no_grad():
            return [x.double().numpy() for x in names["probe"](names[name])]

    found, fault = forked(run, 60)
    return None if fault else found


def agree(got: list[Any], want: list[Any]) -> bool:
    """Whether two lists of outputs have the same shapes and numbers."""
    return len(got) == len(want) and all(
        a.shape == b.shape
        and torch.allclose(*map(torch.from_numpy, (a, b)), rtol=TOLERANCE, atol=TOLERANCE)
        for a, b in zip(got, want, strict=True)
    )


def forked(run: Callable[[], Any], seconds: float) -> tuple[Any, str]:
    """What ``run`` returns in a process of its own, or why there is nothing."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def child() -> None:
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        torch.set_num_threads(1)
        torch.manual_seed(0)
        try:
            there.send((run(), ""))
        except BaseException as error:  # tests may raise anything, SystemExit among it
            said = " ".join(str(error).split())[:120]
            there.send((None, f"{type(error).__name__}: {said}" if said else type(error).__name__))
        os._exit(0)

    process = context.Process(target=child, daemon=True)
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(seconds) else (None, f"not done after {seconds:g} s")
    except EOFError:
        return None, "ended its process"
    finally:
        process.kill()
        process.join()
