"""The programs of a hub in a folder that every account can read: Python, proxy, library.

A Python below somebody's home is no use: a student's account could not start it. The library is a
copy beside that Python, not in it, because judges show all of their Python to students' code.
"""

import compileall
import hashlib
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from grader.base.course import FILE, course
from grader.base.errors import Refused
from grader.base.files import digest, placed, write_whole
from grader.hub.settings import HubSettings

PROXY = "configurable-http-proxy@4"
# Files of a checkout that the installation is made from.
# A hub may keep its memory and its gradebook on a server.
_EXTRAS = "grade,hub,postgres"
_PARTS = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", FILE)


def reachable(path: Path) -> bool:
    """Tell whether every account can get at a file or folder."""
    path = path.resolve()
    bits = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
    if not path.exists() or path.stat().st_mode & bits != bits:
        return False
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in path.parents)


def prepare(place: HubSettings, root: Path, say: Callable[[str], None] = print) -> None:
    """Install what is missing or was made from other requirements; copy the library."""
    place.software.mkdir(parents=True, exist_ok=True)
    _copy_library(place, root)
    _python(place, root, say)
    _proxy(place, say)


def _copy_library(place: HubSettings, root: Path) -> None:
    files = [root / name for name in _PARTS]
    for name in course().names:
        files += sorted((root / name).rglob("*"))
    files = [path for path in files if path.is_file() and "__pycache__" not in path.parts]
    now = digest(placed(files, root))
    stamp = place.library / ".copied"
    if stamp.exists() and stamp.read_text() == now:
        return
    stamp.unlink(missing_ok=True)
    for name in course().names:
        shutil.rmtree(place.library / name, ignore_errors=True)
    for path in files:
        write_whole(place.library / path.relative_to(root), path.read_bytes())
    for path in [place.library, *place.library.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    for name in course().names:
        compileall.compile_dir(place.library / name, quiet=1)
    stamp.write_text(now)


def _python(place: HubSettings, root: Path, say: Callable[[str], None]) -> None:
    made_from = b"".join((root / name).read_bytes() for name in ("pyproject.toml", _PARTS[1]))
    made_from += _EXTRAS.encode()
    stamp = place.software / "venv" / f".installed-{hashlib.sha256(made_from).hexdigest()[:16]}"
    if stamp.exists():
        return
    if not (place.bin / "pip").exists():
        python = _choose_python()
        say(f"making {place.software / 'venv'} from {python}")
        needs = "on Debian and Ubuntu it needs the package python3-venv"
        _run([str(python), "-m", "venv", str(place.software / "venv")], needs)
    say(f"installing the hub into {place.software / 'venv'}; that takes minutes, once")
    install = "-m pip install --quiet --disable-pip-version-check".split()
    what = ["-c", str(root / "constraints.txt"), "-e", f"{place.library}[{_EXTRAS}]"]
    source = "the hub's packages come from where pip is told to look"
    _run([str(place.bin / "python"), *install, *what], source)
    for old in (place.software / "venv").glob(".installed-*"):
        old.unlink()
    stamp.touch()


def _choose_python() -> Path:
    names = [f"python3.{minor}" for minor in (13, 12, 11)]
    pythons = [Path(sys.base_prefix, "bin", f"python3.{sys.version_info[1]}")]
    pythons += [Path(folder, name) for name in names for folder in ("/usr/local/bin", "/usr/bin")]
    for python in pythons:
        if reachable(python):
            return python
    raise Refused(
        f"no Python that every account can start: {sys.base_prefix} is closed to others, and"
        " /usr/bin has none from 3.11 to 3.13. Install the system's (Debian: apt-get install"
        " python3 python3-venv)"
    )


def _proxy(place: HubSettings, say: Callable[[str], None]) -> None:
    if place.proxy.exists():
        return
    if not shutil.which("npm"):
        raise Refused(
            f"the hub's proxy is not in {place.software / 'npm'}, and npm, which installs it, is"
            " not there either: install it (Debian: apt-get install nodejs npm)"
        )
    say(f"installing {PROXY} into {place.software / 'npm'}")
    (place.software / "npm").mkdir(exist_ok=True)
    install = "npm install --no-fund --no-audit --prefix".split()
    _run([*install, str(place.software / "npm"), PROXY], "it comes from npm's registry")


def _run(command: Sequence[str], remark: str) -> None:
    hidden = {"PIP_REQUIRE_VIRTUALENV", "PYTHONPATH"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(command, capture_output=True, text=True, umask=0o022, env=env, cwd="/")
    if done.returncode:
        message = (done.stderr or done.stdout).strip()[-1500:]
        raise Refused(f"`{' '.join(command[:4])} …` failed ({remark}):\n{message}")
