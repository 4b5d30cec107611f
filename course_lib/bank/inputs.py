"""What the tasks share that ask for an input on which a wrong function differs from a right one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from grader.checks.compare import difference, kind
from grader.checks.exercise import Exercise, Property
from grader.checks.trial import Trial, Wrong

__all__ = ["counterexample", "numbers", "tells_apart", "whole", "whole_numbers"]

# More than any input that is worth a point, and little enough for every function that it goes to.
MOST = 2_000


def numbers(value: Any, axes: int, what: str) -> Tensor:
    """Finite numbers that came as a tensor or as lists.

    Args:
        value: What came.
        axes: How many axes it must have.
        what: What it is called.

    Returns:
        The same as float64.

    Raises:
        Wrong: It is something else.
    """
    if isinstance(value, (list, tuple)):
        try:
            value = torch.tensor(value, dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            raise Wrong(f"{what} holds something else than rows of equally many numbers") from None
    if not isinstance(value, Tensor):
        raise Wrong(f"{what} is {kind(value)}, not a tensor")
    if value.ndim != axes or not 0 < value.numel() <= MOST:
        raise Wrong(f"{what} has shape {tuple(value.shape)}, not {axes} axes with a few numbers")
    if not value.isfinite().all():
        raise Wrong(f"{what} holds NaN or infinity")
    return value.double()


def whole(value: Any, low: int, high: int, what: str) -> int:
    """A whole number from ``low`` to ``high``, or ``Wrong``."""
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    if type(value) is not int:
        raise Wrong(f"{what} is {kind(value)}, not a whole number")
    if not low <= value <= high:
        raise Wrong(f"{what} is {value:.6g}, not a number from {low} to {high}")
    return value


def whole_numbers(values: Tensor, low: int, high: int, what: str, each: str) -> list[int]:
    """What :func:`numbers` gave, as whole numbers from ``low`` to ``high``, or ``Wrong``."""
    if (values != values.round()).any():
        raise Wrong(f"{what} holds something else than whole numbers")
    return [whole(int(value), low, high, each) for value in values.tolist()]


def tells_apart(
    t: Trial, right: Callable[..., Any], wrong: Callable[..., Any], *given: Any
) -> None:
    """Expect a wrong function to return something else than the right one, and to return."""
    try:
        found = wrong(*given)
    except Exception as error:
        raised = f"`{wrong.__name__}` raises {type(error).__name__}: {error}"
        raise Wrong(f"{raised}. Find an input on which it returns a wrong value") from None
    same = f"`{wrong.__name__}` returns on your input what `{right.__name__}` returns"
    t.expect(difference(found, right(*given)) is not None, same)


def counterexample(
    identifier: str,
    judge: Callable[..., None],
    *,
    given: tuple[Callable[..., Any], ...],
    outcome: str,
    apart: Mapping[str, tuple[str, str]],
    unit: str,
    within: Mapping[str, tuple[int, str]],
    **told: Any,
) -> Exercise:
    """Make an exercise that asks for an input on which two given functions go wrong.

    One point is given for each of the two, and half a point for both at once on an input that is
    small enough.

    Args:
        identifier: Id of the exercise; after the dot is the function's name.
        judge: ``judge(trial, *wrong, most=...)`` looks whether an answer leads these functions
            astray, and is small enough.
        given: What the notebook hands out; the last two are the functions that go wrong.
        outcome: What is assessed.
        apart: The properties for one function each, by their names: what it says, and its hint.
        unit: What the size of an input is counted in.
        within: The properties for both at once, by their names: the largest size, and its hint.
        **told: What else an :class:`Exercise` has.
    """
    exercise = Exercise(
        id=identifier,
        function=identifier.partition(".")[2],
        points=3,
        example=lambda t: (),
        outcomes=(outcome,),
        given=given,
        any_size=True,
        **told,
    )

    def astray(*wrong: Callable[..., Any], **limit: int) -> Callable[[Trial], None]:
        return lambda trial: judge(trial, *wrong, **limit)

    wrong = given[-2:]
    exercise.properties += [
        Property(name, says, 1, hint, astray(function))
        for function, (name, (says, hint)) in zip(wrong, apart.items(), strict=True)
    ]
    exercise.properties += [
        Property(name, f"both, with at most {most} {unit}", 0.5, hint, astray(*wrong, most=most))
        for name, (most, hint) in within.items()
    ]
    return exercise
