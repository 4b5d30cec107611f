"""Shell that runs a notebook's cells in grading and rehearsal, as IPython's does."""

import ast
import builtins
import getpass
import pdb
import socket
import sys
from collections.abc import Callable, Collection, Sequence
from importlib import util
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NoReturn

from IPython.core import debugger
from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from grader.base.course import course
from grader.base.tensors import torch

_WINDOWS = ("matplotlib.use(", "mpl.use(", "plt.switch_backend(")


def count(
    shell: InteractiveShell, excused: Callable[[BaseException], bool] = lambda error: False
) -> None:
    """Let a shell run cells as they are run where they count, for the rest of its life.

    An import at the margin that fails, and a magic or a command that does, ends no cell, for the
    packages of one machine are not those of another; nor does an error that is ``excused``.
    ``exit`` ends nothing, either, and a breakpoint is passed over, since nobody waits at a
    debugger; nor does anybody answer. A word is a magic by its sign only, so that what a cell says
    in Python it does in Python.
    """
    shell.automagic = False
    for module in (pdb, debugger):
        vars(module)["set_trace"] = sys.breakpointhook = lambda *_, **__: None
    builtins.input = getpass.getpass = unanswered
    # A kernel puts its own in that place before each cell.
    vars(getattr(shell, "kernel", None) or shell).update(raw_input=unanswered, getpass=unanswered)
    run_nodes = shell.run_ast_nodes

    async def run_on(
        nodes: Sequence[ast.stmt],
        cell: str,
        interactivity: str = "last_expr",
        compiler: Any = compile,
        result: ExecutionResult | None = None,
    ) -> bool:
        first: BaseException | None = None
        for number, node in enumerate(nodes, 1):
            shown = interactivity if number == len(nodes) or interactivity == "all" else "none"
            if await run_nodes([node], cell, shown, compiler, result) and first is None:
                first = result.error_in_exec or result.error_before_exec if result else None
                if first is None or not (excused(first) or _sets_up(node, first)):
                    return True
        if first is not None and result is not None:
            result.error_in_exec = first
        return first is not None

    def usage(error: Exception) -> None:
        shell._showtraceback(type(error), error, [f"UsageError: {error}"])

    vars(shell).update(run_ast_nodes=run_on, show_usage_error=usage, ask_exit=lambda: None)


def _sets_up(node: ast.stmt, error: BaseException) -> bool:
    """Tell whether a statement that has failed is one without which the rest of its cell may do."""
    text = ast.unparse(node)
    # Where there is no screen, there are no windows for pictures.
    if text.startswith(("import ", "from ", *_WINDOWS)):
        return isinstance(error, ImportError)
    return text.startswith("get_ipython().")


def unanswered(*_: Any, **__: Any) -> NoReturn:
    """Stands for input and getpass."""
    raise StdinNotImplementedError(
        "nobody answers a question while work is graded: write what it asks for into the cell"
    )


def alone(packages: Collection[str]) -> None:
    """Take the network and some packages from a process, as from a grader's worker.

    What lies in the working folder is the notebook's own, whatever it is called.
    """
    ask, here = util.find_spec, Path.cwd()

    def missing(name: str) -> bool:
        found = PathFinder.find_spec(name) if name in packages else None
        places = [found.origin or "", *(found.submodule_search_locations or ())] if found else []
        own = [p for p in map(Path, places) if here in p.parents and "site-packages" not in p.parts]
        return name in packages and not own

    class Without(MetaPathFinder):
        def find_spec(self, name: str, *_: Any) -> None:
            if missing(name):
                raise ModuleNotFoundError(f"{name} is not there while work is graded", name=name)

    sys.meta_path.insert(0, Without())
    # An optimizer of torch asks for packages that it does not import.
    util.find_spec = lambda name, package=None: None if missing(name) else ask(name, package)

    # The course's own modules do for answers what notebooks fetch.
    fetching = tuple(f"{course().package}.{name}" for name in course().answers)

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        # Elsewhere a socket to the network is what connects a process with itself.
        if event != "socket.__new__" or arguments[1] == getattr(socket, "AF_UNIX", arguments[1]):
            return
        frame = sys._getframe(1)
        while frame and not str(frame.f_globals.get("__name__")).startswith(fetching):
            frame = frame.f_back  # type: ignore[assignment]
        if not frame:
            unreachable()

    def unreachable(*_: Any, **__: Any) -> NoReturn:
        raise PermissionError("There is no network while work is graded")

    sys.addaudithook(audit)
    if torch:
        # Processes that compute together open their sockets past Python.
        vars(torch.distributed).update(init_process_group=unreachable, TCPStore=unreachable)
