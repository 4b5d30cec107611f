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
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from grader.base.course import course
from grader.checks import fixtures
from grader.checks.forbidden import during
from grader.checks.operator_recorder import Recorder
from grader.checks.probe import Bounded, Unanswered, out_of_memory, part
from grader.checks.protocol import TENSORS, Fixture, Handle, ProtocolError, items, pack, unpack

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


@dataclass
class _Failed:
    """A reply that says what an answer raised."""

    reply: bytes


class AnswerHost:
    """Answers the verbs of a :class:`~grader.checks.answer_proxy.AnswerProxy` over a namespace.

    The namespace is read anew at every call; ``hiding`` is entered with it while an answer runs.
    Of what an exercise forbids, ``gone`` needs no refusal here.
    """

    def __init__(
        self,
        namespace: Mapping[str, Any],
        recorder: Recorder | None = None,
        hiding: Callable[[Mapping[str, Any]], AbstractContextManager[Any]] = nullcontext,
        gone: Collection[str] = (),
    ) -> None:
        self.namespace, self.recorder, self.hiding = namespace, recorder, hiding
        self.gone = gone
        self.handles: dict[int, Any] = {}
        self.made = 0
        self.probed: Bounded | None = None
        self.refuse: list[str] = []
        self.exercise = ""
        self.verbs: dict[str, Callable[..., Any]] = {
            "call": self.call,
            "build": self.build,
            "load": self.load,
            "state": self.state,
            "vjp": self.vjp,
            "release": self.release,
            "seen": self.seen,
        }

    def answer(self, frame: bytes) -> bytes:
        """Run one packed request; the packed reply holds what the answer raised, too."""
        return self.reply(unpack(frame))

    def reply(self, request: dict[str, Any]) -> bytes:
        """The same for a request that is unpacked."""
        self.refuse = list(request.get("refuse", []))
        self.exercise = str(request.get("exercise", ""))
        if request.get("verb") == "probe":
            return self.probe(request)
        if request.get("verb") == "parts":
            return self.parts(request)
        verb = self.verbs.get(request.get("verb", ""))
        if verb is None:
            raise ProtocolError(f"unknown verb {request.get('verb')!r}")
        arguments: list[Any] = []
        keywords: dict[str, Any] = {}
        # All of it, not the call alone: what comes back may be lazy and compute when it is read.
        # The engine that `vjp` calls itself is the one exception, see there.
        recording = self.recorder or nullcontext()
        leaving = ["autograd"] if verb == self.vjp else []
        with recording, self.refusing(*leaving), self.hiding(self.namespace), eager():
            try:
                arguments = [self.resolve(value) for value in request.get("args", [])]
                keywords = {k: self.resolve(v) for k, v in request.get("kwargs", {}).items()}
                value = verb(request.get("name"), arguments, keywords)
                # Inputs of a training do not come back each time.
                sparing = request.get("verb") in ("load", "vjp")
                after = [] if sparing else [*arguments, *keywords.values()]
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
                with self.refusing(), self.hiding(self.namespace), eager():
                    return compute()
            except BaseException as error:
                if out_of_memory(error):
                    raise MemoryError from None
                return _Failed(pack({"value": None, "error": describe(error), "after": []}))

        def call() -> Any:
            arguments = [self.resolve(value) for value in request["args"]]
            return self.call(request["name"], arguments, request["kwargs"])

        def computed() -> Callable[[bytes], bytes]:
            value = guarded(call)

            def kept(places: bytes) -> Any:
                parts = [part(value, place) for place in json.loads(places)]
                return pack({"value": parts, "error": None, "after": []})

            def reply(places: bytes) -> bytes:
                found: Any = value if type(value) is _Failed else guarded(lambda: kept(places))
                frame: bytes = found.reply if type(found) is _Failed else found
                return frame

            return reply

        try:
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

    def resolve(self, value: Any) -> Any:
        """Replace handles and fixtures by the objects they stand for."""
        if isinstance(value, Handle):
            return self.handles[value.key]
        if isinstance(value, Fixture):
            return fixtures.build(value.name, value.params)
        if isinstance(value, (list, tuple)):
            return type(value)(self.resolve(item) for item in value)
        if isinstance(value, dict):
            return {key: self.resolve(item) for key, item in value.items()}
        return value

    def find(self, name: str) -> Callable[..., Any]:
        """The function, class, or method ``#handle.method`` called ``name``."""
        if name.startswith("#"):
            key, _, method = name[1:].partition(".")
            return getattr(self.handles[int(key)], method)
        if name not in self.namespace:
            raise NameError(f"`{name}` is not defined: was its cell run, and not renamed?")
        return self.namespace[name]

    def call(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function."""
        return self.find(name)(*args, **kwargs)

    def build(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Handle:
        """Construct an object and keep it."""
        self.made += 1
        self.handles[self.made] = self.find(name)(*args, **kwargs)
        return Handle(self.made)

    def load(self, _: str, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Load a state dict into a module."""
        module, state = args
        module.load_state_dict(state)

    def state(self, _: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Tensor]:
        """The state dict of a module."""
        return dict(args[0].state_dict())

    def release(self, _: str, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Forget every object that was built."""
        self.handles.clear()

    def seen(self, _: str, args: list[Any], kwargs: dict[str, Any]) -> list[str]:
        """The operators that ran since this was last asked, where they are recorded."""
        names = sorted(self.recorder.names) if self.recorder else []
        if self.recorder:
            self.recorder.names.clear()
        return names

    def vjp(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Vector-Jacobian product: gradients of ``sum(output * cotangent)``.

        ``args`` are the function's arguments, then the list of cotangents, one for each tensor that
        it returns (``None`` leaves one out).
        """
        *args, cotangents = args
        inputs = [a.requires_grad_() for a in args if _differentiable(a)]
        with torch.enable_grad(), self.refusing():
            function = self.find(name)
            module = getattr(function, "__self__", function)
            parameters = dict(module.named_parameters()) if isinstance(module, nn.Module) else {}
            value = function(*args, **kwargs)
            parts = items(value)
            outputs = [value] if parts is None else parts
            # The dtype is asked elsewhere; the engine wants one for both.
            pairs = [
                (out, cot.to(out.dtype))
                for out, cot in zip(outputs, cotangents, strict=False)
                if cot is not None and type(out) in TENSORS and out.requires_grad
            ]
        wanted = [*inputs, *parameters.values()]
        grads: list[Tensor | None] = [None] * len(wanted)
        if pairs and wanted:
            outs, cots = zip(*pairs, strict=True)
            grads = list(torch.autograd.grad(outs, wanted, cots, allow_unused=True))
        return {
            "inputs": grads[: len(inputs)],
            "parameters": dict(zip(parameters, grads[len(inputs) :], strict=True)),
        }


def _unanswered(error: Unanswered) -> bytes:
    ended = describe(error) | {"line": "", "function": ""}
    return pack({"value": None, "error": ended, "after": []})


def _differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


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
