"""Files and folders that are there whole or not at all, and whether they have changed."""

import contextlib
import glob
import hashlib
import importlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from grader.base.errors import Refused

T = TypeVar("T")
# Seconds: nothing takes so long to write, so what is older was broken off. A file is held by
# its writer, where that can be, from a moment after it was made.
_STALE, _MOMENT = 86400, 5


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file whole or not at all; a private one is its owner's alone from the start.

    Folders that are missing are made; half a pair of surrogates becomes a question mark. Of several
    writers at once the last one stays.
    """
    with part_of(path) as part:
        flags, mode = os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666
        with os.fdopen(os.open(part, flags, mode), "wb") as file:
            _held(file.fileno())
            file.write(content if isinstance(content, bytes) else content.encode(errors="replace"))
        os.replace(part, path)


def write_changed(path: Path, content: str) -> bool:
    """Write a file whole unless it holds this text already, and stays; whether it was written."""
    if path.is_file() and path.read_bytes() == content.encode(errors="replace"):
        return False
    write_whole(path, content)
    return True


@contextlib.contextmanager
def part_of(path: Path) -> Iterator[Path]:
    """A place beside a file or folder that no other writer has; what is left there is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for part in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 8}.part"):
        with contextlib.suppress(OSError):
            if _forsaken(part):
                _remove(part)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        _remove(part)


def _held(descriptor: int) -> bool:
    """Hold a file unless somebody does; whether it was free. Windows has no such lock."""
    try:
        fcntl = importlib.import_module("fcntl")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _forsaken(part: Path) -> bool:
    age = time.time() - part.stat().st_mtime
    if part.is_dir() or age < _MOMENT:
        return age > _STALE
    with part.open("rb") as file:
        return age > _STALE or _held(file.fileno())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """A place beside a folder to fill; at the end it takes the folder's place, whole or not at all.

    If a run ends between the last two steps, :func:`recover` puts the old folder back.
    """
    recover(folder)
    with part_of(folder) as part:
        yield part
        old = _aside(folder)
        if folder.exists():
            folder.rename(old)
        part.rename(folder)
        shutil.rmtree(old, ignore_errors=True)


def recover(folder: Path) -> None:
    """Put back what a run that was broken off had moved aside."""
    old = _aside(folder)
    if old.exists() and not folder.exists():
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def read_json(path: Path, remedy: str, made: Callable[[Any], T], empty: Any = None) -> T:
    """What is ``made`` of a file of ours, or of ``empty`` where there is none."""
    try:
        return made(json.loads(path.read_text(encoding="utf-8")) if path.exists() else empty)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(f"{path} is damaged ({error}): {remedy}") from None


def placed(paths: Iterable[Path], base: Path) -> dict[str, Path]:
    """Files, in their order, by their places below ``base``."""
    return {path.relative_to(base).as_posix(): path for path in paths}


def digest(files: Mapping[str, Path], content: Callable[[Path], bytes] = Path.read_bytes) -> str:
    """SHA-256 over files in their order: their places, and ``content`` of each."""
    over = hashlib.sha256()
    for place, path in files.items():
        over.update(place.encode() + b"\0" + hashlib.sha256(content(path)).digest())
    return over.hexdigest()
