"""Preflight of grading: the exchange, the course's name, clocks, names.

nbgrader's commands stop at most of this, too, each at its own and in front of whoever runs it: a
student who cannot hand in, a grader who collects nothing. Here it is looked for in one place, by
the account that grades. Everything is only read.
"""

import logging
import os
import stat
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from pathlib import Path

from nbgrader.apps.baseapp import NbGrader
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import Exchange
from nbgrader.utils import parse_utc

from grader.authoring import nbgrader_config
from grader.intake.exchange import TIMESTAMP, read_exchange_files
from grader.intake.parsing import plain, unmarked

# Space that has to be free: a class that hands in at once, with images in its notebooks.
ROOM, ENTRIES = 500 * 2**20, 5000
# Difference of two clocks before anybody should care.
APART = timedelta(minutes=5)
# Names in one sentence.
MOST = 5
_OTHERS = stat.S_IWOTH | stat.S_IXOTH


@dataclass(frozen=True)
class Remark:
    """One sentence on what was found."""

    says: str  # what, where, and what to do
    wrong: bool = True  # whether somebody has to do something


@dataclass(frozen=True)
class CourseExchange:
    """Where nbgrader's commands look, by its own configuration."""

    root: Path
    course: str
    shared: bool  # by a group, so that not everybody has to be able to write
    file: Path  # where that is configured


@dataclass(frozen=True)
class HandedIn:
    """A submission that lies in the exchange."""

    student: str
    assignment: str
    stamp: datetime  # by the clock of the machine that handed it in
    came: datetime  # by the clock of the exchange
    path: Path


def exchange_of(course: Path, root: Path) -> CourseExchange:
    """Read nbgrader's configuration as its commands do that are run in the course folder.

    The course folder's own ``nbgrader_config.py`` counts, if it has one, else the checkout's.
    """
    folder = course if (course / "nbgrader_config.py").is_file() else root
    app = NbGrader(log_level=logging.ERROR)
    app.load_cwd_config = False
    app.load_config_file()
    app.update_config(nbgrader_config(folder))
    settings = CourseDirectory(config=app.config)
    exchange = Exchange(config=app.config, coursedir=settings)
    return CourseExchange(
        Path(exchange.root), settings.course_id, settings.groupshared, folder / "nbgrader_config.py"
    )


def remarks(
    course: Path,
    exchange: CourseExchange,
    assignments: Collection[str],
    known: Collection[str] = (),
    now: datetime | None = None,
) -> list[Remark]:
    """Look at the exchange and at the course folder; ``now`` is in UTC, without a zone."""
    return [*of_class(course, assignments, known, now), *_exchange(course, exchange, assignments)]


def of_class(
    course: Path, assignments: Collection[str], known: Collection[str], now: datetime | None = None
) -> Iterator[Remark]:
    """Remarks on the course folder alone; arguments are those of :func:`remarks`."""
    now = now or datetime.now(UTC).replace(tzinfo=None)
    if course.exists():
        yield from _room(course, "the course folder")
    people = sorted(p for p in course.glob("submitted/*") if p.is_dir())
    if shut := [p.name for p in people if not _may(p, os.R_OK | os.X_OK)]:
        yield Remark(
            f"{course / 'submitted'}: {_list(shut)} cannot be entered by this account: give it"
            " read access, for instance `chmod -R u+rX`, or hand it over with `chown -R`"
        )
    if marked := [p.name for p in people if unmarked(p.name) != p.name]:
        yield Remark(
            f"{course / 'submitted'}: {_list(marked)} would run in Formgrader's pages as markup:"
            " rename the folder before Formgrader is opened"
        )
    here = [p for p in people if p.name not in shut]
    for assignment in sorted(assignments):
        handed_in = [p.name for p in here if (p / assignment).is_dir()]
        ahead = {
            who: stamp - now
            for who in handed_in
            if (stamp := read_exchange_files(course / "submitted" / who / assignment).submitted)
            and stamp - now > APART
        }
        if ahead:
            yield Remark(
                f"{assignment}: {_list(ahead)} handed in in the future, by up to"
                f" {_long(max(ahead.values()))}, so `{TIMESTAMP}` or this clock is wrong. They are"
                " graded; lateness follows from that time until the file is corrected"
            )
        new = [who for who in handed_in if who not in known]
        silent = [who for who in known if who not in handed_in]
        if known and new and silent:
            yield Remark(
                f"{assignment}: the gradebook does not know {_list(new)}, and has nothing yet of"
                f" {_list(silent)}. If somebody was renamed: `course rename OLD NEW`",
                wrong=False,
            )


def _exchange(
    course: Path, exchange: CourseExchange, assignments: Collection[str]
) -> Iterator[Remark]:
    if not exchange.course:
        yield Remark(f"{exchange.file}: no course: set c.CourseDirectory.course_id")
        return
    if not exchange.root.is_dir():
        yield Remark(
            f"no exchange at {exchange.root}: nothing can be released or collected by nbgrader."
            " `course grade` needs none; else make the folder, writable by everybody, or name"
            f" another one as c.Exchange.root in {exchange.file}",
            wrong=False,
        )
        return
    if not _may(exchange.root, os.W_OK | os.X_OK):
        yield Remark(
            f"the exchange {exchange.root} is not writable by this account: nothing can be"
            " released. Is the disk mounted read-only?"
        )
    elif not exchange.shared and exchange.root.stat().st_mode & _OTHERS != _OTHERS:
        yield Remark(
            f"the exchange {exchange.root} is not writable by everybody, so students cannot hand"
            f" in: `chmod 1777 {exchange.root}`"
        )
    yield from _room(exchange.root, "the exchange")
    inbound = exchange.root / exchange.course / "inbound"
    yield from _elsewhere(exchange, assignments)
    if not inbound.is_dir():
        yield Remark(
            f"the exchange holds no course {exchange.course!r} yet: it comes with the first"
            " `nbgrader release_assignment`",
            wrong=False,
        )
        return
    if not _may(inbound, os.R_OK | os.X_OK):
        yield Remark(
            f"{inbound} belongs to {_owner(inbound)} and cannot be read by this account: nothing"
            " can be collected. Collect and grade as the account that released"
        )
        return
    if not exchange.shared and inbound.stat().st_mode & _OTHERS != _OTHERS:
        yield Remark(f"students cannot hand in: `chmod o+wx {inbound}`")
    if not exchange.shared and inbound.stat().st_mode & stat.S_IROTH:
        yield Remark(
            f"{inbound} can be listed by everybody, so students find and read each other's"
            f" submissions: `chmod o-r {inbound}`"
        )
    hand_ins, odd = handed_in(inbound)
    loose = [
        h.path.name
        for h in hand_ins
        for path in (h.path, *h.path.iterdir())
        if not path.is_symlink() and path.stat().st_mode & stat.S_IWOTH
    ]
    if loose := list(dict.fromkeys(loose)):
        yield Remark(
            f"{inbound}: {_list(loose)} can be changed by everybody: `chmod -R o-w`, and"
            " ask the students whether the contents are theirs"
        )
    if odd:
        yield Remark(
            f"{inbound}: {_list(odd)} is no submission's name, and `nbgrader collect` ends"
            " there: move it away"
        )
    yield from _whole(hand_ins)
    yield from _clocks(hand_ins)
    yield from _waiting(course, hand_ins, assignments)


def handed_in(inbound: Path) -> tuple[list[HandedIn], list[str]]:
    """The submissions in a course's part of the exchange, and what else lies there."""
    submissions, odd = [], []
    for path in sorted(inbound.iterdir()):
        try:
            # As nbgrader reads it, whose students may have a + in their names.
            student, assignment, stamp, *_ = path.name.rsplit("+", 3)
            came = datetime.fromtimestamp(path.stat().st_mtime, UTC).replace(tzinfo=None)
            submissions.append(HandedIn(student, assignment, parse_utc(stamp), came, path))
        except (ValueError, TypeError, OverflowError):
            odd.append(path.name)
    return submissions, odd


def _elsewhere(exchange: CourseExchange, assignments: Collection[str]) -> Iterator[Remark]:
    """Submissions to a course of another name are ours if their assignments are."""
    for inbound in sorted(exchange.root.glob("*/inbound")):
        name = inbound.parent.name
        if name == exchange.course or not _may(inbound, os.R_OK | os.X_OK):
            continue
        if ours := [h for h in handed_in(inbound)[0] if h.assignment in assignments]:
            yield Remark(
                f"{len(ours)} submissions, such as {plain(ours[0].student, 40)}'s of"
                f" {ours[0].assignment}, were handed in to a course {plain(name, 40)!r} in"
                f" {exchange.root}; here it is {exchange.course!r} ({exchange.file}). Give"
                " students and grader one c.CourseDirectory.course_id; `nbgrader collect --course"
                f" {name}` fetches what is there"
            )


def _whole(found: list[HandedIn]) -> Iterator[Remark]:
    """A submission whose time is missing was broken off: nbgrader writes it after the notebook."""
    broken = [h for h in found if not (h.path / TIMESTAMP).is_file()]
    whole = {(h.student, h.assignment) for h in found if h not in broken}
    for one in broken:
        older = "; an older one is whole" if (one.student, one.assignment) in whole else ""
        yield Remark(
            f"{plain(one.path.name, 120)} broke off while it was handed in (was the exchange"
            f" full?){older}. Ask {plain(one.student, 40)} to hand in again; until then move that"
            " folder away, so that it is not collected"
        )


def _clocks(found: list[HandedIn]) -> Iterator[Remark]:
    """Compare the times that students' machines wrote with those of the exchange."""
    off = {h.student: h.stamp - h.came for h in found if abs(h.stamp - h.came) > APART}
    for student, by in sorted(off.items()):
        which = "fast" if by > timedelta(0) else "slow"
        yield Remark(
            f"the clock of {plain(student, 40)} is {_long(abs(by))} {which}, compared with the"
            " exchange's: lateness is counted by it. Correct it, or give an extension"
        )
    again = defaultdict(list)
    for one in found:
        again[one.student, one.assignment].append(one)
    for (student, assignment), several in sorted(again.items()):
        last, taken = (max(several, key=attrgetter(clock)) for clock in ("came", "stamp"))
        if taken != last and last.came - taken.came > timedelta(seconds=1):
            yield Remark(
                f"{assignment}: `nbgrader collect` takes what {plain(student, 40)} handed in first,"
                f" because the last one, {plain(last.path.name, 120)}, carries an older time. If"
                " that one is meant, copy it to"
                f" submitted/{plain(student, 40)}/{assignment}"
            )


def _waiting(course: Path, found: list[HandedIn], assignments: Collection[str]) -> Iterator[Remark]:
    for assignment in sorted({h.assignment for h in found}):
        if assignment not in assignments:
            yield Remark(
                f"the exchange holds submissions of {plain(assignment, 60)}, which is no assignment"
                " of this course",
                wrong=False,
            )
            continue
        there = [h for h in sorted(found, key=lambda h: h.stamp) if h.assignment == assignment]
        waiting = []
        for student, stamp in {h.student: h.stamp for h in there}.items():
            here = read_exchange_files(course / "submitted" / student / assignment).submitted
            if here is None or here < stamp:
                waiting.append(student)
        if waiting:
            yield Remark(
                f"{assignment}: {len(waiting)} submissions wait in the exchange:"
                f" `nbgrader collect {assignment} --update`",
                wrong=False,
            )


def _room(folder: Path, what: str) -> Iterator[Remark]:
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    if free < ROOM:
        yield Remark(
            f"{what} {folder} has {free / 2**20:.0f} MB left: make room, or what is handed in or"
            " graded next breaks off"
        )
    elif disk.f_files and disk.f_favail < ENTRIES:
        yield Remark(f"{what} {folder} has room for {disk.f_favail} more files: make room")


def _may(path: Path, how: int) -> bool:
    return os.access(path, how, effective_ids=os.access in os.supports_effective_ids)


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except KeyError:
        return f"user {path.stat().st_uid}"


def _list(names: Collection[str]) -> str:
    shown = [plain(name, 60) for name in sorted(names)]
    more = len(shown) - MOST
    return ", ".join(shown[:MOST]) + (f" and {more} more" if more > 0 else "")


def _long(span: timedelta) -> str:
    minutes = round(span.total_seconds() / 60)
    if minutes < 120:
        return f"{minutes} minutes"
    return f"{minutes / 60:.0f} hours" if minutes < 2880 else f"{minutes / 1440:.0f} days"
