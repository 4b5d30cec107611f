"""What can be known of a bibliography without asking anybody."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pybtex.database import Entry, parse_file

REFERENCES = parse_file(str(Path(__file__).parents[2] / "book" / "references.bib")).entries
ARXIV = re.compile(r"https://arxiv\.org/abs/(?P<year>\d\d)(?P<month>0[1-9]|1[0-2])\.\d{4,5}")
VENUE = {"inproceedings": "booktitle", "article": "journal", "techreport": "institution"}


@pytest.mark.parametrize("key", REFERENCES)
def test_an_entry_is_complete_and_leads_somewhere(key: str) -> None:
    entry: Entry = REFERENCES[key]
    family = entry.persons["author"][0].last_names[-1]
    first = re.match(r"[^\d]+", key)
    assert first and re.sub(r"\W|\\.", "", family).lower().startswith(first[0][:3]), family
    assert entry.fields["year"] in key and entry.fields["title"]
    venue = VENUE.get(entry.type)
    assert entry.type == "misc" or (venue and entry.fields.get(venue)), entry.type
    doi, url = entry.fields.get("doi", ""), entry.fields.get("url", "")
    assert doi or url
    assert not doi or re.fullmatch(r"10\.\d{4,5}/\S+", doi)
    parts = urlsplit(url)
    assert not url or (parts.scheme == "https" and "." in parts.netloc and len(parts.path) > 1)
    pages = entry.fields.get("pages", "")
    assert not pages or re.fullmatch(r"(\d+)--(\d+)|\d+", pages)
    first_page, _, last_page = pages.partition("--")
    assert not last_page or int(first_page) < int(last_page)


@pytest.mark.parametrize("key", [k for k in REFERENCES if "arxiv" in str(REFERENCES[k].fields)])
def test_a_preprint_is_about_as_old_as_its_paper(key: str) -> None:
    """Some were put there a month after the conference; a mere preprint is of its own year."""
    fields = REFERENCES[key].fields
    told = ARXIV.fullmatch(fields["url"])
    assert told, fields["url"]
    written, printed = 2000 + int(told["year"]), int(fields["year"])
    if REFERENCES[key].type == "misc":
        assert written == printed
    assert written - 1 <= printed <= written + 3
    assert fields.get("eprint", "") in fields["url"]


def test_no_paper_is_listed_twice() -> None:
    for of in ("title", "doi", "url"):
        told = [e.fields[of].lower() for e in REFERENCES.values() if of in e.fields]
        assert len(told) == len(set(told))


def test_every_label_of_an_equation_or_place_is_given_once() -> None:
    """Sphinx sees a label that two pages give only where one process reads both."""
    pages = sorted((Path(__file__).parents[2] / "book").rglob("*.md"))
    given = [
        label
        for page in pages
        for pair in re.findall(
            r"^\$\$ \((\S+)\)$|^\((\S+)\)=$", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        for label in pair
        if label
    ]
    assert len(given) > 100 and sorted(given) == sorted(set(given))
