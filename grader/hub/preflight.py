"""Preflight of a hub, before anything is started."""

import os
import platform
import re
import shutil
import socket
import stat
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from grader.base.course import course
from grader.hub import accounts
from grader.hub.settings import HubSettings
from grader.hub.software import reachable


def machine(place: HubSettings, root: Path) -> list[str]:
    """Faults of this machine or the checkout before anything can be made, and what to do."""
    if platform.system() != "Linux":
        return [f"a hub on one machine needs Linux, and this is {platform.system()}"]
    return [*_tools(place), *_course(place, root), *_notebooks(root), *_ports(place)]


def _tools(place: HubSettings) -> Iterator[str]:
    if not accounts.is_root():
        yield (
            "every student's server runs in the student's own account, which takes root: run it"
            " with sudo"
        )
    for tool in ("useradd", "groupadd", "usermod", "chpasswd"):
        if not shutil.which(tool, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
            yield f"`{tool}` is not there, so no accounts can be made"
    if not shutil.which("node", path=place.path):
        yield (
            f"node is not in {place.path}; the hub's proxy is a program for it. Install it"
            " (Debian: apt-get install nodejs npm)"
        )
    if not place.proxy.exists() and not shutil.which("npm"):
        yield (
            f"the proxy is not at {place.proxy}, and npm, which installs it, is not there either:"
            " install npm (Debian: apt-get install npm)"
        )
    for folder in (place.software, place.state):
        there = next(path for path in (folder, *folder.parents) if path.exists())
        if not reachable(there):
            yield (
                f"{there} is closed to other accounts, so nothing below it serves them: open it, or"
                f" name another folder in {place.file.name}"
            )


def _course(place: HubSettings, root: Path) -> Iterator[str]:
    file = root / "nbgrader_config.py"
    here = re.search(r"course_id\s*=\s*[\"']([^\"']*)", file.read_text() if file.exists() else "")
    if here is None:
        yield f"{file} names no `course_id`"
    elif here[1] != place.course:
        yield (
            f"{place.file.name} calls the course {place.course!r} and {file.name} calls it"
            f" {here[1]!r}: nobody would see what is released. Write the same name into both"
        )


def _notebooks(root: Path) -> Iterator[str]:
    texts = sorted(root.glob("solutions/*/[0-9][0-9]_*.md"))
    missing = [text.stem for text in texts if not text.with_suffix(".ipynb").exists()]
    if missing:
        yield (
            f"no notebook of {', '.join(missing)} in {root / 'solutions'}: `course exercises"
            " --check` makes them"
        )


def _ports(place: HubSettings) -> Iterator[str]:
    ports = {"port": (place.address, place.port)}
    for name in ("hub_port", "proxy_port", "service_port"):
        ports[name] = ("127.0.0.1", getattr(place, name))
    for name, (address, port) in ports.items():
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError as error:
                yield (
                    f"{address}:{port} is not free ({error.strerror}): end what listens there,"
                    f" perhaps this hub in another terminal, or change `{name}` in"
                    f" {place.file.name}"
                )


def made(place: HubSettings) -> list[str]:
    """Faults of what has been made, or was there already, and what to do."""
    return [*_programs(place), *_members(place), *_exchange(place), *_databases(place)]


def _programs(place: HubSettings) -> Iterator[str]:
    for path in (place.bin / "python", place.library / "grader", place.etc):
        if not reachable(path):
            yield (
                f"students' accounts cannot read {path.resolve()}: open it, and all folders above"
                " it, to everybody"
            )
    packages = place.software.glob("venv/lib/python3*/site-packages/*")
    for second in (path for path in packages if path.name in course().names):
        # A judge leaves out every folder that holds the library, and with it all others there.
        yield f"{second} is a second copy of the library: remove it"
    if not place.proxy.exists():
        yield f"the proxy is not at {place.proxy}"


def _members(place: HubSettings) -> Iterator[str]:
    instructors, students = accounts.members(place.instructors), accounts.members(place.students)
    for name in sorted(instructors & students):
        yield (
            f"{name} is in both {place.instructors} and {place.students}: leave one"
            f" (`gpasswd --delete {name} {place.students}`)"
        )
    for name in sorted({place.grader, "root"} & (instructors | students)):
        yield f"{name} is a member of the course: nobody should log in as {name}"
    for name in sorted(instructors | students):
        if not accounts.exists(name):
            yield f"{name} is in a group of the course, but there is no such account"


def _databases(place: HubSettings) -> Iterator[str]:
    code = "import sqlalchemy, sys; sqlalchemy.create_engine(sys.argv[1]).connect()"
    command = [str(place.bin / "python"), "-c", code]
    as_grader = partial(accounts.as_grader, place)
    for key, run in (("hub_database", subprocess.run), ("gradebook", as_grader)):
        if not (address := getattr(place, key)):
            continue
        done = run([*command, address], capture_output=True, text=True)
        if done.returncode:
            # The first line of what the driver says, without the traceback above it.
            lines = [line for line in done.stderr.splitlines() if "Error" in line and ":" in line]
            message = lines[-1] if lines else done.stderr.strip()[-300:]
            yield f"`{key}` of {place.file.name} cannot be reached: {message}"


def _exchange(place: HubSettings) -> Iterator[str]:
    """True if every account may write into the exchange, and the grader into the course's part."""
    folder, course = place.exchange, place.exchange / place.course
    bits = stat.S_IROTH | stat.S_IWOTH | stat.S_IXOTH
    if not folder.is_dir():
        yield f"there is no exchange at {folder}"
    elif os.statvfs(folder).f_flag & os.ST_RDONLY:
        yield f"the exchange {folder} lies on a disk that cannot be written"
    elif folder.stat().st_mode & bits != bits or not reachable(folder):
        yield (
            f"the exchange {folder} is {stat.filemode(folder.stat().st_mode)}, so students could"
            f" not hand in: `chmod 1777 {folder}`, and all folders above it open to all"
        )
    elif course.is_dir() and accounts.exists(place.grader) and course.owner() != place.grader:
        yield (
            f"{course} belongs to {course.owner()}, so {place.grader} could not release:"
            f" `chown -R {place.grader} {course}`"
        )
