"""Tools of a property: seeded samples, calls of the answer, and expectations."""

import contextlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import Any, TypeVar

from grader.base.tensors import Tensor, TorchMissing, torch
from grader.checks.answer_proxy import AnswerLost, AnswerProxy, Failure, Gradients, Reply
from grader.checks.compare import difference, kind, misfit, name
from grader.checks.constant_answer import Call
from grader.checks.example import Example, Pair, example, first_pair, parameters
from grader.checks.probe import UNTOLD, End
from grader.checks.recorded import Unrecorded
from grader.checks.samples import Samples
from grader.checks.structure import copies, has, in_single, is_data, is_real

T = TypeVar("T")
# An expected value in a sentence, not an expected shape or number of values.
_WANTED = re.compile(r", expected (?:about )?[-\d\[{](?!\d* (?:values|tensors)).*", re.DOTALL)


UNREAD = "what came back could not be looked at"
WIDENED = "the result has dtype float64, expected float32"
# Of gradients: how far an argument is moved, how near its slope must be, and what is no slope.
_STEPS = {torch.float64: (1e-6, 1e-4, 1e-6), torch.float32: (1e-3, 1e-2, 1e-3)}


class Wrong(Exception):
    """A property does not hold; the message tells the student why."""


class Came(Enum):
    """What a trial came to beside its verdict."""

    ALONE = auto()  # its verdict stands by itself
    BESIDE = auto()  # what is wrong with it costs elsewhere: a size holds, or others ask for it
    HARMLESS = auto()  # it only left its arguments as they were


class Trial(Samples):
    """One property being tried on one answer.

    Every reply is kept in ``transcript``: together with the verdicts it is the fingerprint by which
    a mistake is recognised.
    """

    def __init__(self, exercise: Any, proxy: AnswerProxy, seed: int) -> None:
        super().__init__(seed)
        # An exercise, which knows this module.
        self.exercise = exercise
        self.proxy = proxy
        self.transcript: list[Any] = []
        self.calls: list[Call] = []
        self.open: Failure | None = None
        # The last call and what came of it; ``...`` where the fault is not to be seen in that.
        self._called: Call | None = None
        self._pair: Pair | None = None
        # True if a size probe held, and at most its values are wrong.
        self.affordable = False
        # Entries of the transcript up to the last size probe that looks at values.
        self.measured = 0
        # True if the answer is wrong already where another property asks.
        self.elsewhere = False
        # Calls of which only the arguments were looked at.
        self.untouched = 0
        self._widened = False

    def reply(self, *args: Any, **kwargs: Any) -> Reply:
        """Call the answer and keep what it did."""
        reply = self.proxy.call(self.exercise.function, *args, **kwargs)
        reply = self.settled(reply, args, kwargs)
        self._called, self._pair = (args, kwargs, reply.error or reply.value), None
        self.transcript.append(self._called[2])
        self.calls.append(self._called)
        return reply

    def came_to(self, why: str) -> Came:
        """What this came to, by why its property does not hold."""
        looked = len(self.transcript)
        if (why and self.elsewhere) or (self.affordable and (why or self.measured == looked)):
            return Came.BESIDE
        return Came.HARMLESS if not why and 0 < self.untouched == looked else Came.ALONE

    def settled(self, reply: Reply, *handed: Any) -> Reply:
        """A reply in single precision where nothing in double was handed over."""
        # Values computed in single that come back in double have digits that mean nothing.
        self._widened = has(reply.value, torch.float64) and (
            has(handed, torch.float32) and not has(handed, torch.float64)
        )
        return replace(reply, value=in_single(reply.value)) if self._widened else reply

    def failing(self) -> Example | None:
        """The last call, to show what a property failed on."""
        if self._called is None:
            return None
        return example(self.exercise.reference, self.exercise.function, *self._called, self._pair)

    def concealed(self, why: str) -> tuple[str, Example | None]:
        """A failure and its example without what was expected, unless its sample never comes again.

        Real numbers don't; counts, masks and inputs that are always the same do.
        """
        shown, pair = self.failing(), self._pair
        args, kwargs, _ = self._called or ((), {}, ...)
        if self.drawn and is_real([*args, *kwargs.values()]):
            return why, shown
        if pair is None:
            return _WANTED.sub(", which is not what was expected", why), shown
        if shown is not None and shown.wanted is not None:
            shown = replace(shown, wanted=replace(shown.wanted, rows=()))
        form = isinstance(pair.want, Tensor) and (
            # Equal numbers of another dtype are not what was wrong with the entries.
            misfit(pair.got, pair.want) or difference(pair.got, pair.want) is None
        )
        if isinstance(pair.want, (list, tuple, dict)) or form:
            return why, shown
        if not isinstance(pair.want, Tensor) and shown is not None:
            shown = replace(shown, wanted=None)
        plain = isinstance(pair.got, (bool, int, float, str))
        is_what = f"is {pair.got!r:.80}" if plain else f"is {kind(pair.got)}"
        is_what = "has wrong entries" if isinstance(pair.got, Tensor) else is_what
        return f"{pair.what} {is_what}, which is not what was expected", shown

    def form(self) -> str | None:
        """Difference in form between the last call's outcome and the reference's, if known."""
        if self._called is None or isinstance(self._called[2], Failure):
            return None
        args, kwargs, outcome = self._called
        # Some arguments, such as a module of the answer's own, mean nothing to the reference.
        with contextlib.suppress(Exception):
            return misfit(outcome, self.want(*args, **kwargs), self.exercise.returns)
        return None

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the answer; its value, or ``Wrong`` with what it raised."""
        return self.returned(self.reply(*args, **kwargs))

    def vjp(self, args: tuple[Any, ...], cotangents: list[Tensor | None]) -> Gradients:
        """Gradients of the answer, or ``Wrong`` with what it raised."""
        reply = self.proxy.vjp(self.exercise.function, args, cotangents)
        value = self.returned(reply)
        self.transcript.append(value.inputs)
        assert isinstance(value, Gradients)
        return value

    def returned(self, reply: Reply) -> Any:
        """The value of a reply; ``Wrong`` with what was raised, or if it is complex."""
        if reply.error is not None:
            raise Wrong(f"raised {reply.error}")
        value = reply.value
        for part in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(part, Tensor) and part.is_complex():
                # No exercise asks for complex numbers, and comparisons of sizes would take them.
                raise Wrong(f"the result has dtype {name(part)}, expected real numbers")
        return value

    # Expectations.

    def size_probe(
        self,
        *args: Any,
        want: Sequence[Any] | None = None,
        keep: Sequence[tuple[slice, ...]],
        memory: int,
        cpu: int,
        why: str,
        timed: bool = False,
    ) -> None:
        """Expect a call to stay within caps, and slices (``keep``) to be those that are needed.

        Unless ``want`` says which these are, they are those of what the reference returns.
        Choose the input so that the way that is asked not to be gone takes ten times the cap, and
        every good way a fifth of it. Memory (MiB) alone is judged, unless the text gives seconds,
        too (``timed``): of a call that is not finished in time nothing is known, and where caps
        cannot be set, as on macOS, nothing is tried. Both leave the property ``open``. Large
        arguments are ``Fixture("normal", ...)``, made on the answer's side; ``why`` says what is
        too costly.
        """
        if self.open is not None:
            return
        self.affordable = False
        reply = self.proxy.probe(self.exercise.function, args, memory=memory, cpu=cpu, keep=keep)
        self.transcript.append(reply.error or reply.value)
        if want is None or not all(isinstance(p, Tensor) and p.numel() == 0 for p in want):
            self.measured = len(self.transcript)
        costly = (End.MEMORY, End.TIME) if timed else (End.MEMORY,)
        if reply.error is not None and reply.error.type in costly:
            raise Wrong(f"{why}: {reply.error.message}")
        if reply.error is not None and reply.error.type in UNTOLD:
            self.open = reply.error
            return
        part = "a part of " if keep[0] else ""
        *names, what = (part + name for name in (*self.exercise.returns, "the result"))
        slices = self.returned(reply)
        self.affordable = True
        want = self.exercise.slices(keep, *args) if want is None else want
        for got, right in zip(slices, want, strict=True):
            self.close(self.returned(Reply(got)), right, what, names=tuple(names))

    def want(self, *args: Any, **kwargs: Any) -> Any:
        """Result of the reference, on copies of the arguments."""
        return self.exercise.reference(*copies(args), **copies(kwargs))

    def same(self, *args: Any, note: str = "", exact: bool = False, **kwargs: Any) -> Any:
        """Expect the answer to agree with the reference, ``exact`` in dtype, too; its value."""
        want = self.want(*args, **kwargs)
        got = self.call(*args, **kwargs)
        wrong = difference(got, want, exact=exact, names=self.exercise.returns)
        if wrong := wrong or self._too_wide(exact, want):
            self._pair = first_pair(got, want, "the result", self.exercise.returns)
            shown = ", ".join(brief(a) for a in (*args, *kwargs.values()))
            raise Wrong(f"{note + ': ' if note else ''}{wrong}; called with {shown}")
        return got

    def usual(self, *args: Any, **kwargs: Any) -> None:
        """Call with arguments of another property: an answer that is wrong there pays there."""
        got = self.reply(*args, **kwargs)
        wrong = got.error or difference(got.value, self.want(*args, **kwargs))
        self.elsewhere = self.elsewhere or bool(wrong)

    def close(
        self,
        got: Any,
        want: Any,
        what: str = "the result",
        *,
        note: str = "",
        exact: bool = False,
        names: tuple[str, ...] = (),
    ) -> None:
        """Expect ``got`` to equal ``want`` within the tolerance of its dtype."""
        # The target may be a second output of the same answer, and NaN agrees with NaN.
        if isinstance(want, Tensor) and want.isnan().any():
            raise Wrong(f"{note}: {what} has NaN" if note else f"{what} has NaN")
        wrong = difference(got, want, what, exact=exact, names=names)
        if wrong := wrong or self._too_wide(exact, want):
            self._pair = first_pair(got, want, what, names)
            raise Wrong(f"{note}: {wrong}" if note else wrong)

    def _too_wide(self, exact: bool, want: Any) -> str | None:
        return WIDENED if exact and self._widened and has(want, torch.float32) else None

    def expect(self, condition: bool | Tensor, why: str) -> None:
        """Expect a condition."""
        if not bool(condition):
            raise Wrong(why)

    def values(self, got: Any, *names: str, of: str = "values") -> list[Any]:
        """The values of a returned tuple or list, one for each name (the exercise's own names)."""
        names = names or self.exercise.returns
        # A million values would take a minute and a GiB apart.
        if isinstance(got, Tensor) and got.shape == (len(names),):
            got = got.unbind()
        if not isinstance(got, (list, tuple)) or len(got) != len(names):
            raise Wrong(
                f"the result is {kind(got)}, expected {len(names)} {of}: {', '.join(names)}"
            )
        return list(got)

    def parts(self, got: Any, *names: str) -> list[Tensor]:
        """The tensors of a returned tuple, one for each name (the exercise's own names)."""
        names = names or self.exercise.returns
        for value, part in zip(self.values(got, *names, of="tensors"), names, strict=True):
            if not isinstance(value, Tensor):
                raise Wrong(f"{part} is {kind(value)}, expected a tensor")
        return list(got)

    def a_tensor(self, got: Any, shape: Sequence[int], what: str = "the result") -> Tensor:
        """Expect a tensor of this shape and return it."""
        if not isinstance(got, Tensor):
            raise Wrong(f"{what} is {kind(got)}, expected a tensor of shape {tuple(shape)}")
        if tuple(got.shape) != tuple(shape):
            raise Wrong(f"{what} has shape {tuple(got.shape)}, expected {tuple(shape)}")
        return got

    def a_mask(self, got: Any, shape: Sequence[int]) -> Tensor:
        """Expect truth values of this shape, in whatever dtype they came."""
        mask = self.a_tensor(got, shape, "the mask")
        self.expect(((mask == 0) | (mask == 1)).all(), "the mask holds more than true and false")
        return mask.bool()

    def unchanged(self, *args: Any, **kwargs: Any) -> None:
        """Expect a call to leave its arguments as they were, whatever it returns."""
        reply = self.reply(*args, **kwargs)
        # A function that does nothing harms nothing, too: see `idle`.
        self.returned(reply)
        handed = (*args, *kwargs.values())
        names = [*parameters(self.exercise.reference, len(args)), *kwargs]
        for what, after, before in zip(names, reply.after, handed, strict=True):
            if is_data(before) and difference(after, before, exact=True):
                raise Wrong(f"`{what}` is not what it was before the call")
        self.untouched += 1

    def raises(self, *args: Any, why: str, **kwargs: Any) -> None:
        """Expect a call to raise a ``ValueError``."""
        error = self.reply(*args, **kwargs).error
        if error is None:
            raise Wrong(f"{why}: expected a ValueError, but a value came back")
        if "ValueError" not in (error.type, *error.kinds.split()):
            # Not one line of the answer ran: that is what there is to say.
            unreached = error.type in ("NameError", "TypeError") and not error.line
            before = "" if unreached else f"{why}: expected a ValueError, "
            raise Wrong(f"{before}raised {error}")

    def gradient(self, *args: Any, output: int | None = None, but: str = "") -> None:
        """Expect gradients to agree with central differences, of ``output`` or of all outputs.

        They are of the answer's own values or of the reference's: those of an answer that rounds to
        single precision inside are no measure. The argument ``but`` is a constant.
        """
        value = self.call(*args)
        outputs = list(value) if isinstance(value, (list, tuple)) else [value]
        outputs = [o if isinstance(o, Tensor) and o.is_floating_point() else None for o in outputs]
        if not any(o is not None for o in outputs):
            raise Wrong(
                misfit(value, self.want(*args), self.exercise.returns)
                or f"the result is {kind(value)}, expected a floating-point tensor"
            )
        cotangents = [
            self.randn(*o.shape, dtype=o.dtype) if o is not None and output in (None, i) else None
            for i, o in enumerate(outputs)
        ]
        gradients = self.vjp(args, cotangents).inputs
        names = parameters(self.exercise.reference, len(args))
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.is_floating_point()]
        for place, gradient in zip(places, gradients, strict=True):
            if names[place] == but:
                continue
            step, slack, none = _STEPS[args[place].dtype]
            direction = self.randn(*args[place].shape, dtype=args[place].dtype)
            along = (args, place, direction, cotangents)
            slope, right = _slope(self.call, step, *along), _slope(self.want, step, *along)
            self._called = args, {}, ...
            # Nothing is greater than NaN: without this it would pass every comparison below.
            if not math.isfinite(slope):
                raise Wrong(f"the result is not finite, so `{names[place]}` has no gradient")
            # A constant has a perfect gradient; that earns no points.
            flat = gradient is None or not gradient.any()
            if slope == 0 and flat and abs(right) > 5e-4:
                raise Wrong(f"the result does not depend on `{names[place]}`")
            if gradient is None:
                if abs(slope) > none:
                    raise Wrong(f"no gradient reaches `{names[place]}`: is the graph cut?")
                continue
            if not gradient.isfinite().all():
                raise Wrong(f"the gradient of `{names[place]}` is not finite")
            along_gradient = float((gradient.double() * direction).sum())
            # Over so small a step single precision shows its rounding; over a wide one the slope.
            near = (_near(along_gradient, s, slack) for s in (slope, right))
            if not any(near) and not _near(along_gradient, _slope(self.call, 3e-3, *along), slack):
                raise Wrong(
                    f"gradient of `{names[place]}`: {along_gradient:.5g} along a direction in which"
                    f" the result changes by {slope:.5g}"
                )


def _slope(
    call: Callable[..., Any],
    step: float,
    args: Sequence[Any],
    place: int,
    direction: Tensor,
    cotangents: Sequence[Tensor | None],
) -> float:
    moved = [list(args), list(args)]
    for arguments, sign in zip(moved, (1, -1), strict=True):
        arguments[place] = args[place] + sign * step * direction
    high, low = (_inner(call(*arguments), cotangents) for arguments in moved)
    return (high - low) / (2 * step)


def _near(found: float, slope: float, slack: float) -> bool:
    return abs(found - slope) <= slack * max(1.0, abs(slope))


def _inner(value: Any, cotangents: Sequence[Tensor | None]) -> float:
    outputs = value if isinstance(value, (list, tuple)) else [value]
    pairs = zip(outputs, cotangents, strict=True)
    return sum(float((o * c.double()).sum()) for o, c in pairs if c is not None)


def brief(value: Any) -> str:
    """An argument in a few characters: a tensor's shape, a short value itself."""
    if isinstance(value, Tensor):
        return f"{name(value)} {tuple(value.shape)}"
    text = repr(value)
    return text if len(text) <= 24 else kind(value)


def attempt(run: Callable[[Trial], T], trial: Trial) -> tuple[T | None, str | None]:
    """Run a property: its result and None, or None and why it does not hold."""
    try:
        return run(trial), None
    except Wrong as wrong:
        return None, str(wrong)
    except (AnswerLost, Unrecorded, TorchMissing):
        raise
    except Exception as error:
        # The property took the answer's value for what it should have been. The matrix, where every
        # solution passes, is what tells this from a fault of the property itself.
        other = trial.form() or f"{UNREAD} ({type(error).__name__}: {error})"
        return None, other
