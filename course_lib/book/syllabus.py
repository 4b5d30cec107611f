"""A term's plan: what is read and handed in when, from what the chapters say of themselves.

Every chapter begins with its title, its goal, what it needs and how many minutes it takes; an
assignment's minutes are those of its exercises. A week gets whole chapters in their order, so that
the fullest week is as light as it can be.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from course_lib.book.teaching import minutes, tasks
from course_lib.errors import Refused

# Assignments that belong together and can be handed in together.
BUNDLES = (("01", "02"), ("03", "04"), ("07", "08"), ("15", "16"))
# Where the core set leads: the whole Transformer, once on words and once on pictures.
CORE_ENDS_IN = ("09", "12")
# A week of more own work than this is not planned: a whole day and a half.
MOST_MINUTES = 12 * 60
DUE = time(23, 59)
HEADINGS = ["Week", "From", "Read", "Minutes", "Hand in", "Minutes", "Points", "Due"]

# The second page of a chapter adds its minutes to the first.
CONTINUED = re.compile(r"^# \d+, continued · .*?^\*\*Minutes\.\*\* (\d+)", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"^# \d+ · (.+)$", re.MULTILINE)
GOAL = re.compile(r"^\*\*Goal\.\*\* (.+?)\\?$", re.MULTILINE)
NEEDS = re.compile(r"^\*\*Needs\.\*\* (.+)$", re.MULTILINE)
MINUTES = re.compile(r"^\*\*Minutes\.\*\* (\d+)", re.MULTILINE)
NEEDED = re.compile(r"[Cc]hapter (\d+)|\((\d\d)_\w+\.md")
REHEARSAL = "00"


@dataclass(frozen=True)
class Chapter:
    """A chapter and its assignment, as a plan sees them."""

    name: str
    title: str
    goal: str  # what its reader is to reach
    reading: int  # minutes to read it
    work: int  # minutes that the exercises of its assignment take
    points: float  # points of the assignment; 0 for the rehearsal, which does not count
    needs: tuple[str, ...]  # numbers of the chapters it names as needed

    @property
    def number(self) -> str:
        """Two digits."""
        return self.name[:2]

    @property
    def total(self) -> int:
        """Minutes for both."""
        return self.reading + self.work


@dataclass(frozen=True)
class Week:
    """One week of a term."""

    number: int  # from 1; 0 for a week without teaching
    starts: date  # its first day
    chapters: tuple[Chapter, ...] = ()  # what is read; empty where nothing new comes
    due: datetime | None = None  # when their assignments are due; None where there are none


def chapters(root: Path) -> list[Chapter]:
    """All chapters of the book, in order."""
    found, more = [], Counter[str]()
    for page in sorted((root / "book" / "chapters").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if again := CONTINUED.search(text):
            more[page.stem[:2]] += int(again[1])
            continue
        head = {}
        for what, pattern in (("title", TITLE), ("goal", GOAL), ("needs", NEEDS),
                              ("minutes", MINUTES)):  # fmt: skip
            match = pattern.search(text)
            if match is None:
                raise Refused(f"{page}: no line with its {what}; other chapters show the form")
            head[what] = match[1]
        asked = tasks(page.stem, root)
        numbers = (said or linked for said, linked in NEEDED.findall(head["needs"]))
        needs = tuple(dict.fromkeys(f"{int(number):02}" for number in numbers))
        counts = not page.stem.startswith(REHEARSAL)
        points = sum(task.points for task in asked) if counts else 0.0
        found.append(
            Chapter(page.stem, head["title"], head["goal"], int(head["minutes"]), minutes(asked),
                    points, needs)
        )  # fmt: skip
    return [replace(one, reading=one.reading + more[one.number]) for one in found]


def core(book: Sequence[Chapter]) -> list[Chapter]:
    """What leads to the whole Transformer on words and on pictures, and all that this needs."""
    by_number = {chapter.number: chapter for chapter in book}
    wanted, open_ = set(), list(CORE_ENDS_IN)
    while open_:
        number = open_.pop()
        if number not in wanted:
            wanted.add(number)
            open_ += by_number[number].needs
    return [chapter for chapter in book if chapter.number in wanted]


def plan(
    book: Sequence[Chapter],
    weeks: int,
    start: date,
    *,
    bundle: bool = False,
    free: Collection[date] = (),
    zone: str = "UTC",
) -> list[Week]:
    """Lay chapters out over a term.

    ``start``: the first day of the first; its assignments are due on the last day of their week;
    ``free``: days; in the weeks that hold one, nothing is read and nothing is due.
    """
    if weeks < 1:
        raise Refused(f"{weeks} weeks: wanted at least 1")
    try:
        where = ZoneInfo(zone)
    except (KeyError, OSError, ValueError):
        raise Refused(f"no time zone {zone!r}; wanted one such as Europe/Berlin") from None
    units = _units(book, bundle)
    loads = [sum(chapter.total for chapter in unit) for unit in units]
    parts = _lightest(loads, min(weeks, len(units)))
    fullest = max(sum(loads[i] for i in part) for part in parts)
    if fullest > MOST_MINUTES:
        more = range(weeks + 1, len(units) + 1)
        enough = [n for n in more if _fullest(loads, n) <= MOST_MINUTES]
        advice = f"Take {enough[0]} weeks, or fewer chapters" if enough else "Do without bundles"
        raise Refused(
            f"too few weeks ({weeks}): the fullest would hold {fullest} minutes of work, and"
            f" {MOST_MINUTES} is the most that is planned. {advice}"
        )
    unused, result, day, taught = set(free), [], start, 0
    while taught < weeks:
        off = {d for d in free if day <= d < day + timedelta(days=7)}
        unused -= off
        if off:
            result.append(Week(0, day))
        else:
            held = tuple(c for i in (parts[taught] if taught < len(parts) else ())
                         for c in units[i])  # fmt: skip
            last = datetime.combine(day + timedelta(days=6), DUE, where)
            taught += 1
            result.append(Week(taught, day, held, last if held else None))
        day += timedelta(days=7)
    if unused:
        days = ", ".join(sorted(map(str, unused)))
        raise Refused(f"{days}: not between {start} and {day - timedelta(days=1)}")
    return result


def _units(book: Sequence[Chapter], bundle: bool) -> list[list[Chapter]]:
    """Chapters that share a deadline."""
    units: list[list[Chapter]] = []
    for chapter in book:
        before = units[-1][-1].number if units else ""
        if bundle and (before, chapter.number) in BUNDLES:
            units[-1].append(chapter)
        else:
            units.append([chapter])
    return units


def _lightest(loads: Sequence[int], parts: int) -> list[range]:
    """Cut a row into non-empty runs so that the heaviest is as light as it can be.

    Of all such cuts, the one with the smallest sum of squares, which is the most even.

    Example:
        >>> _lightest([3, 1, 1, 3], 2)
        [range(0, 2), range(2, 4)]
    """
    size = len(loads)
    before = [0]
    for load in loads:
        before.append(before[-1] + load)
    best: dict[tuple[int, int], tuple[int, int, int]] = {(0, 0): (0, 0, 0)}
    for count in range(1, parts + 1):
        for end in range(count, size + 1):
            best[count, end] = min(
                (max(best[count - 1, cut][0], run), best[count - 1, cut][1] + run**2, cut)
                for cut in range(count - 1, end)
                if (count - 1, cut) in best
                for run in [before[end] - before[cut]]
            )
    ranges, end = [], size
    for count in range(parts, 0, -1):
        cut = best[count, end][2]
        ranges.append(range(cut, end))
        end = cut
    return ranges[::-1]


def _fullest(loads: Sequence[int], parts: int) -> int:
    return max(sum(loads[i] for i in part) for part in _lightest(loads, parts))


def rows(weeks: Sequence[Week]) -> list[list[str]]:
    """A plan's cells, one row a week, below ``HEADINGS``."""
    found = []
    for week in weeks:
        read = "; ".join(f"{c.number} {c.title}" for c in week.chapters)
        graded = [c for c in week.chapters if c.points]
        rehearsed = [f"{c.name} (rehearsal)" for c in week.chapters if not c.points]
        found.append([
            str(week.number or ""),
            str(week.starts),
            read or ("nothing new" if week.number else "no teaching"),
            _sum(week.chapters, "reading"),
            ", ".join([*rehearsed, *(c.name for c in graded)]),
            _sum(week.chapters, "work"),
            _sum(graded, "points"),
            f"{week.due:%a %d %b %Y %H:%M %Z}" if week.due and graded else "",
        ])  # fmt: skip
    return found


def table(weeks: Sequence[Week]) -> str:
    """A plan as a Markdown table.

    Example:
        >>> print(table([Week(0, date(2026, 12, 21))]).splitlines()[-1])
        |  | 2026-12-21 | no teaching |  |  |  |  |  |
    """
    lines = [HEADINGS, ["---"] * len(HEADINGS), *rows(weeks)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _sum(book: Sequence[Chapter], what: str) -> str:
    return f"{sum(getattr(chapter, what) for chapter in book):g}" if book else ""
