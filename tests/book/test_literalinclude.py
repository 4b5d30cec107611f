"""Code that the book includes is whole: it parses, and no docstring is cut in the middle."""

import ast
import re
import textwrap
from pathlib import Path

import pytest

from course_lib.book.literalinclude import FLAG, lines_without_docstring, read

ROOT = Path(__file__).parents[2]
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
    with pytest.raises(ValueError, match=r"own.py has no Two.x: wanted a function"):
        lines_without_docstring(file, "Two.x")
