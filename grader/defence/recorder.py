"""Runs beside an answer: keeps which lines of it ran, and what its names were then.

The text of this module is executed in the worker, in the student's own namespace, so it uses
nothing of the course. Calls of ``__at__`` and ``__saw__`` are put into the answer by
:func:`grader.defence.unit.instrumented`; all names of this module get a mark before.
"""

__events__ = []  # type: ignore[var-annotated]
# Longer runs than this are no question for a sheet of paper.
__most__ = 1500


def __at__(line):  # type: ignore[no-untyped-def]
    """A line is about to run."""
    if len(__events__) < __most__:
        __events__.append([line, "", None])


def __saw__(line, name, value):  # type: ignore[no-untyped-def]
    """A line has given a name its value; the same value."""
    if len(__events__) < __most__:
        __events__.append([line, name, __form__(value)])
    return value


def __form__(value, depth=0):  # type: ignore[no-untyped-def]
    """Description of a value: its kind, and its shape or itself."""
    # Where there is no torch nothing is a tensor.
    kind = type.__repr__(type(value))
    if kind in ("<class 'torch.Tensor'>", "<class 'torch.nn.parameter.Parameter'>"):
        return ["tensor", str(value.dtype), list(value.shape)]
    if value is None or type(value) in (bool, int, float, str):
        text = repr(value)
        # A value that is too long to be written down is none to ask for, nor is a part of it.
        return ["plain", text] if len(text) <= 40 else ["other", type(value).__name__]
    sequence = type(value) in (tuple, list) or kind == "<class 'torch.Size'>"
    if sequence and depth < 3 and len(value) <= 8:
        return ["several", type(value).__name__, [__form__(v, depth + 1) for v in value]]
    return ["other", type(value).__name__]


def __traced__(name, *args, **kwargs):  # type: ignore[no-untyped-def]
    """Call an answer that has been prepared; what ran, and the type of what it raised."""
    __events__.clear()
    raised = ""
    try:
        globals()[name](*args, **kwargs)
    except Exception as error:
        raised = type(error).__name__
    return {"events": list(__events__), "raised": raised, "whole": len(__events__) < __most__}
