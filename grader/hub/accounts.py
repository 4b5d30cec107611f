"""System accounts of a hub: the grader's, those of a demo, and the folders they share.

Only accounts whose home was made in the hub's own folder are ever changed or removed.
"""

import grp
import os
import pwd
import secrets
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.base.course import FILE, course
from grader.base.errors import Refused
from grader.base.files import replaced
from grader.hub.settings import HubSettings

# Files of a checkout that the grader needs; the answers stay there, once they are.
_KEPT = ("solutions", "exercises")
_COPIED = (FILE, "pyproject.toml", "nbgrader_config.py")


def members(group: str) -> set[str]:
    """The accounts in a group of the system; none if there is no such group."""
    try:
        return set(grp.getgrnam(group).gr_mem)
    except KeyError:
        return set()


def exists(name: str) -> bool:
    """Tell whether there is an account of that name."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def ours(place: HubSettings, name: str) -> bool:
    """Tell whether an account was made here."""
    return exists(name) and Path(pwd.getpwnam(name).pw_dir) == place.home / name


def _system(*command: str, given: str | None = None) -> None:
    done = subprocess.run(command, input=given, capture_output=True, text=True)
    if done.returncode:
        message = (done.stderr or done.stdout).strip()
        raise Refused(f"`{command[0]}` failed for {command[-1]}: {message}")


def _account(place: HubSettings, name: str, group: str = "") -> None:
    if exists(name) and not ours(place, name):
        raise Refused(
            f"{name} is an account of this machine that was not made here: write another name into"
            f" {place.file}"
        )
    if not exists(name):
        usual = "--user-group --no-create-home --shell /bin/bash".split()
        more = ("--comment", f"hub of the course {place.course}", "--home-dir", place.home / name)
        _system("useradd", *usual, *map(str, more), name)
    home = place.home / name
    if not home.exists():
        home.mkdir(mode=0o700)
        shutil.chown(home, name, name)
    if group and name not in members(group):
        _system("usermod", "--append", "--groups", group, name)


def _ensure(folder: Path, mode: int) -> None:
    if not folder.exists():
        folder.mkdir(parents=True)
        folder.chmod(mode)


def folders(place: HubSettings, root: Path) -> None:
    """Make what is missing: groups, exchange, configuration, and the grader with its checkout."""
    for group in (place.instructors, place.students):
        _system("groupadd", "--force", group)
    for folder, mode in ((place.state, 0o755), (place.home, 0o755), (place.hub, 0o700)):
        _ensure(folder, mode)
    # As /tmp: everybody writes, and nobody moves what belongs to others.
    _ensure(place.exchange, 0o1777)
    # Instructors open a socket there; others reach it by its name.
    lecture = place.lecture.parent
    _ensure(lecture, 0o771)
    shutil.chown(lecture, group=place.instructors)
    _account(place, place.grader)
    released = place.exchange / place.course
    if not released.exists():
        released.mkdir(mode=0o755)
        shutil.chown(released, place.grader, place.grader)
    with replaced(place.etc) as configuration:
        shutil.copytree(root / "deploy" / "local" / "etc", configuration)
        shutil.copy(place.file, configuration / "hub.toml")
        for path in [configuration, *configuration.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    _copy(place, root, (*course().names, *_COPIED))
    missing = [kind for kind in _KEPT if not (place.checkout / kind).exists()]
    if missing:
        _copy(place, root, missing)


def _copy(place: HubSettings, root: Path, names: Sequence[str]) -> None:
    """Copy parts of the checkout into the grader's, as the grader: root follows no link there."""
    as_grader(place, ["mkdir", "-p", "-m", "700", str(place.checkout)], cwd=Path("/"), check=True)
    if packages := [name for name in course().names if name in names]:
        as_grader(place, ["rm", "-rf", *packages], check=True)
    pack = ["tar", "-C", str(root), "--exclude=__pycache__", "-c", *names]
    with subprocess.Popen(pack, stdout=subprocess.PIPE) as packed:
        as_grader(place, ["tar", "--no-same-permissions", "-x"], stdin=packed.stdout, check=True)
    if packed.returncode:
        raise Refused(f"{root}: could not be copied for {place.grader}")


def renew(place: HubSettings, root: Path) -> None:
    """Give the grader the checkout's answers and releases in the place of its own."""
    _copy(place, root, _KEPT)


def stale(place: HubSettings, root: Path) -> list[str]:
    """The assignments whose text is another in the grader's copy than in the checkout."""
    names = []
    for source in sorted(root.glob("solutions/*/[0-9][0-9]_*.md")):
        copy = place.checkout / source.relative_to(root)
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            names.append(source.stem)
    return names


def grader_environment(place: HubSettings) -> dict[str, str]:
    """The variables of the grader's account; none of the hub's secrets is among them."""
    elsewhere = {"COURSE_GRADEBOOK": place.gradebook} if place.gradebook else {}
    return elsewhere | {
        "PATH": place.path,
        "HOME": str(place.home / place.grader),
        "USER": place.grader,
        "LOGNAME": place.grader,
        "LANG": "C.UTF-8",
        "JUPYTER_CONFIG_PATH": place.config_path("grader"),
        # The judge wants the library that belongs to the answers beside it.
        "PYTHONPATH": str(place.checkout),
    }


def as_grader(
    place: HubSettings, command: Sequence[str], *, cwd: Path | None = None, **more: object
) -> subprocess.CompletedProcess[str]:
    """Run a command in the grader's account, in its copy of the course."""
    user = pwd.getpwnam(place.grader)
    account = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "umask": 0o077}
    more |= {"cwd": cwd or place.checkout, "env": grader_environment(place)} | account
    return subprocess.run(list(command), **more)  # type: ignore[call-overload]


def demo(place: HubSettings) -> dict[str, str]:
    """Make the demo's accounts; their new passwords by name, which are kept nowhere."""
    _account(place, place.demo_instructor, place.instructors)
    for student in place.demo_students:
        _account(place, student, place.students)
    passwords = {
        name: secrets.token_urlsafe(9) for name in (place.demo_instructor, *place.demo_students)
    }
    lines = "".join(f"{name}:{password}\n" for name, password in passwords.items())
    _system("chpasswd", given=lines)
    return passwords


def remove(place: HubSettings, names: Iterable[str]) -> list[str]:
    """Remove accounts that were made here, with their homes; those that were removed."""
    gone = [name for name in names if ours(place, name)]
    for name in gone:
        _system("userdel", name)
        shutil.rmtree(place.home / name)
    return gone


def is_root() -> bool:
    """Tell whether this process may make accounts and become another."""
    return os.geteuid() == 0
