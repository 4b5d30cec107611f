"""The answer's side of a check: runs the student's functions and sends back what they did.

An ``AnswerHost`` lives beside the answer: in the student's kernel, in stock nbgrader's kernel, or
in the worker process of the judge. It knows no exercise and no reference.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from threading import get_ident
from typing import Any

from grader.base.course import course
from grader.base.tensors import Tensor, torch
from grader.checks.forbidden import alone, during
from grader.checks.probe import Bounded, Unanswered, out_of_memory, part
from grader.checks.protocol import TENSORS, ProtocolError, built, items, pack, unpack

# Parts of the path of a file that no student wrote.
_NOT_STUDENTS = (
    os.path.dirname(os.path.dirname(__file__)),
    f"{os.sep}{course().package}{os.sep}",
    "site-packages",
)

# Room for torch's longest sentences, and for no argument written out.
MAX_MESSAGE = 200


def eager() -> AbstractContextManager[Any]:
    """Run what an answer has compiled as it is written: a compiler starts other programs."""
    compiles = "torch._dynamo" in sys.modules
    return torch.compiler.set_stance("force_eager") if compiles else nullcontext()


class _Failed(bytes):
    """A reply that says what an answer raised."""


class AnswerHost:
    """Answers the verbs of a :class:`~grader.checks.answer_proxy.AnswerProxy` over a namespace.

    The namespace is read anew at every call; ``hiding`` is entered with it while an answer runs.
    Of what an exercise forbids, ``gone`` needs no refusal here. Within ``walls``, a module that
    may end all other processes, nobody else computes for an answer that is watched or capped.
    """

    def __init__(
        self,
        namespace: Mapping[str, Any],
        recorded: Callable[[], Mapping[str, int]] = dict,
        hiding: Callable[[Mapping[str, Any]], AbstractContextManager[Any]] = nullcontext,
        gone: Collection[str] = (),
        walls: Any = None,
    ) -> None:
        self.namespace, self.recorded, self.hiding = namespace, recorded, hiding
        self.gone, self.walls = gone, walls
        self.probed: Bounded | None = None
        self.refuse: list[str] = []
        self.exercise = ""

    def answer(self, frame: bytes) -> bytes:
        """Run one packed request; the packed reply holds what the answer raised, too."""
        return self.reply(unpack(frame))

    def reply(self, request: dict[str, Any]) -> bytes:
        """The same for a request that is unpacked."""
        self.refuse = list(request.get("refuse", []))
        self.exercise = str(request.get("exercise", ""))
        other = {"probe": self.probe, "parts": self.parts, "seen": self.seen}
        verb = request.get("verb", "")
        if verb in other:
            return other[verb](request)
        if verb not in ("call", "vjp"):
            raise ProtocolError(f"unknown verb {verb!r}")
        arguments: list[Any] = []
        # All of it, not the call alone: what comes back may be lazy and compute when it is read.
        # The engine that `vjp` calls itself is the one exception, see there.
        leaving = ["autograd"] if verb == "vjp" else []
        with self.refusing(*leaving), self.hiding(self.namespace), eager():
            if self.walls and self.gone:
                self.walls.end_others()
            try:
                arguments, keywords = built(request.get("args", [])), built(request["kwargs"])
                if verb == "vjp":
                    value, after = self.vjp(request["name"], arguments), []
                else:
                    value = self.find(request["name"])(*arguments, **keywords)
                    after = [*arguments, *keywords.values()]
                return pack({"value": value, "error": None, "after": after})
            except (KeyboardInterrupt, MemoryError):
                raise
            except BaseException as error:  # student code may raise anything, SystemExit too
                failed = describe(error)
            try:
                return pack({"value": None, "error": failed, "after": arguments})
            except Exception as error:  # what was returned cannot cross: say so instead
                return pack({"value": None, "error": describe(error), "after": []})

    def refusing(self, *besides: str) -> AbstractContextManager[None]:
        """Refusal, while this lasts, of what the exercise forbids, ``besides`` left alone."""
        kinds = [kind for kind in self.refuse if kind not in besides]
        return during(kinds, self.exercise, self.gone)

    def probe(self, request: dict[str, Any]) -> bytes:
        """A call within caps on memory and time; :meth:`parts` gives what it has computed."""
        caps = request["caps"]

        def guarded(compute: Callable[[], Any]) -> Any:
            try:
                with alone(), self.refusing(), self.hiding(self.namespace), eager():
                    return compute()
            except BaseException as error:
                if out_of_memory(error):
                    raise MemoryError from None
                return _Failed(pack({"value": None, "error": describe(error), "after": []}))

        def call() -> Any:
            return self.find(request["name"])(*built(request["args"]), **request["kwargs"])

        def computed() -> Callable[[bytes], bytes]:
            if self.walls and not self.gone:
                self.walls.refuse_programs()
            value = guarded(call)

            def kept(places: bytes) -> Any:
                parts = [part(value, place) for place in json.loads(places)]
                return pack({"value": parts, "error": None, "after": []})

            def reply(places: bytes) -> bytes:
                frame: bytes = value if type(value) is _Failed else guarded(lambda: kept(places))
                return frame

            return reply

        try:
            with alone(but=get_ident()):
                if self.walls:
                    self.walls.end_others()
                self.probed = Bounded(computed, memory=int(caps["memory"]), cpu=int(caps["cpu"]))
        except Unanswered as error:
            return _unanswered(error)
        return pack({"value": None, "error": None, "after": []})

    def parts(self, request: dict[str, Any]) -> bytes:
        """Slices of what the last probe has computed, where nothing has known of them."""
        try:
            assert self.probed is not None
            frame = self.probed.ask(json.dumps(request["keep"]).encode())
            unpack(frame)
            return frame
        except Unanswered as error:
            return _unanswered(error)

    def find(self, name: str) -> Callable[..., Any]:
        """The function or class called ``name``."""
        if name not in self.namespace:
            raise NameError(f"`{name}` is not defined: was its cell run, or was it renamed?")
        return self.namespace[name]

    def seen(self, _: dict[str, Any]) -> bytes:
        """How often operators have run that may ask for a person, where they are recorded."""
        return pack({"value": {**self.recorded()}, "error": None, "after": []})

    def vjp(self, name: str, args: list[Any]) -> list[Tensor | None]:
        """Vector-Jacobian product: gradients of ``sum(output * cotangent)``.

        ``args`` are the function's arguments, then the list of cotangents, one for each tensor that
        it returns (``None`` leaves one out).
        """
        *args, cotangents = args
        real = [a for a in args if isinstance(a, Tensor) and a.is_floating_point()]
        inputs = [a.requires_grad_() for a in real]
        with torch.enable_grad(), self.refusing():
            value = self.find(name)(*args)
            parts = items(value)
            outputs = [value] if parts is None else parts
            # The dtype is asked elsewhere; the engine wants one for both.
            pairs = [
                (out, cot.to(out.dtype))
                for out, cot in zip(outputs, cotangents, strict=False)
                if cot is not None and type(out) in TENSORS and out.requires_grad
            ]
        if not pairs or not inputs:
            return [None] * len(inputs)
        outs, cots = zip(*pairs, strict=True)
        return list(torch.autograd.grad(outs, inputs, cots, allow_unused=True))


def _unanswered(error: Unanswered) -> bytes:
    ended = describe(error) | {"type": str(error.end), "line": "", "function": ""}
    return pack({"value": None, "error": ended, "after": []})


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as data, with the student's own line and the function that this stands in."""
    line, function = None, ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not any(part in frame.filename for part in _NOT_STUDENTS):
            line, function = frame.line, frame.name
            break
    try:
        message = str(error)[:MAX_MESSAGE]
    except Exception:
        message = ""
    return {
        "type": type(error).__name__,
        "message": message,
        "line": (line or "")[:200],
        "function": function[:200],
        "kinds": " ".join(kind.__name__ for kind in type(error).__mro__),
    }
