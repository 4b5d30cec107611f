"""Fingerprint of an answer that survives changes of names, comments and layout.

The method is winnowing (Schleimer, Wilkerson and Aiken 2003), which MOSS uses; copydetect provides
it. Here every token is one character, so that a run of characters is a run of tokens.
"""

import ast
import io
import keyword
import re
import token
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

from copydetect import CodeFingerprint, compare_files
from copydetect.utils import get_token_coverage

# A run of so many tokens counts; shorter ones everybody writes.
RUN = 8
# Layout as much as meaning: a long line needs brackets, and a tuple may have some.
LAYOUT = ("(", ")", ",")
# Characters that stand for tokens, outside of all alphabets; two such planes are free for this.
_FIRST = 0xF0000
_SKIPPED = {
    getattr(token, kind) for kind in "NEWLINE NL INDENT DEDENT COMMENT ENDMARKER ENCODING".split()
}


@dataclass(frozen=True)
class Token:
    """One token: what is compared, and where it stands in the text."""

    kind: str
    start: int
    end: int


def of_code(source: str) -> list[Token]:
    """Tokens of Python, every name that the code itself gives replaced, docstrings left out.

    Names that come from elsewhere stay: ``softmax`` is not ``sigmoid``. Code that does not parse is
    compared as far as it can be cut into tokens.
    """
    try:
        tree: ast.AST | None = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    own, documents = _own_names(tree), _documents(tree)
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    tokens: list[Token] = []
    try:
        for part in tokenize.generate_tokens(io.StringIO(source).readline):
            skipped = part.type in _SKIPPED or part.string in LAYOUT
            if skipped or part.start in documents:
                continue
            kind, after_dot = part.string, bool(tokens) and tokens[-1].kind == "."
            if part.type == token.STRING:
                kind = "string"
            elif part.type == token.NAME and not keyword.iskeyword(kind) and not after_dot:
                kind = "name" if own is None or kind in own else kind
            tokens.append(
                Token(
                    kind,
                    offsets[part.start[0] - 1] + part.start[1],
                    offsets[part.end[0] - 1] + part.end[1],
                )
            )
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass
    return tokens


def of_words(text: str) -> list[Token]:
    """Words of an answer in writing."""
    return [Token(m[0].lower(), *m.span()) for m in re.finditer(r"\w+", text)]


def _own_names(tree: ast.AST | None) -> set[str] | None:
    if tree is None:
        return None
    own: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            own.add(node.id)
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.alias) and node.asname:
            own.add(node.asname)
    return own


def _documents(tree: ast.AST | None) -> set[tuple[int, int]]:
    return {
        (node.lineno, node.col_offset)
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


class Alphabet:
    """One character for every kind of token, the same for all answers that are compared."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def fingerprint(self, tokens: Iterable[Token]) -> CodeFingerprint:
        """All runs of ``RUN`` tokens, as copydetect keeps them."""
        row = "".join(
            self._known.setdefault(t.kind, chr(_FIRST + len(self._known) % 0x1FFFE)) for t in tokens
        )
        # Answers are short, so that every run is kept and none is left to the window's choice.
        return CodeFingerprint("answer", RUN, 1, filter=False, fp=io.StringIO(row))


def leave_out(print_: CodeFingerprint, runs: Iterable[int]) -> None:
    """Take runs out of a fingerprint; copydetect's own way expects that none comes twice."""
    print_.hashes -= set(runs)
    print_.hash_idx = {run: at for run, at in print_.hash_idx.items() if run in print_.hashes}
    size = len(print_.filtered_code)
    print_.token_coverage = get_token_coverage(print_.hash_idx, RUN, size)


def passages(
    one: CodeFingerprint, other: CodeFingerprint, tokens: tuple[list[Token], list[Token]]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Where two answers agree: beginnings and ends in the text of each, in order."""
    _, _, slices = compare_files(one, other)
    first, second = (
        _joined(
            [
                (row[int(a)].start, row[min(int(b), len(row)) - 1].end)
                for a, b in zip(*part, strict=True)
            ]
        )
        if len(part)
        else []
        for part, row in zip(slices, tokens, strict=True)
    )
    return first, second


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
