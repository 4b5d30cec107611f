"""In a lecture: which properties the class's checks fail right now, counted without a name.

A check in a notebook of the hub sends to a socket that is there only while an instructor's page is
on (:func:`grader.checks.cell.tell`). The system tells the page's process which account sends:
so each account counts once, by its latest check, and a forged one changes nobody else's. Kept, and
in memory alone, is a hash of the account with a key that ends with the process.
"""

import contextlib
import hashlib
import json
import secrets
import select
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.base.errors import Refused
from grader.base.files import write_whole
from grader.checks.exercise import find, identifiers
from grader.judge.feedback import inert_page

SECONDS = 5
"""After so many the page is written anew."""
FEW = 3
"""Smaller counts are not told: in a small room one could guess whose they are."""
_ACCOUNT = struct.Struct("3i")  # process, account, group


class Counts:
    """Of each exercise, the properties that the latest check of each account fails."""

    def __init__(self, topic: str) -> None:
        """For an assignment, or the topic in its name."""
        topic = topic.partition("_")[2] if topic[:1].isdigit() else topic
        every = [find(name) for name in identifiers() if name.partition(".")[0] == topic]
        if not every:
            topics = sorted({name.partition(".")[0] for name in identifiers()})
            raise Refused(f"no assignment on {topic!r}; there are {', '.join(topics)}")
        self.topic, self._key = topic, secrets.token_bytes(32)
        self.says = {e.id: {p.name: p.says for p in e.properties} for e in every}
        self.latest: dict[str, dict[bytes, frozenset[str]]] = {e.id: {} for e in every}

    def take(self, message: bytes, account: int) -> None:
        """Count a check in the place of the account's earlier one; drop what is none."""
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
            said = json.loads(message)
            fallen = frozenset(said["fallen"])
            who = hashlib.blake2b(str(account).encode(), key=self._key).digest()
            if fallen <= self.says[said["exercise"]].keys():
                self.latest[said["exercise"]][who] = fallen

    def rows(self) -> list[dict[str, Any]]:
        """Of each exercise that is checked how many accounts did, and what most of them fail."""
        rows = []
        for exercise, latest in self.latest.items():
            fallen = Counter(name for names in latest.values() for name in names)
            told = [(self.says[exercise][name], count) for name, count in fallen.most_common()]
            rows.append({"exercise": exercise, "checked": len(latest), "fallen": told})
        return [row for row in rows if row["checked"]]

    def page(self) -> str:
        """All of it as a page that asks for itself again."""
        facts = {"rows": self.rows(), "topic": self.topic, "few": FEW, "seconds": SECONDS}
        return inert_page("hub/lecture.html", "feedback.css", **facts)


@contextlib.contextmanager
def listening(place: Path) -> Iterator[socket.socket]:
    """A socket at a place to which every account may write, and which is gone at the end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            if not other.connect_ex(str(place)):
                raise Refused(f"a lecture is on already: {place} is in use")
        place.unlink(missing_ok=True)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        own.bind(str(place))
        try:
            place.chmod(0o622)
            yield own
        finally:
            place.unlink(missing_ok=True)


def show(counts: Counts, place: Path, page: Path) -> None:
    """Count what comes, and write the page again and again, until Ctrl-C; then both are gone."""
    try:
        with listening(place) as own:
            while True:
                write_whole(page, counts.page(), private=True)
                until = time.monotonic() + SECONDS
                while select.select([own], [], [], max(0, until - time.monotonic()))[0]:
                    message, more, *_ = own.recvmsg(4096, socket.CMSG_SPACE(_ACCOUNT.size))
                    # What the system says of its sender.
                    for level, kind, data in more:
                        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                            counts.take(message, _ACCOUNT.unpack(data[: _ACCOUNT.size])[1])
                    if time.monotonic() > until:
                        break
    finally:
        page.unlink(missing_ok=True)
