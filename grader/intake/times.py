"""Times as learning management systems write them: certain, or none at all.

A reader that makes the best of a text takes 5/11 for a day in May, a zone for seconds, and drops
the half of a day; here a text is a time only if all of it is one of these forms.
"""

import re
from datetime import datetime

_NAMES = "january february march april may june july august september october november december"
_MONTHS = {
    word: number
    for number, name in enumerate(_NAMES.split(), 1)
    for word in (name, name[:3], *["sept"] * (number == 9))
}
_CLOCK = (
    r"(?P<H>\d{1,2}):(?P<M>\d\d)(:(?P<S>\d\d)(?P<part>\.\d{1,6})?)?( ?(?P<half>[ap])\.?m\b\.?)?"
    r"(?P<zone> ?Z| ?UTC| ?GMT| ?[+-]\d\d:?\d\d)?"
)
_DAY = r"((mon|tues?|wed(nes)?|thu(rs)?|fri|satur|sat|sun)(day)?,? )?"
_TH = r"(st|nd|rd|th|\.)?"
_FORMS = [
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        rf"{_DAY}(?P<d>\d\d?){_TH}[ -](?P<month>[a-z]+)\.?,?[ -](?P<Y>\d{{4}}),?( at)? {_CLOCK}",
        rf"{_DAY}(?P<month>[a-z]+)\.?[ -](?P<d>\d\d?){_TH}(, ?| |-)(?P<Y>\d{{4}}),?( at)? {_CLOCK}",
        r"(?P<Y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)[T ]" + _CLOCK,
        # Folders, whose names may have no colon: Blackboard's and Brightspace's.
        r"(?P<Y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)-(?P<H>\d\d)-(?P<M>\d\d)-(?P<S>\d\d)",
        r"(?P<month>[a-z]+) (?P<d>\d\d?), (?P<Y>\d{4}) (?P<H>\d\d?)(?P<M>\d\d) (?P<half>[ap])m",
    )
]


def read(text: str) -> datetime | None:
    """When that was, with a zone if it names one; None unless it is certain.

    Example:
        >>> print(read("Thursday, 5 November 2026, 11:59 PM"), read("05/11/2026 14:05"))
        2026-11-05 23:59:00 None
    """
    said = next((m.groupdict() for form in _FORMS if (m := form.fullmatch(text.strip()))), {})
    if not said:
        return None
    hour, half = int(said["H"]), (said.get("half") or "").lower()
    month = _MONTHS.get(said["month"].lower(), 0) if "month" in said else int(said["m"])
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + 12 * (half == "p") if half else hour
    zone = re.sub("Z|UTC|GMT", "+0000", (said.get("zone") or "").strip().upper())
    clock = f"{hour:02}:{said['M']}:{said.get('S') or '00'}{said.get('part') or ''}{zone}"
    try:
        return datetime.fromisoformat(f"{said['Y']}-{month:02}-{int(said['d']):02}T{clock}")
    except ValueError:
        return None
