"""What IPython runs of a cell: its text after all transformations, in statements."""

import ast
import keyword
import re
import warnings
from functools import lru_cache

from IPython.core.inputtransformer2 import TransformerManager

# What Python raises on a text that it cannot read.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
WRITES = re.compile(r"\s*%%writefile (\w+)\.py *\n")
INLINE = "get_ipython().run_line_magic('matplotlib', 'inline')"
# Where IPython may read another text than Python does: other ends of lines, prompts, cell magics.
_TOUCHED = re.compile(r"[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|^\s*(>>>|\.\.\.|In \[|%%)", re.M)
_MAGIC = re.compile(r"^.*[%!?].*$", re.M)
# Characters times lines with magics: IPython reads a cell anew for each.
_MOST = 200_000
_TIMED = re.compile(r"\s*%%(time|capture)\b.*\n")


def statements(source: str) -> list[str]:
    """The statements of a cell, one by one, as IPython runs them; what is no Python stays whole.

    Example:
        >>> statements("%%time\\n!ls\\nimport math; x = 1\\n@f\\ndef g():\\n    return x")
        ["get_ipython().system('ls')", 'import math; x = 1', '@f\\ndef g():\\n    return x']
    """
    if WRITES.match(source):
        return [source]
    try:
        text = as_run(_TIMED.sub("", source, count=1))
        body = ast.parse(text).body
    except UNREADABLE:
        return [source]
    # As Python counts: other signs at which `splitlines` would split end no line of it.
    lines, parts, last = text.split("\n"), [], 0
    for node in body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        part = "\n".join(lines[max(first - 1, last) : node.end_lineno])
        last = node.end_lineno or last
        parts += [part] if part.strip() else []
    return parts


@lru_cache(maxsize=4096)
def as_run(source: str) -> str:
    """What IPython makes of a cell: Python, with its magics as calls."""
    try:
        ast.parse(source)
        if not _TOUCHED.search(source):
            return source
    except UNREADABLE:
        pass
    if len(source) * (1 + len(_MAGIC.findall(source))) > _MOST:
        raise ValueError("too many magics")
    with warnings.catch_warnings(action="ignore"):
        return str(TransformerManager().transform_cell(source))


@lru_cache(maxsize=4096)
def tree(source: str) -> ast.Module:
    """What IPython runs of a cell, but for the one magic that notebooks begin with."""
    module = ast.parse(as_run(source))
    if "inline" in source:
        module.body = [node for node in module.body if ast.unparse(node) != INLINE]
    return module


def by_word(source: str) -> bool:
    """Whether IPython may take a cell of one line for a magic without its sign."""
    line = re.match(r"\s*([\w.*]++)\s*+(?![!=()<>,+*/%^&|:]|$)", source)
    return bool(len(source.splitlines()) == 1 and line and not keyword.iskeyword(line[1]))
