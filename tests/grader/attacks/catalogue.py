# ruff: noqa: E501 - a row of the table is a line, however long
"""Every attack in one line: what it tries, and what must come of it.

Read a row as: *name*; *what it tries*; **where** the code of :mod:`snippets` goes; **must**, the
points that are due; **told**, whether the instructor has to be told (``None``: may be).

Where the code goes:

- ``stubs``: a cell at the top of a notebook with no answer in it;
- ``each``: the answer of every exercise;
- ``first``, or the id of an exercise: its answer, all others being answered honestly;
- ``beside``: a cell at the top of a notebook that is solved honestly;
- ``text``: a text cell at the top of the same;
- a function: it lays out the submission's folder itself (:mod:`tampering`).

What must come of it:

- ``NOTHING``: no point; ``REST``: exactly the points of all other exercises;
- ``ALL``: exactly all points, for it harms nobody and the answers are honest;
- ``UP_TO_REST``, ``UP_TO_ALL``: at most these, for it may ruin its own honest answers;
- ``REFUSED``: not graded, with a reason;
- ``SEEN``: at most ``due`` points, or a person is asked; ``PART``: at most ``due`` points.

Whatever an attack does, the honest submissions beside it get what they deserve, and the gradebook,
the other submissions and the sources stay as they were; the runner looks after every run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from . import routes as r
from . import snippets as s
from . import tampering as t


class Must(Enum):
    """The points that are due."""

    NOTHING = "no point"
    REST = "exactly the other exercises' points"
    ALL = "exactly all points"
    UP_TO_REST = "at most the other exercises' points"
    UP_TO_ALL = "at most the honest points"
    REFUSED = "not graded"
    SEEN = "at most what is honest of it, or a person is asked"
    PART = "at most the points of all but the large input"


@dataclass(frozen=True)
class Attack:
    """One row."""

    name: str
    tries: str
    where: str | Callable[..., None]
    code: str
    must: Must
    told: bool | None = None
    due: float = 0.0

    @property
    def alone(self) -> str:
        """The exercise that is answered, in a notebook in which nothing else is; empty if not."""
        placed = self.must in (Must.SEEN, Must.PART) and isinstance(self.where, str)
        return str(self.where) if placed else ""


NOTHING, REST, ALL, REFUSED = Must.NOTHING, Must.REST, Must.ALL, Must.REFUSED
UP_TO_REST, UP_TO_ALL = Must.UP_TO_REST, Must.UP_TO_ALL

# Undeserved points: what earned them on stock nbgrader, and what comes close.
POINTS = (
    Attack("skip-execution", "tags test cells so that they are not run", t.skip_tags, "", NOTHING, True),
    Attack("patched-comparison-answers", "the same with an answer", "each", s.PATCHED_COMPARISONS + s.CONSTANT, NOTHING),
    Attack("patched-references", "puts own modules in the place of the library's", "each", s.PATCHED_REFERENCES, NOTHING),
    Attack("ast-strip-asserts", "removes asserts while cells are compiled", "stubs", s.STRIP_ASSERTS, NOTHING),
    Attack("patched-shell", "makes running a cell do nothing", "stubs", s.PATCHED_SHELL, NOTHING),
    Attack("tensor-subclass", "a tensor that answers every comparison with True", "each", s.TENSOR_SUBCLASS, NOTHING),
    Attack("always-equal", "an object equal to everything", "each", s.ALWAYS_EQUAL, NOTHING),
    Attack("library-reference", "calls the library's own implementation", "each", s.REFERENCE, NOTHING, True),
    Attack("solution-from-source", "runs the answers out of the course's sources", "stubs", s.EXEC_SOURCE, NOTHING),
    Attack("forbidden-call", "calls what the exercise forbids", "first", s.FORBIDDEN_CALL, REST),
    Attack("forbidden-unguarded", "removes the guard, then calls it", "first", s.FORBIDDEN_UNGUARDED, REST, True),
    Attack("forbidden-unhooked", "takes the refusal out of the dispatcher", "first", s.FORBIDDEN_UNHOOKED, REST),
    Attack("forbidden-derivative", "removes the guard, then calls autograd's engine", "attention.softmax_gradient", s.FORBIDDEN_DERIVATIVE, REST, True),
    Attack("forbidden-engine", "calls autograd's engine below the guard", "attention.softmax_gradient", s.FORBIDDEN_ENGINE, REST, True),
    Attack("hunt-frames", "looks for a reference in frames and in all objects", "each", s.HUNT_FRAMES, NOTHING),
    Attack("exception-hooks", "swallows the exceptions of tests", "stubs", s.EXCEPTION_HOOKS, NOTHING),
    Attack("patched-import", "breaks every further import", "beside", s.PATCHED_IMPORT, UP_TO_ALL),
    Attack("patched-host", "patches what serves the grader's calls", "each", s.PATCHED_HOST + s.CONSTANT, NOTHING),
    Attack("edited-tests", "edits source, points, kind, tags and ids of test cells", t.edited_tests, "", NOTHING, True),
    Attack("unlocked-tests", "marks test cells as answers that are not graded", t.unlocked_tests, "", NOTHING, True),
    Attack("more-points", "writes 100 points into the metadata", t.more_points, "", NOTHING, True),
    Attack("link-to-victim", "hands in a link to somebody's notebook", t.link_to_victim, "", REFUSED, True),
    Attack("linked-folder", "makes the folder a link to somebody's", t.linked_folder, "", REFUSED, True),
    Attack("shadow-library", "hands in a course_lib.py, a grader.py and a torch.py", t.shadow_library, "", NOTHING, None),
    Attack("gradebook-points", "writes manual scores and extra credit", "stubs", s.WRITE_GRADEBOOK, NOTHING),
    Attack("gradebook-later", "leaves a process that writes scores", "stubs", s.WRITE_GRADEBOOK_LATER, NOTHING),
)  # fmt: skip

# Ending or blocking the run, and harming others.
DISTURBANCES = (
    Attack("schema-99", "claims a metadata version of the future", t.schema(99), "", ALL, True),
    Attack("kill-parents", "kills its parents", "beside", s.KILL_PARENTS, UP_TO_ALL),
    Attack("kill-all", "kills all it may", "beside", s.KILL_ALL, ALL),
    Attack("gradebook-lock", "holds a lock on the gradebook", "beside", s.LOCK_GRADEBOOK, ALL),
    Attack("delete-everything", "removes gradebook, sources and others' work", "beside", s.DELETE_EVERYTHING, ALL),
    Attack("exit", "ends the process inside an answer", "first", s.EXIT, REST, True),
    Attack("segfault", "reads address 0", "first", s.SEGFAULT, REST, True),
    Attack("stop-self", "stops its process", "beside", s.STOP_SELF, ALL, True),
    Attack("endless-swallowing", "never returns and catches every interrupt", "first", s.ENDLESS_SWALLOWING, REST, True),
    Attack("endless-cell", "a cell that sleeps", "beside", s.SLEEP, ALL, True),
    Attack("allocate", "returns 16 GiB", "first", s.ALLOCATE, REST),
    Attack("memory-bomb", "allocates in nine processes without end", "first", s.MEMORY_BOMB, REST, True),
    Attack("fork-storm", "a hundred spinning processes", "beside", s.FORK_STORM, UP_TO_ALL),
    Attack("fork-bomb", "forks without end inside an answer", "first", s.FORK_BOMB, UP_TO_REST, True),
    Attack("thread-storm", "a thousand threads", "beside", s.THREAD_STORM, ALL),
    Attack("flood-bytes", "prints 50 MB in a line", "beside", s.FLOOD_BYTES, ALL),
    Attack("flood-below", "writes 50 MB past Python", "beside", s.FLOOD_BELOW, ALL),
    Attack("flood-uncapped", "lifts the cap on outputs, then prints 40 MB", "beside", s.FLOOD_UNCAPPED, ALL),
    Attack("fill-scratch", "writes files until there is no room", "beside", s.FILL_SCRATCH, UP_TO_ALL),
    Attack("close-all", "closes all descriptors", "beside", s.CLOSE_ALL, ALL, True),
    Attack("redirect-all", "points all descriptors to nowhere", "beside", s.REDIRECT_ALL, ALL, True),
    Attack("deep-recursion", "recurses until the stack ends", "first", s.DEEP_RECURSION, REST, None),
    Attack("atexit", "wants to go on at the end", "first", s.ATEXIT, REST),
    Attack("signals", "catches every signal and rings a hundred times a second", "beside", s.SIGNALS, UP_TO_ALL),
    Attack("threads", "changes its results from a thread", "first", s.THREADS, REST),
)  # fmt: skip

# What is no notebook, or an odd one.
FILES = (
    Attack("odd-cells", "cells that are none", t.odd_cells, "", ALL, True),
    Attack("fifo", "a pipe called like the notebook, which blocks its reader", t.fifo, "", REFUSED, True),
    Attack("dangling-link", "a link to nowhere", t.dangling_link, "", REFUSED, True),
    Attack("device", "a link to /dev/zero", t.device_link, "", REFUSED, True),
    Attack("renamed-bytes", "another name, of bytes that are no text", t.renamed(b"\xff\x1b[2J.ipynb"), "", REFUSED, True),
    Attack("renamed-beside", "honest: a copy beside the right one", t.copy_beside, "", ALL, None),
    Attack("bad-timestamp", "a timestamp that is none", t.extra("timestamp.txt", b"not a time \xff"), "", ALL),
    Attack("extra-bytes", "an extra file that is no text", t.extra("data.txt", b"\xff\xfe\0"), "", ALL),
    Attack("extra-links", "links to the gradebook and to the sources beside the notebook", t.extra_links, "", ALL),
    Attack("extra-fifo", "a pipe beside the notebook", t.extra_fifo, "", ALL),
    Attack("large-outputs", "honest: 20 MB of outputs in the file", t.large_outputs, "", ALL),
    Attack("old-format", "honest: saved in nbformat 3", t.old_format, "", ALL, True),
    Attack("other-kernel", "honest: another kernel's name, no cell ids", t.other_kernel, "", ALL),
    Attack("equal-ids", "all cells have the same id", t.equal_ids, "", ALL),
    Attack("byte-order-mark", "honest: saved by an editor that adds a mark", t.byte_order_mark, "", ALL),
)  # fmt: skip

# Secrets, ways out, and pages.
WAYS_OUT = (
    Attack("read-everything", "reads gradebook, sources, seeds and others' work", "beside", s.READ_EVERYTHING, ALL),
    Attack("write-elsewhere", "writes into all of that, and into the libraries", "beside", s.WRITE_ELSEWHERE, ALL),
    Attack("proc", "reads and writes through /proc", "beside", s.PROC, ALL),
    Attack("environment", "prints the environment", "beside", "import os\nprint(dict(os.environ))", ALL),
    Attack("network", "connects to this machine and out", "beside", s.NETWORK, ALL),
    Attack("swap-files", "swaps its notebook for a link while it is graded", "beside", s.SWAP_FILES, UP_TO_ALL),
    Attack("live-outputs", "shows HTML, SVG, Markdown and scripts", "beside", s.LIVE_OUTPUT, ALL),
    Attack("live-text", "writes scripts into a text cell", "text", s.LIVE_TEXT, ALL),
    Attack("live-answer", "writes scripts into an answer and its error", "first", s.LIVE_ANSWER, REST),
    Attack("live-name", "has a name with markup", t.named("<img src=x onerror=alert(1)>"), "", REFUSED, True),
    Attack("bytes-name", "has a name that is no text", t.named(b"\xffname"), "", REFUSED, True),
)  # fmt: skip

# Answers that are not what they seem.
ANSWERS = (
    Attack("nan", "returns NaN everywhere", "first", s.NAN, REST),
    Attack("huge-tensor", "returns 256 MB", "first", s.HUGE_TENSOR, REST),
    Attack("huge-stride", "returns a view of a terabyte", "first", s.HUGE_STRIDE, REST),
    Attack("huge-int", "returns a number of 4,000 digits", "each", s.HUGE_INT, NOTHING),
    Attack("huge-list", "returns ten million lists", "first", s.HUGE_LIST, REST),
    Attack("deep-list", "returns lists nested 100,000 deep", "first", s.DEEP_LIST, REST),
    Attack("wrong-dtype", "returns complex numbers and booleans", "first", s.WRONG_DTYPE, REST),
    Attack("odd-tensors", "returns sparse, meta and foreign tensors", "first", s.ODD_TENSORS, REST),
    Attack("aliasing", "overwrites its arguments and returns them", "first", s.ALIASING, REST),
    Attack("lazy", "an object whose every use raises", "first", s.LAZY, REST),
    Attack("lazy-tensor", "a tensor that ends the process when looked at", "first", s.LAZY_TENSOR, REST),
    Attack("reduce", "objects that run a command when unpickled", "each", s.REDUCE, NOTHING),
    Attack("escapes-in-errors", "errors that write to the instructor's terminal", "first", s.ESCAPES_IN_ERRORS, REST),
    Attack("errors-that-raise", "errors that cannot be printed", "first", s.ERRORS_THAT_RAISE, REST),
)  # fmt: skip

# Speaking to the judge in the worker's place.
FORGERIES = (
    Attack("forged-garbage", "random bytes", "first", s.FORGED_GARBAGE, REST, True),
    Attack("forged-endless", "announces 9 exabytes", "first", s.FORGED_ENDLESS, REST, True),
    Attack("forged-score", "an own verdict", "first", s.FORGED_SCORE, REST),
    Attack("forged-nan", "NaN, and a handle of infinity", "first", s.FORGED_NAN, REST),
    Attack("forged-deep", "a million brackets", "first", s.FORGED_DEEP, REST, True),
    Attack("forged-shared", "5,000 tensors of the same 32 MB", "first", s.FORGED_SHARED, REST, True),
    Attack("forged-shapes", "shapes that overflow", "first", s.FORGED_SHAPES, REST, True),
    Attack("forged-sizes", "negative sizes", "first", s.FORGED_SIZES, REST, True),
    Attack("forged-objects", "20 million lists in 60 MB", "first", s.FORGED_OBJECTS, REST, True),
    Attack("forged-error", "an error that is none", "first", s.FORGED_ERROR, REST),
    Attack("forged-pickle", "a pickle that runs a command", "first", s.FORGED_PICKLE, REST, True),
    Attack("forged-outputs", "outputs with scripts where a picture should be", "beside", s.FORGED_OUTPUTS, UP_TO_ALL),
    Attack("forged-output-type", "outputs as a tensor", "beside", s.FORGED_OUTPUT_TYPE, ALL, True),
    Attack("forged-output-depth", "outputs nested a million deep", "beside", s.FORGED_OUTPUT_DEPTH, ALL, True),
    Attack("forged-output-flood", "50 MB as one cell's output", "beside", s.FORGED_OUTPUT_FLOOD, ALL, True),
    Attack("forged-escapes", "an error for the instructor's terminal", "beside", s.FORGED_ESCAPES, ALL, True),
    Attack("taken-over", "a child that answers for the worker", "stubs", s.TAKEN_OVER, NOTHING),
    Attack("answers-beforehand", "500 answers before anybody asks", "stubs", s.ANSWERS_BEFOREHAND, NOTHING),
)  # fmt: skip

# Ways round what an exercise forbids: in a notebook in which nothing else is answered.
ROUTES = tuple(
    Attack(
        name, tries, exercise, r.code(exercise, code), Must.SEEN, None, r.SHARE.get(exercise, 0.0)
    )
    for exercise, routes in r.ROUTES.items()
    for name, tries, code in routes
)

# Right where the result is small, and of what is large only where a look may be expected.
LARGE = tuple(
    Attack(name, tries, exercise, code, Must.PART, None, due)
    for exercise, name, tries, due, code in r.LARGE
)

# The same out of a module beside the notebook: imported by the answer, or by torch itself.
_TRAINS = "import torch\ntorch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1)\n@"
_CALLS = r.code(r.ATTENTION, _TRAINS + r.PLAIN)
BESIDE = (
    Attack("module-undoes", "a module that takes the refusal away", t.module_beside("helped", r.UNDO, f"import helped\n{_CALLS}"), "", Must.SEEN, None, 1.5),
    Attack("module-answers", "a module that calls it", t.module_beside("helped", f"import torch, math\nfrom torch.nn import functional as F\n{_CALLS}", "from helped import *"), "", Must.SEEN, None, 1.5),
)  # fmt: skip

ATTACKS = (
    *POINTS,
    *ROUTES,
    *LARGE,
    *BESIDE,
    *DISTURBANCES,
    *FILES,
    *WAYS_OUT,
    *ANSWERS,
    *FORGERIES,
)
