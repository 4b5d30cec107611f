"""From text to notebooks: the same bytes every time, and every bad edit named."""

import os
import shutil
from pathlib import Path

import nbformat
import pytest
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from grader import assistants, authoring, card
from grader.base.errors import Refused
from grader.checks.exercise import find
from grader.checks.import_stubs import RULE
from grader.records import gradebook

NAMES = tuple(source.stem for source in authoring.sources(Path(__file__).parents[2]))


@pytest.mark.parametrize("name", NAMES)
def test_committed_releases_are_in_step(root, name):
    assignment = authoring.load(root / f"solutions/{name}/{name}.md", root)
    committed = (root / f"exercises/{name}/{name}.ipynb").read_text(encoding="utf-8")
    assert authoring.text(assignment.release) == committed, "run `make exercises`"
    for file, text in assignment.files().items():
        assert (root / "exercises" / name / file).read_text(encoding="utf-8") == text
    # Fewer where most points are for a report.
    assert len(assignment.exercises) >= 3


# `make check-exercises`, which `make test` begins with, runs every one of them.
@pytest.mark.sample("03_attention")
@pytest.mark.parametrize("name", NAMES)
def test_solutions_earn_full_points_from_top_to_bottom(root, name):
    authoring.run_solution(authoring.load(root / f"solutions/{name}/{name}.md", root))


def run(cells):
    names = {"__name__": "__main__"}
    for number, source in enumerate(cells, 1):
        exec(compile(source, f"cell {number}", "exec"), names)


@pytest.mark.sample("02_lookup", "05_masks", "12_vit")
@pytest.mark.parametrize("name", NAMES)
def test_a_released_notebook_runs_whole_before_anything_is_answered(root, name):
    released = nbformat.read(root / f"exercises/{name}/{name}.ipynb", as_version=4)
    run(cell.source for cell in released.cells if cell.cell_type == "code")


@pytest.mark.parametrize("name", NAMES)
def test_a_draft_that_returns_nothing_stops_no_cell(root, name):
    """The checks are left out: they hold against any answer, and take most of the time."""
    cells = authoring.load(root / f"solutions/{name}/{name}.md", root).release.cells
    code = (cell.source for cell in cells if cell.cell_type == "code")
    drafts = (source for source in code if not authoring.CHECK.search(source))
    run(source.replace("raise NotImplementedError", "pass") for source in drafts)


@pytest.fixture(scope="module")
def stock(root, tmp_path_factory):
    """nbgrader itself on a fresh clone, which has text sources and no notebook beside them."""
    course = tmp_path_factory.mktemp("stock")
    for file in ("nbgrader_config.py", "pyproject.toml"):
        shutil.copy(root / file, course)
    config = Config(authoring.nbgrader_config(course))
    config.CourseDirectory.root = str(course)
    api = NbGraderAPI(config=config)
    with gradebook.open_gradebook(course):
        pass  # with `alembic` on the path, as `nbgrader` has it in an activated environment
    return course, api


@pytest.mark.sample("03_attention", "14_cheaper")
@pytest.mark.parametrize("name", NAMES)
def test_nbgraders_own_release_is_the_same_and_holds_no_answer(root, stock, name):
    """`--force` deletes the folder first; no other text of a source's folder may come with it."""
    course, api = stock
    shutil.copytree(
        root / "solutions" / name,
        course / "solutions" / name,
        ignore=shutil.ignore_patterns("*.ipynb"),
    )
    for note in "AGENTS CLAUDE answers AGENDA COMMENTS README CLASSROOM_NOTES CLAUDE-2".split():
        (course / "solutions" / name / f"{note}.md").write_text("def answer", encoding="utf-8")
    released = course / "exercises" / name
    made = authoring.load(root / f"solutions/{name}/{name}.md", root).files()
    for force in (False, True):
        assert api.generate_assignment(name, force=force)["success"]
        there = {p.relative_to(released).as_posix(): p for p in released.rglob("*") if p.is_file()}
        assert there.keys() == made.keys()
        assert all(there[f].read_text("utf-8") == made[f] for f in made if f.endswith(".md"))
    theirs, ours = (
        nbformat.read(folder / name / f"{name}.ipynb", as_version=4)
        for folder in (course / "exercises", root / "exercises")
    )
    assert [(c.source, c.metadata) for c in theirs.cells] == [
        (c.source, c.metadata) for c in ours.cells
    ]


def test_no_released_file_holds_solution_text(root):
    there = [p for p in (root / "exercises").rglob("*") if p.is_file()]
    files = {p.relative_to(root / "exercises") for p in there}
    beside = ("AGENTS.md", *assistants.POINTERS)
    assert {p.as_posix() for p in files if ".ipynb_checkpoints" not in p.parts} == {
        f"{name}/{file}" for name in NAMES for file in (f"{name}.ipynb", *beside)
    }
    for name in NAMES:
        source = (root / f"solutions/{name}/{name}.md").read_text(encoding="utf-8")
        released = nbformat.read(root / f"exercises/{name}/{name}.ipynb", as_version=4)
        texts = [c.source for c in released.cells]
        texts += [(root / f"exercises/{name}/{file}").read_text("utf-8") for file in beside]
        cells = ["\n".join(map(str.strip, text.splitlines())) for text in texts]
        answers = source.split(authoring.BEGIN)[1:]
        assert len(answers) >= 3
        for answer in answers:
            lines = answer.split(authoring.END)[0].strip().splitlines()
            text = "\n".join(map(str.strip, lines))
            assert text and not any(text in cell for cell in cells), f"{name}: {text}"
            # Hints hold no line of an answer, however short the answer is.
            told = "".join(cells[-len(beside) :])
            assert not [line for line in lines if len(line.strip()) > 16 and line.strip() in told]


def test_ids_are_unique_and_stable(root, assignment):
    again = authoring.load(root / "solutions/03_attention/03_attention.md", root)
    ids = [c.id for c in assignment.release.cells]
    assert ids == [c.id for c in again.release.cells] and len(set(ids)) == len(ids)


SOURCE = """---
kernelspec: {name: python3, display_name: Python 3}
---

# Test

```{code-cell} ipython3
import math
from torch import Tensor
from grader.checks import check
```

```{code-cell} ipython3
def scaled_dot_product_attention(q, k, v, mask=None):
    ### BEGIN SOLUTION
    scores = q / math.sqrt(q.shape[-1]) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ v, weights
    ### END SOLUTION
```

```{code-cell} ipython3
check("attention.scaled_dot_product")
```
"""


def make(tmp_path, root, source):
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "nbgrader_config.py").write_text((root / "nbgrader_config.py").read_text())
    (tmp_path / "pyproject.toml").write_text((root / "pyproject.toml").read_text())
    path = tmp_path / "solutions" / "98_test" / "98_test.md"
    path.parent.mkdir(parents=True)
    path.write_text(source)
    return path


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('check("attention.scaled', 'check("attention.scale', "did you mean attention.scaled"),
        ("### END SOLUTION", "", "belong together"),
        ("    ### BEGIN SOLUTION\n", "", "belong together"),
        (
            "def scaled_dot_product_attention(q, k, v, mask=None):\n    ### BEGIN SOLUTION",
            "### BEGIN SOLUTION\ndef scaled_dot_product_attention(q, k, v, mask=None):",
            "does not have its solution's signature",
        ),
        ("def scaled_dot_product_attention", "def other", "no solution cell defines"),
        (
            "{code-cell} ipython3\ncheck",
            "{code-cell} ipython3\n1\n```\n\n```python\ncheck",
            "not followed by a check",
        ),
        ("import math", "# given: course_lib.masks.nonsense", "nonsense"),
        ("# Test", "{{ exercise: attention.nonsense }}", "no exercise"),
        ("ipython3\ncheck", "ipython3\n---\nnbgrader: {points: 99}\n---\ncheck", "99 points, but"),
        ("mask=None):\n", "mask=None):\n  oops(\n", "cell 3"),
    ],
)
def test_bad_edits_are_errors_that_say_where(tmp_path, root, old, new, words):
    assert old in SOURCE
    with pytest.raises(authoring.AuthoringError, match=words.replace("(", r"\(")):
        authoring.load(make(tmp_path, root, SOURCE.replace(old, new, 1)), tmp_path)


def test_a_solution_that_fails_its_own_check_is_an_error(tmp_path, root):
    wrong = SOURCE.replace("math.sqrt(q.shape[-1])", "1.0")
    assignment = authoring.load(make(tmp_path, root, wrong), tmp_path)
    with pytest.raises(authoring.AuthoringError, match="its solution fails"):
        authoring.run_solution(assignment)
    authoring.run_solution(authoring.load(make(tmp_path / "good", root, SOURCE), tmp_path / "good"))


def test_a_picture_of_the_solution_that_fails_is_an_error(tmp_path, root):
    picture = "```{code-cell} ipython3\nwith suppress(Exception):\n    1 / 0\n```\n\n"
    source = SOURCE.replace("import math", "import math\nfrom contextlib import suppress")
    before, check = source.rsplit("```{code-cell} ipython3\ncheck", 1)
    source = f"{before}{picture}```{{code-cell}} ipython3\ncheck{check}"
    assignment = authoring.load(make(tmp_path, root, source), tmp_path)
    with pytest.raises(authoring.AuthoringError, match="ZeroDivisionError"):
        authoring.run_solution(assignment)


def test_a_stale_or_orphaned_release_is_reported(tmp_path, root):
    make(tmp_path, root, SOURCE)
    (tmp_path / "exercises" / "97_gone").mkdir(parents=True)
    stale = authoring.generate(tmp_path, tmp_path / "out", say=lambda text: None)
    made = ("98_test.ipynb", "AGENTS.md", *assistants.POINTERS)
    assert stale == [f"exercises/98_test/{file}" for file in made]
    assert authoring.generate(tmp_path, tmp_path / "exercises", say=lambda text: None)
    assert not authoring.generate(tmp_path, tmp_path / "out", say=lambda text: None)
    assert authoring.orphans(tmp_path) == ["exercises/97_gone (has no source)"]


def test_one_assignment_is_made_alone_and_what_stays_the_same_is_left_alone(tmp_path, root):
    source = make(tmp_path, root, SOURCE)
    shutil.copytree(source.parent, other := source.parent.with_name("99_more"))
    (other / source.name).rename(other / "99_more.md")

    def written(*chosen, title="# Test"):
        source.write_text(SOURCE.replace("# Test", title))
        folders = (tmp_path / "exercises", tmp_path / "solutions")
        for path in (path for folder in folders for path in folder.rglob("*.*")):
            os.utime(path, (0, 0))
        authoring.generate(tmp_path, folders[0], lambda text: None, chosen)
        made = (path for folder in folders for path in folder.rglob("*.*"))
        return {path.relative_to(tmp_path).parts[1] for path in made if path.stat().st_mtime}

    assert written("98_test") == {"98_test"}
    assert not (tmp_path / "exercises" / "99_more").exists()
    assert written() == {"99_more"}
    assert written() == set()
    assert written(title="# Try") == {"98_test"}
    with pytest.raises(Refused, match="no assignment 97_none; there are 98_test, 99_more"):
        written("97_none")


def test_every_release_says_first_what_an_answer_may_use(root):
    for source in authoring.sources(root):
        head = next(c for c in authoring.load(source, root).release.cells)
        assert head.cell_type == "markdown" and RULE in head.source, source.stem


def test_an_address_that_is_reserved_for_examples_is_no_link(tmp_path):
    config = tmp_path / "pyproject.toml"
    for address, url in (
        ("https://course.example.org", ""),
        ("https://example.com/x", ""),
        ("https://book.example", ""),
        ("https://myexample.org/", "https://myexample.org"),
        ("https://ada.github.io/course", "https://ada.github.io/course"),
    ):
        config.write_text(f'[project.urls]\nDocumentation = "{address}"\n')
        assert card.book_url(tmp_path) == url
    exercise = find("attention.softmax_gradient")
    assert "](https://ada.io/book/chapters/" in card.card(exercise, "https://ada.io")
    bare = card.card(exercise, "")
    assert f"`book/chapters/{exercise.chapter}`" in bare and "](" not in bare


@pytest.fixture
def written(root, tmp_path):
    folder = tmp_path / "solutions" / "03_attention"
    folder.mkdir(parents=True)
    for name in ("nbgrader_config.py", "pyproject.toml"):
        shutil.copy(root / name, tmp_path)
    text = (root / "solutions/03_attention/03_attention.md").read_text(encoding="utf-8")

    def load(change=lambda text: text, encoding="utf-8"):
        path = folder / "03_attention.md"
        path.write_text(change(text), encoding=encoding)
        return authoring.load(path, tmp_path), path

    return load


CHECK = 'check("attention.scaled_dot_product")'


@pytest.mark.parametrize(
    "sign",
    [
        "### BEGIN HIDDEN TESTS",
        "### END HIDDEN TESTS",
        "### BEGIN MARK SCHEME",
        "### AUTOTEST x",
    ],
)
def test_what_nbgrader_would_hide_is_refused(written, sign):
    with pytest.raises(authoring.AuthoringError, match=r"cell \d+: .* would reach students"):
        written(lambda text: text.replace(CHECK, f"{sign}\nassert answer == 42\n{CHECK}"))


def test_a_mark_before_the_first_letter_changes_nothing(written):
    plain, marked = written()[0], written(encoding="utf-8-sig")[0]
    assert authoring.text(plain.release) == authoring.text(marked.release)
    assert plain.points == marked.points > 0


@pytest.mark.parametrize(
    "name",
    [
        "answers.json",
        "data/key.csv",
        "draft.ipynb",
    ],
)
def test_what_nbgrader_would_copy_to_students_is_refused_by_name(written, tmp_path, name):
    assignment, path = written()
    for quiet in ("AGENDA.md", "helper.py", "__pycache__/x.pyc", f"{assignment.name}.ipynb"):
        (path.parent / quiet).parent.mkdir(exist_ok=True)
        (path.parent / quiet).write_text("x")
    assert authoring.released_beside(assignment, path, tmp_path) == []
    (path.parent / name).parent.mkdir(exist_ok=True)
    (path.parent / name).write_text("x")
    with pytest.raises(authoring.AuthoringError, match=f"{name}: nbgrader would copy it"):
        authoring.generate(tmp_path, tmp_path / "exercises", say=lambda text: None)
