"""What every page of the built book must have, and what none may have."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from course_lib.book import report
from course_lib.book.pdf import order
from course_lib.book.questions import QUESTION, options_shown
from course_lib.claims import load_claims

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.elements = []
        self.visible = ""
        self._silent = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        # Code shows LaTeX and paths on purpose.
        self._silent += tag in ("script", "style", "pre", "code")

    def handle_endtag(self, tag):
        self._silent -= tag in ("script", "style", "pre", "code")

    def handle_data(self, data):
        if not self._silent:
            self.visible += data


def toc():
    return [page.removesuffix(".html") for _, page in order(ROOT)]


@pytest.fixture(scope="module")
def pages(built_book):
    return {name: Page(built_book / f"{name}.html") for name in toc()}


def test_the_table_of_contents_is_complete(built_book):
    written = {
        path.relative_to(ROOT).with_suffix("").as_posix()
        for folder in (".", "api", "chapters", "lab")
        for path in BOOK.glob(f"{folder}/*.md")
    }
    named, there = ({p for p in pages if "/api/" not in p} for pages in (toc(), written))
    assert named == there
    built = {
        path.relative_to(built_book).with_suffix("").as_posix()
        for path in built_book.rglob("*.html")
    }
    assert built == written | {"index", "genindex", "search"}


def test_nothing_comes_from_another_host_and_no_link_leads_nowhere(built_book):
    found = report(built_book)
    assert found["third_party"] == found["broken_links"] == []
    for path in built_book.rglob("*.html"):
        assert "unpkg.com" not in path.read_text(encoding="utf-8")


def test_every_picture_says_what_it_shows(pages):
    for name, page in pages.items():
        for tag, attributes in page.elements:
            if tag == "img":
                alt = attributes.get("alt", "")
                assert len(alt) >= 10 and not re.fullmatch(r"\S*/\S*", alt), f"{name}: {attributes}"


def test_formulas_are_mathml_and_nothing_is_left_of_latex(pages):
    formulas = 0
    for name, page in pages.items():
        formulas += sum(tag == "math" for tag, _ in page.elements)
        for tag, attributes in page.elements:
            assert tag != "math" or attributes.get("alttext"), name
        left = re.search(r"\\(?:\(|\[|frac|text|mathbb|begin)|\$[^$\s]+\$", page.visible)
        assert left is None, f"{name}: {left}"
    assert formulas > 50


def test_ids_are_unique_on_each_page(pages):
    for name, page in pages.items():
        ids = Counter(attributes["id"] for _, attributes in page.elements if "id" in attributes)
        # The theme itself shows its search field and its sidebar twice.
        twice = {i for i, n in ids.items() if n > 1 and not i.startswith(("pst-", "search-"))}
        assert not twice, f"{name}: {twice}"


def test_options_stand_in_the_order_that_is_dealt(pages):
    for name, page in pages.items():
        before = Counter()
        asked = QUESTION.findall((ROOT / f"{name}.md").read_text(encoding="utf-8"))
        wanted = [
            (question, str(number))
            for question, text in asked
            for number, _ in options_shown(yaml.safe_load(text), name, before)
        ]
        radios = [a for tag, a in page.elements if tag == "input" and a.get("type") == "radio"]
        found = [(a["name"], a["value"]) for a in radios if a["id"].startswith("question-")]
        assert found == wanted, name


def test_every_claim_is_on_its_page(pages):
    anchors = {attributes.get("id") for _, attributes in pages["book/claims"].elements}
    for claim in load_claims(BOOK / "claims.yml"):
        assert f"claim-{claim.id.lower()}" in anchors


def test_only_cited_papers_are_listed():
    listed = re.findall(r"^@\w+\{([^,]+),", (BOOK / "references.bib").read_text(), re.M)
    sources = [*BOOK.rglob("*.md"), BOOK / "claims.yml"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    cited = {
        key.strip()
        for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", text)
        for key in keys.split(",")
    }
    assert set(listed) == cited
    assert len(listed) == len(set(listed))


def test_no_page_tells_where_it_was_built(pages):
    for name, page in pages.items():
        assert str(ROOT) not in page.visible, name


def test_the_index_of_words_is_loaded_where_words_are_looked_up(built_book):
    loading = [
        path.relative_to(built_book).as_posix()
        for path in built_book.rglob("*.html")
        if re.search(r"<script[^>]*searchindex\.js", path.read_text(encoding="utf-8"))
    ]
    assert loading == ["search.html"]


def test_no_source_maps_are_shipped(built_book):
    assert not [*built_book.rglob("*.map")]


def launched(page):
    """For hub and Binder, which repository or branch and which file the links of a page open."""
    found = {"hub": set(), "binder": set()}
    for tag, attributes in page.elements:
        address = urlsplit(attributes.get("href", ""))
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        if tag == "a" and address.path == "/hub/user-redirect/git-pull":
            found["hub"].add((f"{query['repo']} {query['branch']}", query["urlpath"]))
        elif tag == "a" and address.path.startswith("/v2/"):
            found["binder"].add((address.path, query["urlpath"]))
    return found


def test_every_launch_button_of_a_chapter_opens_its_released_exercise(pages):
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    repository, branch = config["repository"]["url"], config["repository"]["branch"]
    folder = repository.rpartition("/")[2]
    for name, page in pages.items():
        links = launched(page)
        if not name.startswith("book/chapters/"):
            assert links == {"hub": set(), "binder": set()}, name
            continue
        (path,) = (ROOT / "exercises").glob(f"{name.rpartition('/')[2][:2]}_*/*.ipynb")
        notebook = path.relative_to(ROOT).as_posix()
        # nbgitpuller clones into a folder by the repository's name; Binder is in the repository.
        assert links["hub"] == {(f"{repository} {branch}", f"lab/tree/{folder}/{notebook}")}, name
        github = repository.partition("github.com/")[2]
        assert links["binder"] == {(f"/v2/gh/{github}/{branch}", f"lab/tree/{notebook}")}, name
        opened = [
            a["href"]
            for tag, a in page.elements
            if tag == "a"
            and a.get("href", "").startswith(config["launch_buttons"]["jupyterhub_url"])
        ]
        assert len(opened) == 2, f"{name}: one in the menu, one under the chapter"
