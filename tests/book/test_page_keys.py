"""The code of a page is followed through the library."""

from pathlib import Path

import pytest

from course_lib.book.page_keys import _FENCE, files, page_keys, plain
from course_lib.experiments.record import MIXED

ROOT = Path(__file__).parents[2]


def seen(*cells):
    return {path.relative_to(ROOT).as_posix() for path in files(cells, ROOT)}


def test_names_are_followed_to_where_they_are_defined():
    found = seen("from course_lib.masks import causal_mask\n%time\ncausal_mask(3)")
    assert "course_lib/masks/building.py" in found
    assert not {"course_lib/masks/softmax.py", "course_lib/attention.py"} & found


CHECK = 'from course_lib.checks import check\ncheck("masks.causal_mask")'
FIGURE = 'from course_lib.figures import figure\nfigure("mask-builder")'
COST = 'from course_lib.experiments import get\nget("cost")'


@pytest.mark.parametrize(
    ("cell", "wanted", "not_wanted"),
    [
        (CHECK, "bank/masks/causal_mask.py", "bank/masks/convert_mask.py"),
        (CHECK, "bank/masks/causal_mask_answers.py", "bank/masks/__init__.py"),
        (FIGURE, "figures/mask_builder.js", "figures/kv_cache_stepper.js"),
        (COST, "experiments/cost.py", "experiments/scan_orders.py"),
        (COST, "experiments/cost.toml", "experiments/scan_orders.toml"),
    ],
)
def test_what_a_page_names_is_seen_and_its_siblings_are_not(cell, wanted, not_wanted):
    found = seen(cell)
    assert f"course_lib/{wanted}" in found and f"course_lib/{not_wanted}" not in found


def test_of_the_records_those_that_are_named():
    found = seen(
        'from course_lib.experiments import load_records\nload_records("../results", "cost")'
    )
    folders = {
        name.split("/")[2].removesuffix(".zip")
        for name in found
        if name.startswith("book/results/")
    }
    assert folders == {"cost", *MIXED}


def test_records_that_the_library_reads_by_itself_are_seen():
    """Weights of models that an experiment has trained."""
    page = (ROOT / "book" / "chapters" / "10_reading.md").read_text(encoding="utf-8")
    assert "read-words" not in page.split("# ")[0]
    (name,) = {n for n in ("course_lib.trained", "course_lib.reading") if f"{n} " in page}
    found = seen(f"from {name} import *")
    assert any(path.startswith("book/results/read-words/") for path in found)


def test_a_cell_ends_at_its_fence_and_a_faulty_one_hinders_no_other():
    page = "Text.\n\n```{code-cell} ipython3\na = 1\n```\n\n```\nno code\n```\n"
    assert [match[2] for match in _FENCE.findall(page)] == ["a = 1\n"]
    assert "course_lib/masks/building.py" in seen("a =", "from course_lib.masks import causal_mask")


def test_no_page_sees_the_grader_and_each_sees_something(monkeypatch):
    places = []
    monkeypatch.setattr(
        "course_lib.book.page_keys.files", lambda *asked: places.append(files(*asked)) or places[-1]
    )
    keys = page_keys(ROOT)
    assert len(set(keys.values())) > 20
    for page, there in zip(keys, places, strict=True):
        text = (ROOT / page).read_text(encoding="utf-8")
        cells = [
            part.split("\n", 1)[1].split("\n```")[0] for part in text.split("```{code-cell}")[1:]
        ]
        found = {path.relative_to(ROOT).as_posix() for path in there}
        assert found or "course_lib" not in "".join(cells), page
        rooms = {name.split("/")[1] for name in found if name.startswith("grader/")}
        assert rooms <= {"base", "checks"}, page


@pytest.mark.parametrize(("folder", "seen"), [("bank", True), ("masks", False)])
def test_docstrings_are_seen_where_checks_show_them(tmp_path, folder, seen):
    """A property says in its docstring what it asks for."""
    path = tmp_path / folder / "rows.py"
    path.parent.mkdir()
    found = set()
    for says in ("a row sums to 0", "a row sums to 1"):
        path.write_text(f'def rows(t):\n    """{says}"""\n    return t\n')
        found.add(plain(path))
    assert (len(found) == 2) is seen
