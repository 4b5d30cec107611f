"""A page of the library for each module that is taught, and links that lead there."""

import re
from pathlib import Path

import pytest
import yaml

import course_lib

BOOK = Path(__file__).parents[2] / "book"
LISTED = re.search(r"^Taught.*?\n((?:    .*\n)+)", course_lib.__doc__ or "", re.MULTILINE)
TAUGHT = dict(line.split(maxsplit=1) for line in LISTED[1].splitlines())
LINE = re.compile(r"^In the library: (.*)\.$", re.MULTILINE)


def test_every_taught_module_has_its_page_in_the_order_of_the_chapters():
    text = (BOOK / "api.md").read_text(encoding="utf-8")
    assert re.findall(r"^- \[(\w+)\]\(api/\1\.md\): (.*)$", text, re.MULTILINE) == [*TAUGHT.items()]
    assert {page.stem for page in BOOK.glob("api/*.md")} == {*TAUGHT}
    for page in BOOK.glob("api/*.md"):
        assert f".. automodule:: course_lib.{page.stem}\n" in page.read_text(encoding="utf-8")
    toc = yaml.safe_load((BOOK.parent / "_toc.yml").read_text(encoding="utf-8"))
    (entry,) = [c for part in toc["parts"] for c in part["chapters"] if c["file"] == "book/api"]
    assert [s["file"] for s in entry["sections"]] == [f"book/api/{name}" for name in TAUGHT]


@pytest.mark.parametrize("page", sorted(BOOK.glob("chapters/*.md")), ids=lambda page: page.stem)
def test_a_chapter_leads_to_the_modules_that_it_uses(page):
    text = page.read_text(encoding="utf-8")
    used = set(re.findall(r"^(?:from|import) course_lib\.(\w+)", text, re.MULTILINE)) & {*TAUGHT}
    lines = LINE.findall(text)
    assert len(lines) == (1 if used else 0)
    linked = [name for line in lines for name in re.findall(r"\[(\w+)\]\(\.\./api/\1\.md\)", line)]
    assert linked == [name for name in TAUGHT if name in used]
