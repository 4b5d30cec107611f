"""Modules of the library that an answer may use: one rule, at home and in grading.

An import of the rest gives stand-ins, so that it costs nothing by itself; whatever is done with one
says why it is not there. In grading there is nothing else (:mod:`grader.judge.sandbox_package`); at
home :func:`hidden` puts them in the place of the library.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from grader.base.course import course

LIBRARY = course().package
# Beside `check`.
PRESENT = (*course().answers,)
# Other modules that may be imported; all are required by the course.
PACKAGES = course().packages
_NAMED = [f"`{name}`" for name in PACKAGES]
# Modules that these need themselves, and where `check` comes from.
_NEEDED = {LIBRARY: ("", course().check, *PRESENT), "grader": ("", "base", "checks")}
# Message for a use of anything else, after the name of its module.
ABSENT = "is not there while your work is graded"
INSTEAD = "an answer stands on its own. Use what the notebook defines."
# Sentence about the packages that are left where something is gone.
NEEDED = "where an exercise forbids something, there are torch, numpy and what comes with Python"
# The same before anything has happened, for the head of every notebook.
RULE = (
    f"An answer stands on its own. Of `{LIBRARY}` it may use only "
    + ", ".join(f"`{name}`" for name in ("check", *PRESENT))
    + f". The rest of the library {ABSENT}, and every check says so if your answer uses it."
    + (" Of other packages there are " if PACKAGES else " Of other packages there is nothing")
    + " and ".join(filter(None, [", ".join(_NAMED[:-1]), *_NAMED[-1:]]))
    + ", besides what comes with Python: whatever else is on your own machine is missing there,"
    + " files of data as well, but not Python files that you hand in beside the notebook."
    + f" W{NEEDED[1:]} only." * bool(PACKAGES)
)


def absent(module: str) -> bool:
    """Tell whether a module is one of the library, or of the grader, that an answer can't use."""
    package, _, rest = module.partition(".")
    return package in _NEEDED and rest.partition(".")[0] not in _NEEDED[package]


class Absent:
    """Stands in for what a module would give; every use of it raises."""

    def __init__(self, module: str) -> None:
        self.__dict__["_module"] = module

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        # By the package that a student knows, wherever in it the thing is kept.
        module = ".".join(self.__dict__["_module"].split(".")[:2])
        raise ModuleNotFoundError(f"{module} {ABSENT}: {INSTEAD}", name=module)

    def __getattr__(self, name: str) -> Any:
        """Raise; what Python itself looks for is not there."""
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()


for _operator in (
    "call getitem iter len contains mro_entries int float index neg add radd sub rsub mul rmul"
    " truediv rtruediv matmul rmatmul pow rpow and or lt le gt ge enter"
).split():
    setattr(Absent, f"__{_operator}__", Absent._refuse)


class AbsentModule(ModuleType):
    """Stands in for a module, and for what is in it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        """A stand-in; a list of all names there is none, so an import of them raises."""
        stand_in = Absent(self.__name__)
        if name == "__all__":
            stand_in._refuse()
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in


class Finder(MetaPathFinder, Loader):
    """Finds a stand-in for a module of the library that is out of reach."""

    def __init__(self, known: Callable[[str], bool] = absent) -> None:
        self.known = known

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As the import system wants it."""
        return ModuleSpec(name, self, is_package=True) if self.known(name) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The stand-in."""
        return AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""


@contextlib.contextmanager
def hidden(names: Mapping[str, Any]) -> Iterator[None]:
    """Put stand-ins for what an answer can't use, also among ``names``; afterwards all is back."""
    packages = {name: vars(sys.modules[name]) for name in _NEEDED if name in sys.modules}
    modules = {name: module for name, module in sys.modules.copy().items() if absent(name)}
    within = [name.split(".") for name in modules if name.count(".") == 1]
    attributes = {(p, name): packages[p][name] for p, name in within if name in packages[p]}
    taken = {name: value for name, value in names.items() if absent(_origin(value))}
    finder = Finder()
    for name in modules:
        del sys.modules[name]
    for package, name in attributes:
        packages[package][name] = AbsentModule(f"{package}.{name}")
    if isinstance(names, dict):
        names.update({name: Absent(_origin(value)) for name, value in taken.items()})
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if absent(name)]:
            del sys.modules[name]
        sys.modules.update(modules)
        # An import of what was not loaded before has left its stand-in in the package.
        for own in packages.values():
            for name in [n for n, value in own.items() if isinstance(value, AbsentModule)]:
                del own[name]
        for (package, name), value in attributes.items():
            packages[package][name] = value
        if isinstance(names, dict):
            names.update(taken)


def _origin(value: Any) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    kinds = value.__mro__ if isinstance(value, type) else type(value).__mro__
    own = getattr(value, "__module__", None) if callable(value) else None
    modules = [str(name) for name in (own, *(kind.__module__ for kind in kinds))]
    return next(filter(absent, modules), "")
