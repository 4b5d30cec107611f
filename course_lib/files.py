"""Files and folders that are there whole or not at all, and whether they have changed."""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file whole or not at all; a private one is its owner's alone from the start.

    Folders that are missing are made; half a pair of surrogates becomes a question mark.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode(errors="replace"))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """A place beside a folder to fill; at the end it takes the folder's place, whole or not at all.

    A run that ends between the last two steps leaves no folder: :func:`recover` puts the old one
    back.
    """
    part, old = _beside(folder)
    recover(folder)
    yield part
    if folder.exists():
        folder.rename(old)
    part.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def recover(folder: Path) -> None:
    """Put back what a run that was broken off had moved aside, and take away what it had begun."""
    part, old = _beside(folder)
    shutil.rmtree(part, ignore_errors=True)
    if old.exists() and not folder.exists():
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _beside(folder: Path) -> tuple[Path, Path]:
    """Where the new folder grows, and where the old one goes for a moment."""
    return folder.with_name(f".{folder.name}.part"), folder.with_name(f".{folder.name}.old")


def placed(paths: Iterable[Path], base: Path) -> dict[str, Path]:
    """Files, in their order, by their places below ``base``."""
    return {path.relative_to(base).as_posix(): path for path in paths}


def digest(files: Mapping[str, Path], content: Callable[[Path], bytes] = Path.read_bytes) -> str:
    """SHA-256 over files in their order: their places, and ``content`` of each."""
    over = hashlib.sha256()
    for place, path in files.items():
        over.update(place.encode() + b"\0" + hashlib.sha256(content(path)).digest())
    return over.hexdigest()
