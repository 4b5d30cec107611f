"""The pages' imports are followed through the library."""

from __future__ import annotations

from pathlib import Path

import pytest

from course_lib.book.builder import code_key
from course_lib.book.reach import reachable

ROOT = Path(__file__).parents[2]
FILES = {
    "book/intro.md": "# A\n\nfrom course_lib.shapes import (\n    square,\n    used,\n)\n",
    "book/other.md": "    import course_lib.deep.inner as inner\n",
    "course_lib/__init__.py": "",
    "course_lib/shapes/__init__.py": "from course_lib.base import one\n",
    "course_lib/shapes/used.py": "X = 1\n",
    "course_lib/shapes/unused.py": "X = 1\n",
    "course_lib/shapes/picture.svg": "<svg/>",
    "course_lib/base.py": "import math\n\n\ndef later():\n    from . import lazy\n",
    "course_lib/lazy.py": "Y = 1\n",
    "course_lib/deep/__init__.py": "",
    "course_lib/deep/inner.py": "from importlib import import_module\nfrom ..hidden import x\n",
    "course_lib/deep/byname/thing.py": "Z = 1\n",
    "course_lib/hidden/__init__.py": "x = 1\n",
    "course_lib/grader.py": "G = 1\n",
    "_config.yml": "",
}
SEEN = {
    *("course_lib/__init__.py", "course_lib/base.py", "course_lib/lazy.py"),
    *(
        "course_lib/shapes/__init__.py",
        "course_lib/shapes/used.py",
        "course_lib/shapes/picture.svg",
    ),
    *("course_lib/deep/__init__.py", "course_lib/deep/inner.py", "course_lib/deep/byname/thing.py"),
    "course_lib/hidden/__init__.py",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_imports_are_followed_and_nothing_else(checkout: Path) -> None:
    assert {path.relative_to(checkout).as_posix() for path in reachable(checkout)} == SEEN


def test_only_what_is_seen_decides(checkout: Path) -> None:
    before = code_key(checkout)
    for name in FILES:
        if not name.startswith("course_lib/"):
            continue
        path = checkout / name
        text = path.read_text()
        path.write_text(text + ("changed = 1\n" if path.suffix == ".py" else " "))
        assert (code_key(checkout) != before) == (name in SEEN), name
        path.write_text(text)


def test_the_chapters_see_the_library_but_not_the_grader() -> None:
    seen = {path.relative_to(ROOT).as_posix() for path in reachable(ROOT)}
    for name in ("attention.py", "masks/softmax.py", "plots.py", "figures/mask_builder.js"):
        assert f"course_lib/{name}" in seen
    assert "course_lib/grading/judge.py" not in seen
    assert not any(name.startswith("course_lib/cli/") for name in seen)
