"""Times of five systems: each is read as what was written, or not at all."""

import random
from datetime import UTC, datetime, timedelta, timezone

import pytest

from grader.intake import times

FORMS = (
    "%Y-%m-%d-%H-%M-%S|%Y-%m-%d %H:%M:%S|%Y-%m-%dT%H:%M|%Y-%m-%d %I:%M %p|%Y-%m-%d %H:%M:%S.000"
    "|%b %d, %Y %I%M %p|%b %d, %Y %I:%M %p|%B %d, %Y at %I:%M%p|%A, %d %B %Y, %I:%M %p"
    "|%a, %d %b %Y, %H:%M|%d %B, %Y %I:%M %p|%d. %b %Y, %H:%M|%d-%b-%Y %I:%M %p"
    "|%b-%d-%Y %I:%M:%S %p|%d %B %Y, %H:%M"
).split("|")
WORDS = ("Uhr", "CET", "EST", "PM", "-", "tomorrow", "1", "+1", "AD")


def some_time(seed):
    return datetime(2026, 1, 1) + timedelta(minutes=random.Random(seed).randrange(525_600))


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read(form):
    for seed in range(200):
        when = some_time(seed)
        text = when.strftime(form)
        assert times.read(text) == times.read(text.lower().replace("t0", "T0")) == when, text


@pytest.mark.parametrize("form", FORMS)
def test_anything_more_makes_it_uncertain(form):
    said = some_time(0).strftime(form)
    for word in WORDS:
        assert times.read(f"{said} {word}") is None or (word == "PM" and "%p" not in form)
        assert times.read(f"{word} {said}") is None


@pytest.mark.parametrize("zone", ["-0500", "+01:00", "Z", "UTC", "GMT"])
def test_a_zone_counts(zone):
    hours = {"-0500": -5, "+01:00": 1}.get(zone, 0)
    for text in ("2026-11-05 23:59:00", "5 Nov 2026 11:59 PM"):
        wanted = datetime(2026, 11, 5, 23, 59, tzinfo=timezone(timedelta(hours=hours)))
        assert times.read(f"{text} {zone}").astimezone(UTC) == wanted


UNCERTAIN = (
    "05/11/2026 14:05|11.05.2026 14:05|5/11/26|2026-13-01 10:00|2026-11-05 13:00 PM|2026-11-05"
    "|24 septembre 2026, 21:26|2026-11-05 24:00|30 Feb 2026 10:00||-|2026-11-05 0:30 AM"
    "|Nov 5, 2026 1359 PM|٥ Nov 2026 10:00"
)


@pytest.mark.parametrize("text", UNCERTAIN.split("|"))
def test_what_may_be_two_times_or_none_is_none(text):
    assert times.read(text) is None
