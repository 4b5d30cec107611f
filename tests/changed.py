"""Tests that can see a change: from what has changed, names are followed back to their users."""

import ast
import json
import re
from collections import defaultdict
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import resolve_name
from pathlib import Path

from grader.base.files import write_whole
from grader.base.reach import FOLDERS, drop_docstrings

ROOT = Path(__file__).parents[1]
# Modules that find others while they run, and the folders of those: a user may run all of them.
FINDERS = {
    "grader.checks.exercise": "course_lib/bank",
    "course_lib.claims.ledger": "course_lib/claims",
    "course_lib.experiments": "course_lib/experiments",
    "course_lib.figures": "course_lib/figures",
    "course_tests.parity.peers": "tests/parity/peers",
}
# Tests name modules of these packages in strings: `masks.causal_mask`.
NAMED = ("bank", "figures", "experiments")
DEFINITION = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
IMPORT = ast.Import, ast.ImportFrom


def facts(source):
    """A file's imports, and of each statement the names it defines, those it uses, its words."""
    tree = ast.parse(source)
    drop_docstrings(tree)
    nodes = [node for node in ast.walk(tree) if isinstance(node, IMPORT)]
    statements = [s for s in tree.body if not isinstance(s, IMPORT)]
    return [
        [found for node in nodes for found in imports(node)],
        [[defined(s), sorted({*used(s)}), sorted({*words(s)})] for s in statements],
    ]


def imports(node):
    """Each name with the module that it is from, and its name there; ``""`` for a whole module."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, "." * node.level + (node.module or ""), alias.name
        else:
            yield alias.asname or alias.name, alias.name, ""
            yield from [] if alias.asname else [(*[alias.name.partition(".")[0]] * 2, "")]


def defined(statement):
    if isinstance(statement, DEFINITION):
        return [statement.name]
    nodes = [*ast.walk(statement)]
    loops = [node.target for node in nodes if isinstance(node, ast.comprehension)]
    inner = {id(node) for target in loops for node in ast.walk(target)}
    stored = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    names = {node.id for node in stored if id(node) not in inner}
    return sorted(names.union(node.name for node in nodes if isinstance(node, DEFINITION)))


def used(statement):
    """Dotted names, without those of annotations."""
    todo = [(statement, ())]
    while todo:
        node, rest = todo.pop()
        if isinstance(node, ast.Attribute):
            todo.append((node.value, (node.attr, *rest)))
        elif isinstance(node, ast.Name):
            yield ".".join([node.id, *rest])
        else:
            fields = {**dict(ast.iter_fields(node)), "annotation": None, "returns": None}.values()
            parts = [part for f in fields for part in (f if isinstance(f, list) else [f])]
            todo += [(part, ()) for part in parts if isinstance(part, ast.AST)]


def words(statement):
    said = (node.value for node in ast.walk(statement) if isinstance(node, ast.Constant))
    return (w for w in said if isinstance(w, str) and re.fullmatch(r"\S{1,100}", w))


class Users:
    """Every definition of the course, of the grader and of the tests, with those that use it.

    A definition is a module and a name; ``"*"`` is all that a module defines, and ``""`` is the
    file, with what it imports and what the conftest files above it do.
    """

    def __init__(self):
        self.of = {}
        for package, folder in FOLDERS.items():
            for path in (ROOT / folder).rglob("*.py"):
                parts = path.relative_to(ROOT / folder).with_suffix("").parts
                self.of[path] = ".".join((package, *parts)).removesuffix(".__init__")
        self.files = {module: path for path, module in self.of.items()}
        self.defined, self.imported, self.users = {}, {}, defaultdict(set)
        read = self._facts()
        for module, (imported, statements) in read.items():
            whole = self.files[module].name == "__init__.py"
            package = module if whole else module.rpartition(".")[0]
            self.defined[module] = {name for names, *_ in statements for name in names}
            self.imported[module] = defaultdict(list)
            for name, base, own in imported:
                target = resolve_name(base, package), (own,) * bool(own)
                self.imported[module][name].append(target)
        for module, (_, statements) in read.items():
            self._follow(module, statements)

    def _facts(self):
        """Read every file once: what is known of a file is kept by its content."""
        kept, known, own = ROOT / "_build" / "uses.json", {}, Path(__file__).read_bytes()
        with suppress(OSError, ValueError):
            known = json.loads(kept.read_text())
        keys, new = {}, {}
        for module, path in self.files.items():
            source = path.read_bytes()
            keys[module] = key = sha256(own + source).hexdigest()
            with suppress(SyntaxError):
                new[key] = known[key] if key in known else facts(source)
        if new.keys() != known.keys():
            write_whole(kept, json.dumps(new))
        return {module: new.get(key, ((), ())) for module, key in keys.items()}

    def _follow(self, module, statements):
        path, file = self.files[module], (module, "")
        self.users[module, "*"].add(file)
        for targets in self.imported[module].values():
            for base, own in targets:
                self._use(base, own, file)
        above = (self.of.get(p / "conftest.py") for p in path.parents if p != ROOT / "tests")
        for conftest in filter(None, above):
            self.users[conftest, ""].add(file)
        for names, uses, said in statements:
            for word in said:
                place = word.replace("-", "_")
                modules = (
                    f"course_lib.{f}.{place}{end}" for f in NAMED for end in ("", "_answers")
                )
                for other in filter(self.files.__contains__, modules):
                    self.users[other, "*"].add(file)
            for symbol in [(module, name) for name in names] or [file]:
                self.users[symbol].add((module, "*"))
                for dotted in uses:
                    head, *rest = dotted.split(".")
                    if head in self.defined[module] or head in self.imported[module]:
                        self._use(module, (head, *rest), symbol)
                if any(u.endswith(("import_module", "__import__")) for u in uses):
                    self._find(path, symbol)

    def _use(self, module, names, by, seen=frozenset()):
        """Follow names through imports to where they are defined."""
        if module not in self.files or (module, names) in seen:
            return
        head, rest = names[:1], names[1:]
        if not head or head[0] in self.defined[module]:
            self.users[module, head[0] if head else "*"].add(by)
        # Where a function of a package imports a module of it, the name is the module's.
        elif targets := [t for t in self.imported[module].get(head[0], ()) if t != (module, head)]:
            for base, own in targets:
                self._use(base, own + rest, by, seen | {(module, names)})
        else:
            self._use(f"{module}.{head[0]}", rest, by, seen)

    def _find(self, path, symbol):
        """A module that imports by names which it computes may import all beside it."""
        apart = path.parent in (ROOT / "tests", ROOT / "grader" / "checks")
        if not apart and path.parent.name not in NAMED and not path.match("test_*.py"):
            for other in path.parent.glob("*.py"):
                self.users[self.of[other], "*"].add(symbol)

    def reached(self, changed, search=True):
        """The files that can see one of the changed ones; ``search``: also by finding it."""
        modules = {module for path in changed for module in self._beside(path)}
        for finder, folder in FINDERS.items():
            if search and any(ROOT / folder in path.parents for path in changed):
                modules.add(finder)
        todo = [(module, name) for module in modules for name in (*self.defined[module], "*", "")]
        seen = set(todo)
        while todo:
            todo += (new := self.users.get(todo.pop(), set()) - seen)
            seen |= new
        return {self.files[module] for module, name in seen if name == ""}

    def _beside(self, path):
        """The module itself; of a data file the module of its name, or all that lie beside it."""
        own = [self.of[p] for p in (path, path.with_suffix(".py")) if p in self.of]
        records = ROOT / "book" / "results"
        if records in path.parents:
            return [m for m, p in self.files.items() if '"results"' in p.read_text("utf-8")]
        return own[:1] or [
            self.of[p] for p in path.parent.glob("*.py") if path.suffix != ".py" and p in self.of
        ]


USERS = cache(Users)


@cache
def reached(changed, search=True):
    return USERS().reached(changed, search)
