"""Root file system of a worker: Python, the course's packages, a shell, the library.

Folders are named one by one, so what else lies on the machine is not there: the exchange and
``/usr/local/share`` above it, configuration with passwords, other packages, other people's work.
"""

import importlib.metadata
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from grader.judge.packages import TOOLS, beyond, required
from grader.judge.sandbox import KIT

# `!` lines need a shell and its programs, `torch.compile` a compiler and its headers, pictures
# fonts, and dates the zones. `/etc/alternatives` holds nothing but links to programs and libraries.
_SYSTEM = (
    "/usr/bin /bin /usr/include /usr/lib/gcc /usr/libexec/gcc /usr/lib/locale /usr/lib/terminfo "
    "/lib/terminfo /usr/share/terminfo /usr/share/zoneinfo /usr/share/fonts /usr/share/fontconfig "
    "/usr/share/matplotlib /etc/ld.so.cache /etc/alternatives /etc/fonts /etc/localtime "
    "/proc/cpuinfo /proc/meminfo /sys/devices/system/cpu"
).split()
_LINKS = ("/bin", "/lib", "/lib32", "/lib64", "/libx32")
# Folders that hold nothing but the system's shared libraries, wherever distributions put them.
_LIBRARIES = re.compile(r"(/usr)?/lib(32|64|x32)?(/[\w-]+-linux-[\w-]+)?")


def mounts(package: Path) -> list[tuple[str, str]]:
    """Pairs of a path in the root file system and what is seen there, in the order to mount them.

    A second part that is empty makes a new, empty folder; one that is a link is copied as a link.
    The folder of :func:`.sandbox_package.build` is seen as ``/kit``.
    """
    users = str(package / "passwd")
    return [*_of_python(), ("/etc/passwd", users), (KIT, str(package))]


@cache
def _of_python() -> tuple[tuple[str, str], ...]:
    views = {path: path for path in _LINKS if os.path.islink(path)}
    # Beside Python's own: OpenSSL and others of a conda environment.
    prefixes = Path(sys.base_prefix), Path(sys.prefix)
    beside = {str(path) for prefix in prefixes for path in prefix.glob("lib/*.so*")}
    libraries = {*map(_home, _loaded()), *beside}
    system = {folder for folder in map(os.path.dirname, libraries) if _LIBRARIES.fullmatch(folder)}
    loaders = [str(p) for lib in ("/lib", "/lib64", "/lib32") for p in Path(lib).glob("ld-*.so*")]
    exact = {"platbase": sys.base_exec_prefix, "base": sys.base_prefix}
    standard = {sysconfig.get_path(name, vars=exact) for name in ("stdlib", "platstdlib")}
    paths = {*map(_home, (*_SYSTEM, *loaders)), *system, *standard}
    whole = sorted(path for path in paths if not _inside(path, paths))
    views |= {path: path for path in whole if path not in views and os.path.lexists(path)}
    # A distribution's own packages lie inside its standard library, or beside its libraries.
    covered = {
        str(folder): ""
        for path in whole
        for pattern in ("", "python3*/")
        for kind in ("site-packages", "dist-packages")
        for folder in Path(path).glob(pattern + kind)
    }
    packages = (path for distribution in required() for path in _contents(distribution))
    single = {path: os.path.realpath(path) for path in [*_interpreters(), *packages]}
    for path in libraries:
        # `libx.so` is mostly a link to `libx.so.1` beside it, which costs no mount.
        while os.path.islink(path) and "/" not in (target := os.readlink(path)):
            single[path], path = path, os.path.join(os.path.dirname(path), target)
        single[path] = os.path.realpath(path)
    seen = {p: s for p, s in single.items() if not _inside(p, whole) or _inside(p, covered)}
    return tuple({**views, **covered, **seen}.items())


def unneeded() -> list[str]:
    """Folders and files of the packages that are gone where something is forbidden."""
    found = {path for distribution in beyond() for path in _contents(distribution)}
    return sorted(path for path in found if not path.endswith((".dist-info", ".libs")))


def _home(path: str) -> str:
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _inside(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _loaded() -> list[str]:
    try:
        listed = Path("/etc/ld.so.cache").read_bytes()
    except OSError:
        return ["/lib/libc.so", "/usr/lib/libc.so"]
    return sorted({os.fsdecode(path) for path in re.findall(rb"/[^\0]+\.so[^\0]*", listed)})


def _interpreters() -> Iterator[str]:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for executable in {sys.executable, getattr(sys, "_base_executable", sys.executable)}:
        folder = os.path.dirname(executable)
        names = {os.path.basename(executable), "python", "python3", version, *TOOLS}
        # Where a Python of an environment looks for the Python it was made from.
        for path in [*(f"{folder}/{name}" for name in names), f"{sys.prefix}/pyvenv.cfg"]:
            if os.path.isfile(path):
                yield path
    include = sysconfig.get_path("include")
    if os.path.isdir(include):
        yield include


def _contents(distribution: importlib.metadata.Distribution) -> set[str]:
    """Files of a distribution among the packages: its own folders, and files outside of them.

    A folder without ``__init__.py`` may be shared with other distributions.
    """
    home = str(distribution.locate_file(""))
    if record := distribution.read_text("RECORD"):
        files = [line.rsplit(",", 2)[0].strip('"') for line in record.splitlines()]
    else:  # Installed by a distribution's package manager, or long ago.
        names = (distribution.read_text("top_level.txt") or distribution.name).split()
        files = [*names, *(f"{name}.py" for name in names)]
    paths: set[str] = set()
    whole: set[str] = set()
    for file in files:
        first, *rest = file.split("/")
        if first in whole or first in ("", "..", "__pycache__"):
            continue
        path = os.path.join(home, first)
        if not rest or "." in first or os.path.isfile(os.path.join(path, "__init__.py")):
            whole.add(first)
        for part in rest if first not in whole else ():
            if os.path.isfile(os.path.join(path, "__init__.py")):
                break
            path = os.path.join(path, part)
        if "__pycache__" not in path and os.path.exists(path):
            paths.add(path)
    return paths
