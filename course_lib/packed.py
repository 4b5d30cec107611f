"""Archives: many small files in one that any unzip reads; the same files give the same bytes."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from grader.base.errors import Refused
from grader.base.files import write_whole


def contents(path: Path) -> dict[Path, bytes]:
    """What a file holds: itself, or an archive's members, as if they lay in a folder beside it."""
    if path.suffix != ".zip":
        return {path: path.read_bytes()}
    found: dict[Path, bytes] = {}
    name = ""
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                found[path.with_suffix("") / PurePosixPath(name).name] = archive.read(name)
    except OSError:
        raise
    except Exception as error:  # zipfile raises ten kinds of them on damaged bytes
        raise Refused(
            f"{path} is damaged{name and f' at {name}'} ({error}): `git checkout -- {path.name}` in"
            " its folder brings back what was committed"
        ) from error
    return found


def pack(path: Path, files: Mapping[str, bytes]) -> None:
    """Write an archive whole or not at all, its members in the order of their names."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name in sorted(files):
            member = zipfile.ZipInfo(name)  # dated 1980, whenever it is written
            member.create_system, member.external_attr = 3, 0o644 << 16  # the same on all systems
            archive.writestr(member, files[name], zipfile.ZIP_DEFLATED, 9)
    write_whole(path, held.getvalue())
