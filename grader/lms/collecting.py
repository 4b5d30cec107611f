"""A system's archive of submissions into ``submitted/``, where nbgrader and this grader look."""

import hashlib
import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from grader.base.errors import Refused
from grader.base.files import write_whole
from grader.intake import times
from grader.intake.exchange import TIMESTAMP, read_exchange_files
from grader.intake.parsing import MAX_MODULES, plain
from grader.lms import archive as archives
from grader.lms.csv_table import fold
from grader.lms.submissions import ArchiveFile, Submissions
from grader.records import roster
from grader.records.course_folder import lock


@dataclass
class HandIn:
    """Files of a student to collect: under which names, from where, and of when."""

    notebook: ArchiveFile
    files: dict[str, str]
    when: datetime | None
    digest: str = ""


class Collector:
    """An archive for one assignment; nothing is written before :meth:`apply`.

    The notebooks' names tell the assignment, unless it is given. The system's times are meant in
    ``zone``; what is marked as late without a time came at ``late_at``.
    """

    def __init__(
        self,
        course: Path,
        work: Submissions,
        known: Collection[str],
        assignment: str = "",
        zone: str = "UTC",
        late_at: datetime | None = None,
    ) -> None:
        self.course, self.work, self.report = course, work, work.report
        try:
            self.zone = ZoneInfo(zone)
        except (ValueError, KeyError, OSError):
            raise Refused(f"no time zone {zone!r}; wanted one such as Europe/Berlin") from None
        self.late_at = self._utc(late_at)
        titles = () if assignment else work.titles
        names = [n for n in known if n == assignment or _title(n) in titles]
        if len(names) != 1:
            raise Refused(
                f"{work.path}: its notebooks are those of {', '.join(names) or 'no assignment'};"
                f" say which with --assignment, one of {', '.join(known)}"
            )
        self.name = names[0]
        self.hand_ins: dict[str, HandIn] = {}
        self.fresh: list[str] = []
        before = roster.facts(course)["collected"].get(self.name, {})
        for student, entries in sorted(work.entries.items()):
            try:
                hand_in = self._choose(student, entries)
                self._place(student, hand_in, before.get(student, {}).get("digest", ""))
            except Refused as error:
                self.report["not_collected"].append(f"{work.people.called(student)}: {error}")

    def _choose(self, student: str, entries: Sequence[ArchiveFile]) -> HandIn:
        groups = sorted({e.group for e in entries})
        if len(groups) > 1:
            raise Refused(
                f"handed in by {' and '.join(plain(g) or 'the student alone' for g in groups)}:"
                " import a list of groups that has the student in one, and collect again"
            )
        if len(numbers := {e.number for e in entries}) > 1:
            raise Refused(
                f"{len(numbers)} participants have this name: --worksheet tells them apart"
            )
        times = {e.attempt: self._time(e.said) for e in entries}
        if len(times) > 1 and None in times.values():
            texts = ", ".join(map(plain, times))
            raise Refused(f"{len(times)} attempts, at times that cannot be read: {texts}")
        look = self.report["look_at"]
        latest = sorted(times, key=lambda attempt: times[attempt] or datetime.min, reverse=True)
        for attempt in latest:
            files = [e for e in entries if e.attempt == attempt]
            if notebook := self._notebook(student, files):
                break
        else:
            names = ", ".join(plain(e.file, 60) for e in entries[:5])
            raise Refused(f"no notebook, but {names}")
        if len(latest) > 1:
            look.append(f"{student}: {len(latest)} attempts; that of {plain(attempt)} counts")
        when = times[attempt]
        if when is None and notebook.said.strip(" -"):
            look.append(f"{student}: when it came cannot be read: {plain(notebook.said)}")
        if notebook.late and when is None:
            when = self.late_at
            if when is None:
                look.append(f"{student}: marked late, without a time; --late-at sets one")
        # Modules of their own, and their part in the class's experiment.
        modules = {
            f"{e.stem}{Path(e.file).suffix}": e.path
            for e in sorted(files, key=lambda e: e.turn)
            if (e.file.endswith(".py") and e.stem.isidentifier())
            or (e.file.endswith(".json") and e.stem == "experiment")
        }
        if len(modules) > MAX_MODULES:
            raise Refused(f"{len(modules)} modules beside it, at most {MAX_MODULES} are read")
        return HandIn(notebook, {**modules, f"{self.name}.ipynb": notebook.path}, when)

    def _notebook(self, student: str, files: Sequence[ArchiveFile]) -> ArchiveFile | None:
        notebooks = [e for e in files if e.file.lower().endswith(".ipynb")]
        called = [e for e in notebooks if e.title == _title(self.name)]
        last = max((e.turn for e in called), default=None)
        notebooks = [e for e in called if e.turn == last] or notebooks
        if len(notebooks) > 1:
            names = ", ".join(plain(e.path) for e in notebooks[:5])
            raise Refused(f"{len(notebooks)} notebooks may be its {self.name}: {names}")
        for one in notebooks if not called else ():
            self.report["look_at"].append(f"{student}: the notebook is called {plain(one.file)}")
        return notebooks[0] if notebooks else None

    def _utc(self, when: datetime | None) -> datetime | None:
        there = when and when.replace(tzinfo=when.tzinfo or self.zone)
        return there and there.astimezone(UTC).replace(tzinfo=None)

    def _time(self, text: str) -> datetime | None:
        return self._utc(times.read(text))

    def _place(self, student: str, hand_in: HandIn, before: str) -> None:
        files = self._contents(hand_in)
        sums = [(name, hashlib.sha256(files[name]).hexdigest()) for name in sorted(files)]
        hand_in.digest = hashlib.sha256(repr(sums).encode()).hexdigest()
        there = self.course / "submitted" / student / self.name
        stands = read_exchange_files(there).submitted
        new = hand_in.digest != before and not _same(there, files)
        if os.path.lexists(there) and new and stands and hand_in.when and hand_in.when < stands:
            self.report["look_at"].append(f"{student}: what is in submitted/ is later, and stays")
            return
        self.hand_ins[student] = hand_in
        if not os.path.lexists(there) or new:
            self.fresh.append(student)
            self.report["collected"].append(f"{student}: {hand_in.notebook.path}")
            if os.path.lexists(there):
                self.report["kept_in_replaced"].append(student)

    def _contents(self, hand_in: HandIn) -> dict[str, bytes]:
        files = {}
        for name, path in hand_in.files.items():
            try:
                files[name] = archives.content(self.work.archive, self.work.files[path])
            except Refused as error:
                raise Refused(f"{plain(path)} {error}") from None
        if hand_in.when:
            files[TIMESTAMP] = f"{hand_in.when:%Y-%m-%d %H:%M:%S} UTC\n".encode()
        return files

    def apply(self) -> None:
        """Put all in place, what was there into ``replaced``; broken off, the next call goes on."""
        staged = self.course / ".collect"
        with lock(self.course):
            shutil.rmtree(staged, ignore_errors=True)
            for student in self.fresh:
                for file, content in self._contents(self.hand_ins[student]).items():
                    write_whole(staged / student / file, content)
            for student in self.fresh:
                there = self.course / "submitted" / student / self.name
                there.parent.mkdir(parents=True, exist_ok=True)
                if os.path.lexists(there):
                    old = self.course / roster.REPLACED / self.name / student
                    old.mkdir(parents=True, exist_ok=True)
                    there.rename(old / str(1 + len(list(old.iterdir()))))
                (staged / student).rename(there)
            facts = roster.facts(self.course)
            collected = facts["collected"].setdefault(self.name, {})
            for student, hand_in in self.hand_ins.items():
                # Also what a run has put there that was ended before it wrote this down.
                if collected.get(student, {}).get("digest") != hand_in.digest:
                    collected[student] = {
                        "system": self.work.system,
                        "home": hand_in.notebook.home,
                        "digest": hand_in.digest,
                    }
            roster.keep(self.course, facts)
            shutil.rmtree(staged, ignore_errors=True)


def _title(name: str) -> str:
    return fold(name.replace("_", " "))


def _same(folder: Path, files: Mapping[str, bytes]) -> bool:
    try:
        return all((folder / name).read_bytes() == content for name, content in files.items())
    except OSError:
        return False
