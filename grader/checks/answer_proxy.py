"""An answer as a check sees it: a few verbs over a byte channel.

``AnswerProxy`` is the same class in the student's kernel, in the grade matrix and in the judge; the
channel alone differs. What cannot cross a process boundary passes no check at home either.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from grader.base.tensors import Tensor
from grader.checks.answer_host import AnswerHost
from grader.checks.protocol import pack, unpack


class AnswerLost(Exception):
    """The answer's process died, hung or spoke nonsense; the message says which."""


@dataclass(frozen=True)
class Failure:
    """An exception that the answer raised."""

    type: str
    message: str
    line: str = ""  # that raised it
    kinds: str = ""  # the type and all that it inherits from, with spaces between
    function: str = ""  # that the line stands in

    def __str__(self) -> str:
        where = f", at `{self.line.strip()}`" if self.line else ""
        return f"{self.type}: {self.message or 'no message'}{where}"


@dataclass(frozen=True)
class Reply:
    """Outcome of one call: the value it returned, its arguments afterwards, or its exception."""

    value: Any = None
    after: list[Any] = field(default_factory=list)  # named arguments come after the others
    error: Failure | None = None


@dataclass(frozen=True)
class Gradients:
    """Gradients of a call: one entry for each floating-point argument."""

    inputs: list[Tensor | None]


class AnswerProxy:
    """The only way in which a check reaches an answer."""

    def __init__(self, exchange: Callable[[bytes], bytes]) -> None:
        self.exchange = exchange
        self._refuses: dict[str, Any] = {}

    @classmethod
    def local(
        cls,
        namespace: Mapping[str, Any],
        hiding: Callable[[Mapping[str, Any]], AbstractContextManager[Any]] = nullcontext,
    ) -> "AnswerProxy":
        """A proxy in this process; ``hiding`` is entered with the names while an answer runs."""
        return cls(AnswerHost(namespace, hiding=hiding).answer)

    @contextlib.contextmanager
    def refusing(self, kinds: Sequence[str], exercise: str) -> Iterator[None]:
        """While this lasts, refuse the answer what is forbidden in this exercise."""
        before = self._refuses
        self._refuses = {"refuse": list(kinds), "exercise": exercise} if kinds else {}
        try:
            yield
        finally:
            self._refuses = before

    def call(self, name: str, *args: Any, **kwargs: Any) -> Reply:
        """Call a function."""
        return self._ask("call", name, args, kwargs)

    def probe(
        self, name: str, args: Sequence[Any], *, memory: int, cpu: int, keep: Sequence[Any]
    ) -> Reply:
        """Call a function within caps in MiB and seconds, see :mod:`grader.checks.probe`.

        Of what comes back, ``keep`` are the slices, each of one or more leading axes; they are
        asked for when all has been computed.
        """
        reply = self._ask("probe", name, args, {}, caps={"memory": memory, "cpu": cpu})
        if reply.error is not None:
            return reply
        pairs = [[[axis.start, axis.stop] for axis in place] for place in keep]
        return self._ask("parts", None, (), {}, keep=pairs)

    def seen(self) -> dict[str, str]:
        """Operators of torch's with how often they have run, where those are recorded."""
        times = self._ask("seen", None, (), {}).value
        if not isinstance(times, dict):
            raise AnswerLost("what it sent as names of operators makes no sense")
        return {str(name): str(number) for name, number in times.items()}

    def vjp(self, name: str, args: tuple[Any, ...], cotangents: list[Tensor | None]) -> Reply:
        """Gradients of ``sum(output * cotangent)``; the reply's value is a :class:`Gradients`."""
        reply = self._ask("vjp", name, (*args, cotangents), {})
        if reply.error is not None or not isinstance(reply.value, list):
            return reply
        return Reply(Gradients(reply.value), reply.after, None)

    def _ask(
        self, verb: str, name: str | None, args: Any, kwargs: dict[str, Any], **more: Any
    ) -> Reply:
        request = {"verb": verb, "name": name, "args": list(args), "kwargs": kwargs, **more}
        request |= self._refuses
        reply = unpack(self.exchange(pack(request)))
        if not reply.keys() >= {"value", "after", "error"}:
            raise AnswerLost("what it sent is no reply to a call")
        if failed := reply["error"]:
            failed = Failure(**{name: str(value) for name, value in failed.items()})
        return Reply(reply["value"], reply["after"], failed or None)
