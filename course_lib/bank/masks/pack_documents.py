from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

NAMES = ("the mask", "the positions")

exercise = Exercise(
    id="masks.pack_documents",
    points=4,
    minutes=15,
    difficulty=3,
    chapter="05_libraries.html#masks-packed",
    outcomes=("masks.build",),
    returns=NAMES,
    example=lambda t: (torch.tensor([[3, 2], [1, 2]]), 5),
)


def _part(t: Trial, which: int, lengths: Tensor, T: int, note: str) -> None:
    """Mask or positions alone, so that either can be right without the other."""
    got = t.parts(t.call(lengths, T), *NAMES)[which]
    t.close(got, exercise.reference(lengths, T)[which], NAMES[which], note=note)


def _full(t: Trial) -> tuple[Tensor, int]:
    """Rows of three documents that fill all places, two of them equally long."""
    n, other = t.integer(2, 6), t.integer(7, 12)
    return torch.tensor([[n, n, other], [n, other, n], [other, n, n]]), 2 * n + other


@exercise.prop(
    1.5,
    "Which places belong to the same document? Which of these come no later?",
)
def apart(t: Trial) -> None:
    """in a row without padding each document has a causal triangle of its own"""
    lengths, T = _full(t)
    # In another order they need another mask of the same size.
    for rows in (lengths, lengths.flip(0)):
        _part(t, 0, rows, T, f"lengths {rows.tolist()}")
    _part(t, 0, torch.tensor([[T], [T]]), T, "one document")


@exercise.prop(1, "What has to be subtracted from a place, so that each document begins at 0?")
def places(t: Trial) -> None:
    """positions begin at 0 in each document"""
    lengths, T = _full(t)
    _part(t, 1, lengths, T, f"lengths {lengths.tolist()}")


@exercise.prop(1, "Whom may a place see that belongs to no document, and who may see it?")
def padded(t: Trial) -> None:
    """places after the last document see nothing, are seen by nobody, and have position 0"""
    lengths, T = torch.tensor([[t.integer(3, 9), 2], [3, t.integer(1, 2)]]), t.integer(12, 15)
    for which in (0, 1):
        _part(t, which, lengths, T, f"lengths {lengths.tolist()}, T = {T}")
    t.unchanged(lengths, T)


@exercise.prop(0.5, "Try lengths of 2, 0 and 3 by hand: which number does the last document have?")
def empty(t: Trial) -> None:
    """an empty document takes no place, and a row may hold none"""
    n = t.integer(4, 19)
    lengths = torch.tensor([[n, 0, 3], [0, 0, n], [0, 0, 0]])
    for which in (0, 1):
        _part(t, which, lengths, n + 3, f"lengths {lengths.tolist()}")
