"""What a page says of its own output holds, whatever vector units computed it.

`make book` executes every page as this machine computes unasked; `make test-portable` sets other
units for these tests.
"""

from pathlib import Path

import jupytext
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in sorted((ROOT / "book").rglob("*.md"))
    if "```{code-cell}" in page.read_text(encoding="utf-8")
]


@pytest.mark.slow
@pytest.mark.pages
@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_not_contradict_itself(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "assert " in text or "chapters" not in page
    where = {"metadata": {"path": str((ROOT / page).parent)}}
    cells = jupytext.reads(text, fmt="md:myst")
    NotebookClient(cells, timeout=600, kernel_name="python3", resources=where).execute()
