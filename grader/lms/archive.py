"""An archive from outside, of which only single files are read: nothing is ever unpacked by name.

Where something is written is decided by the roster, so no path in an archive can lead anywhere;
entries that try are left out and named.
"""

import re
import stat
import zipfile
from pathlib import Path, PurePosixPath

from grader.base.errors import Refused
from grader.intake.parsing import MAX_SUBMISSION, plain

MAX_ENTRIES = 50_000
MAX_TOTAL = 16 * 2**30
# Text shrinks to a tenth, a page of zeros to a thousandth.
MAX_RATIO, RATIO_FROM = 400, 2**20
_NOISE = re.compile(r"(^|/)(__MACOSX|\.ipynb_checkpoints)/|(^|/)(\._[^/]*|\.DS_Store)$|/$")


def opened(path: Path) -> zipfile.ZipFile:
    """Open an archive."""
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise
    except Exception as error:  # zipfile raises ten kinds of them on damaged bytes
        raise Refused(f"{path}: {error}; download the system's whole .zip again") from None
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > MAX_TOTAL:
        archive.close()
        raise Refused(
            f"{path}: {len(entries)} files, or more than {MAX_TOTAL >> 30} GB: that is no class's"
            " work. Nothing was collected"
        )
    return archive


def entries(archive: zipfile.ZipFile) -> tuple[dict[str, zipfile.ZipInfo], list[str]]:
    """The files of an archive by their names, and what is wrong with those that are left out."""
    entries: dict[str, zipfile.ZipInfo] = {}
    problems = []
    for entry in archive.infolist():
        name = _name(entry)
        why = _danger(entry, name) or ("is there twice" if name in entries else "")
        if why:
            problems.append(f"{plain(name)}: left out, it {why}")
        elif not _NOISE.search(name):
            entries[name] = entry
    return entries, problems


def _name(entry: zipfile.ZipInfo) -> str:
    if entry.flag_bits & 0x800:
        return entry.filename
    try:
        # Many programs write UTF-8 and don't say so; read as cp437 it would hardly be UTF-8 too.
        return entry.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.filename


def _danger(entry: zipfile.ZipInfo, name: str) -> str:
    if "\0" in entry.orig_filename or "\\" in name:
        return "has a name that systems read differently"
    if name.startswith("/") or re.match("[A-Za-z]:", name) or ".." in PurePosixPath(name).parts:
        return "leads out of the archive"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "is a link"
    return "is encrypted" if entry.flag_bits & 1 else ""


def content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Contents of a file."""
    size = entry.file_size
    if size > MAX_SUBMISSION:
        raise Refused(f"has {size >> 20} MB, at most {MAX_SUBMISSION >> 20} are read")
    if size > RATIO_FROM and size > MAX_RATIO * entry.compress_size:
        raise Refused(f"grows from {entry.compress_size} bytes to {size >> 20} MB")
    try:
        with archive.open(entry) as file:
            return file.read(MAX_SUBMISSION + 1)
    except Exception as error:
        raise Refused(f"is damaged ({error})") from None
