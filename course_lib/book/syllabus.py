"""A term's plan: what is read and handed in when, from what the chapters say of themselves.

Every chapter begins with its title, its goal, what it needs and how many minutes it takes; an
assignment's minutes are those of its exercises. A week gets whole chapters in their order.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from itertools import accumulate
from pathlib import Path
from zoneinfo import ZoneInfo

from course_lib.book.teaching import minutes, tasks
from grader.base.errors import Refused

# Where the core set leads: the whole Transformer, once on words and once on pictures.
CORE_ENDS_IN = ("09", "12")
DUE = time(23, 59)
HEADINGS = ["Week", "From", "Read", "Minutes", "Hand in", "Minutes", "Points", "Due"]

# Later pages of a chapter, such as 9.2, add their minutes to the first.
CONTINUED = re.compile(r"^# \d+\.\d+ · .*?^\*\*Minutes\.\*\* (\d+)", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"^# \d+ · (.+)$", re.MULTILINE)
GOAL = re.compile(r"^\*\*Goal\.\*\* (.+?)\\?$", re.MULTILINE)
NEEDS = re.compile(r"^\*\*Needs\.\*\* (.+)$", re.MULTILINE)
MINUTES = re.compile(r"^\*\*Minutes\.\*\* (\d+)", re.MULTILINE)
# Of a link what is read: the target is that of a page.
LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
NEEDED = re.compile(r"[Cc]hapter (\d+)|\((\d\d)_\w+\.md")
REHEARSAL = "00"


@dataclass(frozen=True)
class Chapter:
    """A chapter and its assignment, as a plan sees them."""

    name: str  # such as ``03_attention``; the assignment is called the same
    title: str
    goal: str
    reading: int  # minutes
    work: int  # minutes that the exercises of its assignment take
    points: float  # 0 for the rehearsal, which does not count
    needs: tuple[str, ...]  # numbers of chapters

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
    """One week of a term, numbered from 1."""

    number: int
    starts: date
    chapters: tuple[Chapter, ...] = ()
    due: datetime | None = None


def chapters(root: Path) -> list[Chapter]:
    """All chapters of the book, in order; each says what it needs and how long it takes."""
    book, more = [], Counter[str]()
    for page in sorted((root / "book" / "chapters").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if again := CONTINUED.search(text):
            more[page.stem[:2]] += int(again[1])
            continue
        head = {}
        for what, pattern in (
            ("title", TITLE),
            ("goal", GOAL),
            ("needs", NEEDS),
            ("minutes", MINUTES),
        ):
            match = pattern.search(text)
            if match is None:
                raise Refused(f"{page}: no line with its {what}; other chapters show the form")
            head[what] = match[1]
        asked = tasks(page.stem, root)
        numbers = (said or linked for said, linked in NEEDED.findall(head["needs"]))
        needs = tuple(dict.fromkeys(f"{int(number):02}" for number in numbers))
        counts = not page.stem.startswith(REHEARSAL)
        points = sum(task.points for task in asked) if counts else 0.0
        book.append(
            Chapter(
                page.stem,
                head["title"],
                LINK.sub(r"\1", head["goal"]),
                int(head["minutes"]),
                minutes(asked),
                points,
                needs,
            )
        )
    return [replace(one, reading=one.reading + more[one.number]) for one in book]


def core(book: Sequence[Chapter]) -> list[Chapter]:
    """Pages that lead to the whole Transformer on words and on images, and all that they need."""
    by_number = {chapter.number: chapter for chapter in book}
    wanted, open_ = set(), list(CORE_ENDS_IN)
    while open_:
        number = open_.pop()
        if number not in wanted:
            wanted.add(number)
            open_ += by_number[number].needs
    return [chapter for chapter in book if chapter.number in wanted]


def plan(book: Sequence[Chapter], weeks: int, start: date, zone: str = "UTC") -> list[Week]:
    """Lay chapters out over weeks, about as many minutes in each; all is due on its last day."""
    if weeks < 1:
        raise Refused(f"{weeks} weeks: expected at least 1")
    try:
        there = date.min < start and start + timedelta(weeks=weeks) < date.max
    except OverflowError:
        there = False
    if not there:
        raise Refused(f"{weeks} weeks from {start} lead out of the calendar, which ends {date.max}")
    try:
        where = ZoneInfo(zone)
    except (KeyError, OSError, ValueError):
        raise Refused(f"no time zone {zone!r}; expected one such as Europe/Berlin") from None
    ends = list(accumulate(chapter.total for chapter in book))
    # A chapter belongs where the middle of its minutes lies.
    shares = [(end - c.total / 2) / ends[-1] for c, end in zip(book, ends, strict=True)]
    places = [int(min(weeks, len(book)) * share) for share in shares]
    # A week that a long chapter leaves empty takes one, if an earlier week has two.
    filled = list(places)
    for i in reversed(range(len(filled) - 1)):
        filled[i] = max(filled[i], filled[i + 1] - 1)
    if filled and filled[0] == 0:  # the weeks before had enough to give
        places = filled
    result = []
    for number in range(weeks):
        first = start + timedelta(weeks=number)
        due = datetime.combine(first + timedelta(days=6), DUE, where)
        read = tuple(c for c, place in zip(book, places, strict=True) if place == number)
        result.append(Week(number + 1, first, read, due if read else None))
    return result


def rows(weeks: Sequence[Week]) -> list[list[str]]:
    """A plan's cells, one row a week, below ``HEADINGS``."""
    cells = []
    for week in weeks:
        read = "; ".join(f"{c.number} {c.title}" for c in week.chapters)
        graded = [c for c in week.chapters if c.points]
        rehearsed = [f"{c.name} (rehearsal)" for c in week.chapters if not c.points]
        cells.append(
            [
                str(week.number),
                str(week.starts),
                read or "nothing new",
                _sum(week.chapters, "reading"),
                ", ".join([*rehearsed, *(c.name for c in graded)]),
                _sum(week.chapters, "work"),
                _sum(graded, "points"),
                f"{week.due:%a %d %b %Y %H:%M %Z}" if week.due and graded else "",
            ]
        )
    return cells


def table(weeks: Sequence[Week]) -> str:
    """A plan as a Markdown table."""
    lines = [HEADINGS, ["---"] * len(HEADINGS), *rows(weeks)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _sum(book: Sequence[Chapter], what: str) -> str:
    return f"{sum(getattr(chapter, what) for chapter in book):g}" if book else ""
