"""Code that a page shows: an object of a module, with or without its docstring."""

import ast
from collections.abc import Mapping
from pathlib import Path

from grader.base.errors import Refused

# The flag of `literalinclude` that leaves a docstring out; `lines` would go stale with every edit.
FLAG = "no-docstring"


def read(path: Path, options: Mapping[str, str]) -> str:
    """Lines of a file that a listing shows."""
    from sphinx.config import Config
    from sphinx.directives.code import LiteralIncludeReader

    chosen = dict(options)
    if FLAG in chosen:
        chosen["lines"] = lines_without_docstring(path, chosen["pyobject"])
    return str(LiteralIncludeReader(str(path.resolve()), chosen, Config()).read()[0])


def lines_without_docstring(path: Path, name: str) -> str:
    """The lines of an object but those of its docstring, as ``:lines:`` of a listing wants them."""
    definition: ast.AST = ast.parse(path.read_text(encoding="utf-8"))
    for part in name.split("."):
        inside = getattr(definition, "body", [])
        # The last of a name, behind its overloads, is the one that Sphinx shows.
        named = [node for node in inside if getattr(node, "name", None) == part]
        if not named:
            raise Refused(f"{path.name} has no {name}: expected a function, class or method")
        definition = named[-1]
    assert isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    if ast.get_docstring(definition) is None:
        return "1-"
    first = min([definition.lineno, *(d.lineno for d in definition.decorator_list)])
    docstring = definition.body[0]
    head, rest = docstring.lineno - first, (docstring.end_lineno or docstring.lineno) - first + 2
    return f"1-{head}, {rest}-" if head > 1 else f"1, {rest}-"
