"""What can be handed in instead of a notebook, and when."""

import contextlib
import json
import os
import random
import traceback
import tracemalloc
from datetime import UTC, datetime, timedelta, timezone

import nbformat
import pytest

from grader.checks.probe import Bounded
from grader.intake import matching, parsing, times

NAME = "03_attention"


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def put(folder, content, name=f"{NAME}.ipynb"):
    (folder / name).write_bytes(content)


def reason(folder):
    with pytest.raises(parsing.Unreadable) as caught:
        parsing.parse(parsing.read(folder, NAME))
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n ", "is empty"),
        (b"hello", "breaks off or is damaged"),
        (b"[]", "not a notebook"),
        (b"{}", "no list of cells"),
        (b'{"cells": null}', "no list of cells"),
        (b'{"cells": [{"cell_type": "code", "source": "a"}', "breaks off"),
        ("{'ä'}".encode("latin-1"), "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"<html><body>sign in</body></html>", "breaks off or is damaged"),
        (json.dumps({"cells": [{}] * 3000}).encode(), "3000 cells"),
        (b'{"worksheets": 3}', "old format"),
    ],
)
def test_what_is_no_notebook_gets_a_reason(folder, content, words):
    put(folder, content)
    assert words in reason(folder)


def test_a_huge_file_is_not_read(folder):
    with (folder / f"{NAME}.ipynb").open("wb") as file:
        file.truncate(33 * 2**20)
    assert "33 MB" in reason(folder)


def test_a_renamed_file_is_named(folder):
    put(folder, b"{}", "attention (1).ipynb")
    assert "attention (1).ipynb: rename it" in reason(folder)
    (folder / "attention (1).ipynb").unlink()
    assert "no file `03_attention.ipynb`" in reason(folder)


def test_links_and_pipes_are_refused(folder):
    put(folder, b"{}", "other.ipynb")
    (folder / f"{NAME}.ipynb").symlink_to(folder / "other.ipynb")
    assert "a link" in reason(folder)
    (folder / f"{NAME}.ipynb").unlink()
    os.mkfifo(folder / f"{NAME}.ipynb")
    assert "not a file" in reason(folder)
    (folder / f"{NAME}.ipynb").unlink()
    (folder / f"{NAME}.ipynb").mkdir()
    assert "not a file" in reason(folder)


def test_only_type_source_and_id_are_taken_over():
    cell = {
        "cell_type": "code",
        "source": ["a = 1\n", "b"],
        "outputs": [{"output_type": "x" * 10**6}],
        "metadata": {"tags": ["skip-execution"], "nbgrader": {"grade_id": "g", "points": 100}},
    }
    notebook = {
        "cells": [cell, 7, {"cell_type": "code", "source": 3}],
        "metadata": {"kernelspec": 1},
    }
    submission = parsing.parse(json.dumps(notebook).encode())
    assert len(submission.notebook.cells) == 1 and len(submission.notes) == 2
    clean = submission.notebook.cells[0]
    assert clean.source == "a = 1\nb" and clean.outputs == []
    # Kept for the note that it was ignored; nothing else reads it.
    claims = clean.metadata.pop("claims")
    assert claims == {"points": 100, "tags": "skip-execution"}
    assert dict(clean.metadata) == {"submitted_id": "g"}


def test_lone_surrogates_are_repaired():
    submission = parsing.parse(
        b'{"cells": [{"cell_type": "markdown", "source": "\\ud800", "metadata": {}}]}'
    )
    assert "repaired" in submission.notes[0]
    nbformat.writes(submission.notebook).encode("utf-8")


def test_old_format_is_converted():
    cell = {"cell_type": "code", "input": "x = 1", "outputs": [], "language": "python"}
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [cell]}]}
    submission = parsing.parse(json.dumps(old).encode())
    assert submission.notebook.cells[0].source == "x = 1"


def test_an_old_format_keeps_its_headings_and_ids_and_costs_no_more_than_todays(tmp_path):
    """Outputs used to be converted first, to a thousand times their size."""
    marks = {"nbgrader": {"grade_id": "one", "solution": True}}
    output = {"output_type": "stream", "text": "x"}
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Mine", "!"], "metadata": {}},
        {
            "cell_type": "code",
            "input": ["x = 1\n", "y"],
            "metadata": marks,
            "outputs": [output] * 70_000,
        },
    ]
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}
    content = json.dumps(old).encode()
    tracemalloc.start()
    notebook = parsing.parse(content).notebook
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [cell.source for cell in notebook.cells] == ["## Mine!", "x = 1\ny"]
    assert notebook.cells[1].metadata.submitted_id == "one"
    assert most < 40 * len(content)


def test_a_notebook_of_today_with_a_key_of_old_is_none_of_old(solved):
    data = {**json.loads(nbformat.writes(solved)), "worksheets": []}
    assert parsing.parse(json.dumps(data).encode()).notes == []


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_other_line_ends_change_no_cell(solved, assignment, end):
    for cell in solved.cells:
        cell.source = cell.source.replace("\n", end)
    submission = parsing.parse(nbformat.writes(solved).encode())
    cells = matching.align(submission, assignment.release)
    assert submission.notes == [] and all("\r" not in cell.source for cell, _ in cells)


def cells(count, source, kind="code"):
    cell = {"cell_type": kind, "source": source, "metadata": {}, "outputs": []}
    return json.dumps({"cells": [cell] * count}, ensure_ascii=False).encode()


OLD = {"cells": [{"cell_type": "code", "input": "", "outputs": []}]}
LARGE = 31 * 2**20


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lambda: b'{"cells": [' + b",".join([b'{"":{}}'] * (LARGE // 8)) + b"]}", "300,000 values"),
        (lambda: b'{"cells": [' + b",".join([b"1.1"] * (LARGE // 4)) + b"]}", "300,000 values"),
        (lambda: b'{"cells": ["' + b'"' * LARGE, "300,000 values"),
        (lambda: b'{"cells": ["' + rb"\"" * (LARGE // 2), "breaks off"),
        (lambda: json.dumps({"worksheets": [OLD] * 30_000}).encode(), "30000 cells"),
        (lambda: cells(100, "a," * 100_000), "cells 2"),
        (lambda: cells(1, "-" * 500_000 + "1"), "cells 1"),
        (lambda: cells(30, "\N{GRINNING FACE}" + "\\" * 1_000_000, "markdown"), "cells 30"),
    ],
)
def test_what_is_handed_in_takes_little_to_read(content, words):
    content = content()

    def read():
        try:
            notebook = parsing.parse(content).notebook
            return f"cells {len(notebook.cells)}".encode()
        except parsing.Unreadable as unreadable:
            return str(unreadable).encode()
        except MemoryError:
            raise
        except Exception:
            return traceback.format_exc().encode()

    def asked():
        found = read()
        return lambda _: found

    assert words in Bounded(asked, memory=512, cpu=7).ask(b"").decode()


def test_no_bytes_raise_anything_else(solved):
    import random

    whole = nbformat.writes(solved).encode()
    rng = random.Random(0)
    for _ in range(300):
        damaged = bytearray(whole[: rng.randint(1, len(whole))] if rng.random() < 0.3 else whole)
        for _ in range(rng.randint(0, 6)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        with contextlib.suppress(parsing.Unreadable):
            parsing.parse(bytes(damaged))


def test_align_puts_missing_given_cells_first(assignment):
    submission = parsing.Submission(nbformat.v4.new_notebook())
    cells = matching.align(submission, assignment.release)
    wanted = [
        c.metadata["nbgrader"]["grade_id"]
        for c in assignment.release.cells
        if c.metadata.get("nbgrader", {}).get("grade_id")
    ]
    assert sorted(c.metadata["nbgrader"]["grade_id"] for c, _ in cells) == sorted(wanted)
    assert len(submission.notes) == len(wanted)


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
