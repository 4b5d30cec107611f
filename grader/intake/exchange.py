"""Files of nbgrader's exchange beside a submission: when it came, and the key to its feedback.

Both lie in a folder that a student once wrote to, so they are read as carefully as the notebook.
"""

import os
import secrets
import stat
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from nbgrader.utils import parse_utc

from grader.intake import times
from grader.intake.parsing import OPEN

TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"
MAX_BYTES = 200


@dataclass(frozen=True)
class ExchangeFiles:
    """The small files beside a submission that may go on to nbgrader, and what is wrong."""

    # contents by name: what is readable and makes sense
    files: dict[str, str] = field(default_factory=dict)
    submitted: datetime | None = None  # in UTC, without a zone, as nbgrader keeps it
    notes: tuple[str, ...] = ()  # what an instructor should know


def read_exchange_files(folder: Path) -> ExchangeFiles:
    """Read the small files of a submission."""
    files, notes, submitted = {}, [], None
    for name in (TIMESTAMP, SECRET):
        path = folder / name
        if not os.path.lexists(path):
            continue
        try:
            content = _small(path)
            if name == TIMESTAMP:
                # nbgrader takes any third word for the name of a zone.
                submitted = parse_utc(times.read(content) or content.strip())
            files[name] = content
        except Exception as error:
            notes.append(f"`{name}` cannot be read ({error}); graded as if it were not there.")
    return ExchangeFiles(files, submitted, tuple(notes))


def _small(path: Path) -> str:
    descriptor = os.open(path, OPEN)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is no file")
        content = file.read(MAX_BYTES + 1)
    if not content.strip():
        raise ValueError("it is empty")
    if len(content) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES} bytes")
    return content.decode("ascii")


def placeholder_files() -> dict[str, str]:
    """Placeholders, so that ``nbgrader release_feedback`` goes on; they take feedback to nobody."""
    return {TIMESTAMP: "1970-01-01 00:00:00 UTC", SECRET: secrets.token_hex(16)}
