"""Packages in a worker: what the course requires, and nothing else."""

import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from grader.base.course import course
from grader.base.errors import Refused

# Program of `!pip install` in a notebook; it finds no network.
TOOLS = ("pip",)
# Packages that checks and workers import themselves, whatever the course requires.
_OWN = ("ipykernel", "ipywidgets", "numpy", "torch", "tqdm")
# What of it torch requires for its compiler alone.
_COMPILERS = {"mpmath", "networkx", "sympy"}
_COURSE = course().distribution


def required(first: str = _COURSE) -> Iterator[importlib.metadata.Distribution]:
    """Everything that the course requires, and that requires in turn; or of a worker alone."""
    waiting: list[tuple[str, tuple[str, ...]]] = [(name, ()) for name in (first, *_OWN, *TOOLS)]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        wanted = waiting.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        name, extras = wanted
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            if name == _COURSE:
                raise Refused(
                    f"{_COURSE} is not installed in {sys.prefix}, so nothing says which packages an"
                    " answer needs: `make install`, or `pip install -e .`"
                ) from None
            continue  # Required elsewhere, or provided by a package of another name.
        if name != _COURSE:
            yield distribution
        waiting += _required(distribution, extras)


def _required(
    distribution: importlib.metadata.Distribution, extras: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in distribution.requires or ():
        if "extra ==" in line and not extras:
            continue  # Most lines are of this kind, and reading one takes long.
        wanted = Requirement(line)
        marker = wanted.marker
        if not marker or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield wanted.name.lower(), tuple(sorted(wanted.extras))


def beyond() -> Iterator[importlib.metadata.Distribution]:
    """What of it an answer has no need of where something is forbidden, nor its shell."""
    needed = {distribution.name for distribution in required(_OWN[0])} - _COMPILERS
    return (distribution for distribution in required() if distribution.name not in needed)


def others() -> set[str]:
    """Names of the installed packages that a grader's worker does not have.

    A package may keep copies of others inside, and show them by ``sys.path`` (setuptools does).
    """
    needed = list(required())
    homes = {Path(str(one.locate_file(""))) for one in needed}
    copies = (
        d
        for d in importlib.metadata.distributions()
        if homes & {*Path(str(d.locate_file(""))).parents}
    )
    there = {canonicalize_name(distribution.name) for distribution in (*needed, *copies)}
    return {
        name
        for name, sources in importlib.metadata.packages_distributions().items()
        if not there & {canonicalize_name(source) for source in sources}
    } - {*course().names, "test", *sys.stdlib_module_names}
