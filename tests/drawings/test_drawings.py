"""All drawings: nothing collides, every number is computed, and every one stands on a page."""

import ast
import base64
import re
import runpy
import sys
from collections import Counter
from html import escape
from io import BytesIO
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from course_lib.drawings import drawing, drawings
from course_lib.drawings.faults import faults
from course_lib.drawings.style import HANGUL

ROOT = Path(__file__).parents[2]
BOTH = pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
EACH = pytest.mark.parametrize("shown", drawings().values(), ids=list(drawings()))
TOPICS = sorted((ROOT / "course_lib" / "drawings").glob("*.py"))
ENGINE = {"__init__", "__main__", "faults", "letters", "page", "parts", "shapes", "sketch", "style"}
# What has glosses or longer names on a page alone.
SHORTER = set(
    """clocks-of-positions end-to-end one-change-a-step patching picture-in-a-sentence
    processes-of-a-grade read-and-change roofline same-shape steps-for-values
    teacher-and-student way-of-an-exercise""".split()
)
USED = {
    name: page
    for page in sorted((ROOT / "book").rglob("*.md"))
    for name in re.findall(r"^```\{drawing\} (\S+)", page.read_text(encoding="utf-8"), re.M)
}


@EACH
@BOTH
def test_nothing_collides(shown, narrow):
    assert list(faults(shown.sketch(narrow))) == []


@pytest.mark.parametrize("name", sorted({*drawings()} - SHORTER))
def test_a_phone_says_all_that_a_page_says(name):
    page, phone = (
        Counter(" ".join(drawings()[name].sketch(narrow).words()).split())
        for narrow in (False, True)
    )
    assert page - phone == Counter()


@EACH
@BOTH
def test_the_numbers_are_those_of_the_library(shown, narrow):
    words = " ".join(shown.sketch(narrow).words()).replace("−", "-")
    seen = re.findall(r"-?\d+(?:\.\d+)?", words)
    for number in shown.numbers():
        assert any(is_rounded(number, said) for said in seen), (number, seen)


def is_rounded(number, said):
    digits = len(said.partition(".")[2])
    return abs(number - float(said)) <= (0.5001 * 10**-digits if digits else 1e-6)


@EACH
def test_a_reader_who_cannot_see_it_is_told_what_it_teaches(shown):
    assert len(shown.alt.split()) >= 20 and shown.alt.endswith(".")
    assert f'aria-label="{escape(shown.alt)}"' in shown.inline()


def test_no_machine_shows_boxes_for_korean_words():
    packed = base64.b64decode(re.findall(r"base64,([^)]+)", HANGUL)[0])
    known = {chr(code) for code in TTFont(BytesIO(packed)).getBestCmap()}
    used = {c for one in drawings().values() for c in " ".join(one.sketch().words())}
    assert "좋" in used and {c for c in used if "가" <= c <= "힣"} <= known
    shown = drawings()["translate-good-evening"]
    assert "Course Hangul" in shown.sketch().svg(alone=True).split("<rect", 1)[0]


def typed(source):
    """Texts with a broken number that somebody typed: those that were computed are no constants."""
    return [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.search(r"\d\.\d", node.value)
    ]


@pytest.mark.parametrize("path", [p for p in TOPICS if p.stem not in ENGINE], ids=lambda p: p.stem)
def test_no_broken_number_is_typed(path):
    assert typed(path.read_text(encoding="utf-8")) == []
    assert typed('s.text(1, 2, "0.67")') == ["0.67"] and typed('f"{w:.2f}"') == []


def test_a_drawing_and_its_page_know_each_other():
    assert set(USED) == set(drawings())


def test_two_of_one_name_are_refused(monkeypatch):
    import course_lib.drawings.attention as module

    @drawing("Twice.")
    def attention_by_hand(s):
        """Another one."""

    monkeypatch.setattr(module, "again", attention_by_hand, raising=False)
    with pytest.raises(ValueError, match="two drawings are called attention-by-hand"):
        drawings.__wrapped__()


def test_a_sheet_shows_what_is_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["drawings", "attention-by-hand"])
    runpy.run_module("course_lib.drawings", run_name="__main__")
    assert capsys.readouterr().out == "_build/drawings.html\n"
    page = (tmp_path / "_build" / "drawings.html").read_text()
    assert page.count("<iframe") == 4
