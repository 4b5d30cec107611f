"""Getting files from where they are published: a cache, checksums, and no half-written file.

A file is looked for in the folder that ``COURSE_DATA`` names, then in the cache, and is fetched
into the cache otherwise. Where ``COURSE_DATA`` is set nothing is fetched: whoever names a folder
wants that data, and perhaps has no network.
"""

import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pooch
import requests

from course_lib.data.errors import DataError

_TIMEOUT_S = 60


@dataclass(frozen=True)
class RemoteFile:
    """A published file: the name under which it is kept, where it is, its bytes and its checksum.

    The checksum is ``"md5:…"`` or ``"sha256:…"``.
    """

    name: str
    url: str
    size: int
    checksum: str


def data_dir() -> Path | None:
    """The folder named by ``COURSE_DATA``, or None if it is not set."""
    named = os.environ.get("COURSE_DATA", "")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise DataError(
            "COURSE_DATA names a folder that does not exist",
            folder,
            "create it and put the data in, or unset COURSE_DATA to have the files fetched",
        )
    return folder


def cache_dir() -> Path:
    """Where fetched files are kept: ``COURSE_CACHE``, else the user's cache folder."""
    named = os.environ.get("COURSE_CACHE", "")
    return Path(named).expanduser() if named else Path(pooch.os_cache("attention-course"))


def find(name: str) -> Path | None:
    """Look for a file or folder in ``COURSE_DATA``, then in the cache; None if it is in neither."""
    local = data_dir()
    for folder in (cache_dir(),) if local is None else (local, cache_dir()):
        if (folder / name).exists():
            return folder / name
    return None


def sha256_of(path: Path) -> str:
    """Hexadecimal SHA-256 of a file, computed once for each version of it."""
    stat = path.stat()
    return _sha256(path.resolve(), stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=64)
def _sha256(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(file: RemoteFile, progress: bool = True) -> Path:
    """Fetch a file into the cache, unless it is there with the right checksum.

    It is written under a temporary name and renamed once it is whole and verified.
    """
    local = data_dir()
    if local is not None:
        raise DataError(
            f"{file.name} is not there, and nothing is fetched while COURSE_DATA is set",
            local,
            f"put {file.name} there (from {file.url}), or unset COURSE_DATA",
        )
    folder = cache_dir()
    downloader = pooch.HTTPDownloader(progressbar=progress, timeout=_TIMEOUT_S)
    try:
        path = pooch.retrieve(file.url, file.checksum, file.name, folder, downloader=downloader)
    except requests.exceptions.RequestException as error:
        raise DataError(
            f"{file.name} ({file.size:,} bytes) cannot be fetched: {type(error).__name__}",
            file.url,
            "check the network and try again, or fetch the file on another machine and set "
            "COURSE_DATA to the folder that holds it",
        ) from error
    except ValueError as error:
        raise DataError(
            f"what was fetched for {file.name} is cut short or is another file: "
            f"its checksum is not {file.checksum}",
            file.url,
            "try again; if it happens again, the published file has changed: please report it",
        ) from error
    except OSError as error:
        raise DataError(
            f"{file.name} ({file.size:,} bytes) cannot be stored: {error.strerror or error}",
            folder,
            "make room or set COURSE_CACHE to a folder that can be written",
        ) from error
    return Path(path)


def get(file: RemoteFile, download: bool = True, progress: bool = True) -> Path:
    """Find a file in ``COURSE_DATA`` or the cache, or fetch it; it has its sha256 checksum."""
    path = find(file.name)
    if path is None and not download:
        raise DataError(
            f"{file.name} is not on this machine",
            data_dir() or cache_dir(),
            f"set COURSE_DATA to a folder that holds it, or let it be fetched from {file.url}",
        )
    path = path or fetch(file, progress)
    checksum = f"sha256:{sha256_of(path)}"
    if checksum != file.checksum:
        raise DataError(
            f"{file.name} is not the published file: its checksum is {checksum}",
            path,
            f"delete it and try again, or copy the file from {file.url} there",
        )
    return path


def unpack(archive: Path, folder: str, members: Sequence[str]) -> Path:
    """Unpack ``members`` of a tar archive as the folder ``folder`` beside it.

    They are unpacked under a temporary name and the folder renamed once it is complete.
    """
    target = archive.parent / folder
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".unpacking-") as temporary:
        try:
            with tarfile.open(archive) as tar:
                for name in members:
                    source = tar.extractfile(f"{folder}/{name}")
                    if source is None:
                        raise KeyError(name)
                    with source, (Path(temporary) / name).open("wb") as out:
                        shutil.copyfileobj(source, out)
        except (KeyError, EOFError, tarfile.TarError, OSError) as error:
            raise DataError(
                f"{archive.name} cannot be unpacked: {error}",
                archive,
                "delete it and try again; it needs room for the unpacked files too",
            ) from error
        if target.exists():
            shutil.rmtree(target)
        os.chmod(temporary, 0o755)
        os.replace(temporary, target)
        # The file that the context manager removes must exist.
        os.mkdir(temporary)
    return target
