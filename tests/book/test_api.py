"""What pages show of the library: reference, map, listings; and whom they cite."""

import ast
import re
import textwrap
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from pybtex.database import parse_file

import course_lib
from course_lib.book.literalinclude import FLAG, lines_without_docstring, read

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


ROOT = Path(__file__).parents[2]
PAGES = [page.stem for page in sorted((ROOT / "book" / "chapters").glob("*.md"))]


def test_every_chapter_has_its_place_below_its_title(tmp_path, monkeypatch):
    testing = pytest.importorskip("sphinx.testing.util")
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    import course_map

    (tmp_path / "chapters").mkdir()
    for page in PAGES:
        (tmp_path / "chapters" / f"{page}.md").write_text("# Page\n\nWords.\n")
    (tmp_path / "index.md").write_text("# Book\n\n```{toctree}\n:glob:\nchapters/*\n```\n")
    (tmp_path / "conf.py").write_text("extensions = ['myst_parser', 'course_map']\n")
    app = testing.SphinxTestApp("html", srcdir=tmp_path, builddir=tmp_path / "out")
    app.build()
    app.cleanup()
    for page in PAGES:
        named = course_map.subject(page)
        assert named and set(named) <= set(course_map.PARTS), page
        written = (tmp_path / "out" / "html" / "chapters" / f"{page}.html").read_text()
        assert written.index("<h1>") < written.index("you-are-here") < written.index("Words.")
        assert written.count('class="layer here"') == len(named) + 1  # and the key
        assert all(f">{name}</text>" in written for name in named.values()), page
    assert {row[:2] for row in course_map.PLACES} == {page[:2] for page in PAGES}
    assert "attention (here: lookup)" in course_map.picture("02_lookup")
    with pytest.raises(course_map.ExtensionError, match=r"map\.yml has no row for 99_none"):
        course_map.subject("99_none")
    assert "you-are-here" not in (tmp_path / "out" / "html" / "index.html").read_text()


LISTING = re.compile(r"^```\{literalinclude\} (\S+)\n((?::.*\n)*)```", re.MULTILINE)
OPTION = re.compile(r"^:([\w-]+): *(.*)$", re.MULTILINE)
LISTINGS = [
    pytest.param(page, found[1], found[2], id=f"{page.stem}-{number}")
    for page in sorted((ROOT / "book").rglob("*.md"))
    for number, found in enumerate(LISTING.finditer(page.read_text()), 1)
]


@pytest.mark.parametrize(("page", "path", "options"), LISTINGS)
def test_every_listing_parses(page, path, options):
    given = dict(OPTION.findall(options))
    assert "lines" not in given, f"line numbers go stale: take :pyobject: and :{FLAG}:"
    code = textwrap.dedent(read(page.parent / path, given))
    (shown,) = ast.parse(code).body if FLAG in given else [ast.parse(code)]
    assert FLAG not in given or ast.get_docstring(shown) is None


def test_an_object_that_is_not_there_is_named(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        "@cache\ndef one(\n    a,\n):\n    'Says.'\n    return a\n\nclass Two:\n    x = 1\n"
    )
    assert lines_without_docstring(file, "one") == "1-4, 6-"
    assert read(file, {"pyobject": "one", FLAG: ""}).endswith("):\n    return a\n")
    assert lines_without_docstring(file, "Two") == "1-"
    with pytest.raises(ValueError, match=r"own.py has no Two.x: expected a function"):
        lines_without_docstring(file, "Two.x")


REFERENCES = parse_file(str(Path(__file__).parents[2] / "book" / "references.bib")).entries
ARXIV = re.compile(r"https://arxiv\.org/abs/(?P<year>\d\d)(?P<month>0[1-9]|1[0-2])\.\d{4,5}")
VENUE = {"inproceedings": "booktitle", "article": "journal", "techreport": "institution"}


@pytest.mark.parametrize("key", REFERENCES)
def test_an_entry_is_complete_and_leads_somewhere(key):
    entry = REFERENCES[key]
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
def test_a_preprint_is_about_as_old_as_its_paper(key):
    """Some were put there a month after the conference; a mere preprint is of its own year."""
    fields = REFERENCES[key].fields
    told = ARXIV.fullmatch(fields["url"])
    assert told, fields["url"]
    written, printed = 2000 + int(told["year"]), int(fields["year"])
    if REFERENCES[key].type == "misc":
        assert written == printed
    assert written - 1 <= printed <= written + 3
    assert fields.get("eprint", "") in fields["url"]


def test_no_paper_is_listed_twice():
    for of in ("title", "doi", "url"):
        told = [e.fields[of].lower() for e in REFERENCES.values() if of in e.fields]
        assert len(told) == len(set(told))


def test_every_label_of_an_equation_or_place_is_given_once():
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
