"""What students get: it runs, names their mistakes, and holds no answer."""

import ast
import dataclasses
import errno
import inspect
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import nbformat
import pytest
import torch

import course_lib
from course_lib.book.notebooks import Site
from course_lib.book.notebooks import assignment as colab
from course_lib.cli import main
from course_tests.grader.checks.recognised import recognised
from grader import MANIFEST, authoring
from grader.base.errors import Refused
from grader.checks import seeds
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import ANSWERS, BANK, find
from grader.checks.grading import grade_source
from grader.checks.recognition import composed, recognise
from grader.checks.recorded import SEEDS, Records, Sketch
from grader.checks.seeds import sample_seed
from grader.checks.trial import Trial, Wrong
from grader.judge.sandbox_package import lay_out
from grader.student import handout, recording

LIBRARY = Path(course_lib.__file__).parent
NAMES = tuple(source.stem for source in authoring.sources(LIBRARY.parent))
# One with the library's references, one with the bank's own; the second breaks given functions.
SAMPLE = ("03_attention", "05_masks")
# Runs in a handout: grades answers of a file, each under a seed that nobody has recorded.
GRADE = """
import json, sys
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import find, namespace
from grader.checks.grading import grade, quiet
from grader.checks.recognition import recognise

found = []
for identifier, source in json.load(open(sys.argv[1])):
    exercise = find(identifier)
    with quiet():
        proxy = AnswerProxy.local(namespace(exercise, source))
        seed = f"a seed of {len(found)}"
        report = grade(exercise, proxy, seed)
        if not report.full:
            report.mistakes = recognise(exercise, report, seed)
    found.append([report.score, report.named,
                  [row.name for row in report.rows if row.open], report.table()])
json.dump(found, open(sys.argv[1], "w"))
"""


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch, root):
    monkeypatch.chdir(root)


def in_the_handout(folder, *command, **options):
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop(seeds.ENVIRONMENT, None)
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        **options,
    )


@pytest.fixture(scope="module")
def handed(root, tmp_path_factory):
    plan = handout.plan(root, tmp_path_factory.mktemp("students") / "course", SAMPLE)
    handout.write(root, plan)
    return plan


def body(function):
    node = function
    if not isinstance(node, ast.AST):
        node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    return [ast.unparse(n) for n in node.body if not isinstance(n, ast.Expr | ast.Pass)]


def called(function):
    values = map(function.__globals__.get, function.__code__.co_names)
    own = (f"{BANK}.", "grader.checks.", "torch", "math")
    return [f for f in values if inspect.isfunction(f) and not f.__module__.startswith(own)]


@pytest.fixture(scope="module")
def everything(root):
    def nothing(stand_ins, *_):
        return dict.fromkeys(stand_ins, Records().write())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "recorded_once", nothing)
        plan = handout.plan(root, root / "_build/no-handout")
        return plan, handout.files(root, plan)


def test_all_that_notebooks_and_checks_import_is_there(everything, tmp_path):
    plan, content = everything
    lay_out(content, tmp_path / "course")
    lines = [f"import {BANK}.{identifier}" for identifier in plan.exercises]
    for name in plan.assignments:
        notebook = content[f"exercises/{name}/{name}.ipynb"].decode()
        for cell in nbformat.reads(notebook, as_version=4).cells:
            code = cell.source if cell.cell_type == "code" else ""
            nodes = ast.parse(code).body
            lines += [ast.unparse(n) for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    wanted = [line for line in lines if line.startswith("from course_lib.training import")]
    assert wanted and len(lines) > 150
    run = in_the_handout(tmp_path / "course", "-c", "\n".join(lines), timeout=600)
    assert run.returncode == 0, run.stderr


def test_no_function_that_an_exercise_asks_for_is_whole_in_it(everything):
    plan, content = everything
    there = set()
    for name, data in content.items():
        texts = [data.decode()] if name.endswith(".py") else []
        if name.startswith("exercises/") and name.endswith(".ipynb"):
            cells = nbformat.reads(data.decode(), as_version=4).cells
            texts = [c.source for c in cells if c.cell_type == "code" and "\n%" not in c.source]
        nodes = (node for text in texts for node in ast.walk(ast.parse(text)))
        there |= {"\n".join(body(n)) for n in nodes if isinstance(n, ast.FunctionDef)}
    found, looked_at = [], 0
    for identifier in plan.exercises:
        reference = find(identifier).reference
        answers = [reference]
        if reference.__module__.startswith(BANK) and len(body(reference)) <= 2:
            answers = called(reference)
        looked_at += len(answers)
        found += [f"{identifier}: {f.__name__}" for f in answers if "\n".join(body(f)) in there]
    assert not found and looked_at > 100


def test_what_was_recorded_is_recorded_once(root, tmp_path, monkeypatch):
    measured = []

    def record(identifier, names):
        measured.append(identifier)
        return Records()

    monkeypatch.setattr(recording, "record", record)
    asked = {"masks.leak_gap": ["reference"], "masks.causal_mask": ["causal_mask"]}
    for wanted in (list(asked), []):
        assert recording.recorded_once(asked, tmp_path).keys() == asked.keys()
        assert measured == wanted
        measured.clear()
    recording.recorded_once({**asked, "masks.leak_gap": ["other", "reference"]}, tmp_path)
    assert measured == ["masks.leak_gap"] and len(list(tmp_path.iterdir())) == 2
    monkeypatch.setattr(find("masks.causal_mask"), "mistakes", [])
    recording.recorded_once(asked, tmp_path)
    assert measured[1:] == ["masks.leak_gap", "masks.causal_mask"]


@pytest.mark.parametrize("identifier", ["space.rescan", "informer.video_attention"])
def test_of_what_is_large_only_slices_are_recorded(identifier):
    """Enough to tell right answers from wrong ones, without the right function."""
    exercise = find(identifier)
    content = recording.record(identifier, ["reference"]).write()
    assert len(content) < 30_000
    records = Records.read(content)
    (reference,) = records.functions()
    student = dataclasses.replace(exercise, reference=reference, records=records)
    seed = SEEDS[1]
    for right in exercise.alternatives:
        report = grade_source(student, right.source, seed)
        assert report.full and not any(row.open for row in report.rows), right.name
    for mistake in exercise.mistakes:
        report = grade_source(student, mistake.source, seed)
        assert not report.full and not any(row.open for row in report.rows)
        assert [known.name for known in recognise(student, report, seed)] == [mistake.name]
    (large,) = (prop for prop in exercise.properties if prop.name in ("large", "cheap"))
    twice = AnswerProxy.local({exercise.function: lambda *args: 2 * exercise.reference(*args)})
    trial = Trial(student, twice, sample_seed(seed, identifier, large.name))
    with pytest.raises(Wrong, match="a part of the result"):
        large.run(trial)


def test_a_rounded_sketch_knows_the_same_values_and_no_others():
    values = torch.randn(50, generator=torch.Generator().manual_seed(0))
    sketch = Sketch.of(values)
    rounded = sketch.rounded()
    assert rounded.fits(sketch, 0.05) and sketch.fits(rounded, 0.05)
    assert not rounded.fits(Sketch.of(1.001 * values))
    assert rounded.numbers != sketch.numbers and Sketch.of([]).rounded().fits(Sketch.of([]))


@pytest.fixture(scope="module")
def whole(root, tmp_path_factory):
    plan = handout.plan(root, tmp_path_factory.mktemp("students") / "course")
    handout.write(root, plan)
    return plan


@pytest.fixture(params=["handed", pytest.param("whole", marks=pytest.mark.slow)])
def given(request):
    return request.getfixturevalue(request.param)


def graded(folder, answers, tmp_path):
    """Each answer's score, the mistake it is called, what stays open, and the table."""
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(answers))
    run = in_the_handout(folder, "-c", GRADE, str(file), timeout=3000)
    assert run.returncode == 0, run.stderr
    return json.loads(file.read_text())


def test_students_get_every_verdict_and_every_name(given, root, tmp_path):
    models = authoring.answers(root)
    answers, wanted = [], []
    for identifier in given.exercises:
        exercise, model = find(identifier), models[identifier]
        right = [f"{model.before}\n\n{model.source}", *(a.source for a in exercise.alternatives)]
        answers += [(identifier, source) for source in right]
        wanted += [(exercise.points, "")] * len(right)
        answers += [(identifier, mistake.source) for mistake in exercise.mistakes]
        wanted += [(None, mistake.name) for mistake in exercise.mistakes]
        # Two mistakes at once are called what the checkout calls them, under other seeds.
        pairs = composed(find(identifier)).values()
        answers += [(identifier, source) for source in pairs]
        called = (recognised(exercise, source, "5").named for source in pairs)
        wanted += [(None, name) for name in called]
    found = graded(given.folder, answers, tmp_path)
    wrong = [
        f"{identifier}: {name or 'right'}: {score:g}, called {called}, open {left}"
        for (identifier, _), (points, name), (score, called, left, _) in zip(
            answers, wanted, found, strict=True
        )
        if called != name or left or (score == points) != (points is not None)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_answer_is_in_it(given, root, tmp_path):
    text = {
        path: path.read_text(encoding="utf-8")
        for path in given.folder.rglob("*")
        if path.suffix in (".py", ".ipynb", ".toml", ".md", ".json")
    }
    assert not [path for path in text if path.stem.endswith(ANSWERS)]
    notebooks = "".join(content for path, content in text.items() if path.suffix == ".ipynb")
    models = authoring.answers(root)
    tried = []
    for identifier in given.exercises:
        module = given.folder / f"course_lib/bank/{identifier.replace('.', '/')}.py"
        exercise = find(identifier)
        banked = {a.name for a in (*exercise.alternatives, *exercise.mistakes)} | {"reference"}
        for node in ast.parse(text[module]).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            # Some mistakes are what the notebook hands out, to be put right.
            assert node.name not in banked or f"def {node.name}(" in notebooks
            if not node.decorator_list:
                # Helpers of checks, and wrong functions that the task itself hands out.
                imports = f"from {BANK}.{identifier} import *\nfrom {BANK}.{identifier} import"
                alias = f"{imports} {node.name} as {exercise.function}"
                tried.append((identifier, alias))
        solved = models[identifier].source
        answer = solved.split(authoring.BEGIN)[1].split(authoring.END)[0]
        lines = [line.strip() for line in answer.strip().splitlines()]
        if len(lines) > 2:
            block = "\n".join(lines)
            for path, content in text.items():
                own = "\n".join(line.strip() for line in content.splitlines())
                assert block not in own, f"{path} holds the answer of {identifier}"
    for (identifier, alias), (score, *_) in zip(
        tried, graded(given.folder, tried, tmp_path), strict=True
    ):
        assert score < find(identifier).points, f"{identifier}: {alias.rpartition(' import ')[2]}"
    for identifier in given.exercises:
        records = given.folder / f"course_lib/bank/{identifier.replace('.', '/')}.records"
        # An input that is asked for has no arguments: what is told of it would be the answer.
        asked = [
            sketch
            for calls in Records.read(records.read_bytes()).calls.values()
            for sketch, _ in calls
        ]
        assert not (asked and find(identifier).any_size)
    parts = {path.relative_to(given.folder).parts for path in text}
    assert not any(part[0] in ("solutions", "tests") for part in parts)
    assert not {"equivalent.toml", "sample.py", "gradebook.py", "judge.py"} & {p[-1] for p in parts}


def solve(notebook, root, name):
    """Put a solution's answers into a released notebook."""
    source = root / f"solutions/{name}/{name}.md"
    solution = {c.id: c for c in authoring.load(source, root).solution.cells}
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = solution[cell.id].source


@pytest.mark.sample("05_masks")
@pytest.mark.parametrize("name", NAMES)
def test_notebooks_run_there(request, root, name, tmp_path):
    given = request.getfixturevalue("handed" if name in SAMPLE else "whole")
    for answered in (False, True):
        path = tmp_path / f"{name}.ipynb"
        notebook = nbformat.read(given.folder / f"exercises/{name}/{name}.ipynb", as_version=4)
        if answered:
            solve(notebook, root, name)
        path.write_text(authoring.text(notebook), encoding="utf-8")
        ran = in_the_handout(
            given.folder, "-m", "course_lib.cli", "check", str(path), "--json", timeout=900
        )
        assert ran.returncode in (0, 1), ran.stderr
        found = json.loads(ran.stdout)
        notes = [n for n in found["notes"] if "is not written yet" not in n]
        assert not notes
        for report in found["exercises"]:
            assert report["score"] == (report["max_points"] if answered else 0), report["table"]


# Runs where there is nothing but a wheel: the cells of a notebook, and which library they found.
CELLS = """
import json, sys, nbformat, course_lib
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.cache_size = 0
points = []
for cell in nbformat.read(sys.argv[1], as_version=4).cells:
    if cell.cell_type == "code":
        ran = shell.run_cell(cell.source)
        ran.raise_error()
        points += [ran.result] if "check(" in cell.source else []
json.dump([course_lib.__file__, points], open(sys.argv[2], "w"))
"""


@pytest.mark.sample("05_masks")
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_checks_itself_with_nothing_but_a_wheel(request, root, name, tmp_path):
    given = request.getfixturevalue("handed" if name in SAMPLE else "whole")
    options = ["-q", "--no-deps", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip"]
    source, site = tmp_path / "source", tmp_path / "site"
    shutil.copytree(given.folder, source)
    made = [*pip, "wheel", *options, "--no-build-isolation", "-w", tmp_path, source]
    subprocess.run(made, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 3 * 2**20
    subprocess.run([*pip, "install", *options, "--target", site, wheel], check=True)
    shutil.rmtree(source)
    alone = tmp_path / "alone"
    alone.mkdir()
    # As Colab opens it: where this file lies, from the address that its first cell knows.
    site_of_book = Site.of(root)
    assert site_of_book.wheel.endswith(f"/{wheel.name}")
    notebook = colab(given.folder / f"exercises/{name}/{name}.ipynb", site_of_book)
    solve(notebook, root, name)
    (alone / "n.ipynb").write_text(authoring.text(notebook), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(site)}
    ran = subprocess.run(
        [sys.executable, "-c", CELLS, "n.ipynb", "out.json"],
        cwd=alone,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr
    library, points = json.loads((alone / "out.json").read_text())
    assert library.startswith(str(site))
    assert points == [float(find(e).points) for e in checked(notebook)]


def checked(notebook):
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return [name for source in cells for name in authoring.CHECK.findall(source)]


def test_what_students_do_not_get_is_refused_in_a_line(handed, tmp_path):
    asked = in_the_handout(handed.folder, "-m", "course_lib.cli", "--help", timeout=300)
    assert asked.returncode == 0 and "usage: course" in asked.stdout
    for command, why in (
        (["grade", "03_attention"], "is not part of what students get"),
        (["matrix"], "it is part of the repository"),
        (["handout", str(tmp_path / "x")], "is not part of what students get"),
    ):
        run = in_the_handout(handed.folder, "-m", "course_lib.cli", *command, timeout=300)
        assert run.returncode == 2 and run.stderr.count("\n") == 1, run.stderr
        assert run.stderr.startswith("course: ") and why in run.stderr


def test_a_seed_of_ones_own_has_samples_of_its_own(handed, tmp_path):
    wrong = (
        "def masked_softmax(scores, mask=None, dim=-1):\n    return scores.exp() / scores.sum()\n"
    )
    tables = [
        table
        for *_, table in graded(handed.folder, [("masks.masked_softmax", wrong)] * 12, tmp_path)
    ]
    assert 1 < len(set(tables)) <= len(SEEDS)


class TestTheFolder:
    """What happens to a folder; the bank's records are left out, they take the time."""

    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch):
        monkeypatch.setattr(recording, "recorded_once", lambda *asked: {})

    def run(self, capsys, *arguments):
        code = main(["handout", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    def test_it_is_written_whole_and_again(self, root, tmp_path, capsys):
        folder = tmp_path / "course"
        code, out, _ = self.run(capsys, folder, "03", "05_masks", "--dry-run")
        assert code == 0 and "2 assignments" in out and not folder.exists()
        assert self.run(capsys, folder, "03", "05_masks")[0] == 0
        first = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        (folder / "news.md").write_text("Room 3.")
        (folder / "solutions").mkdir()
        (folder / "solutions/03.txt").write_text("later")
        code, out, _ = self.run(capsys, folder, "03", "05")
        assert code == 0 and "replaces" in out and "2 other files there stay" in out
        again = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        assert again == first | {Path("news.md"): b"Room 3.", Path("solutions/03.txt"): b"later"}
        assert self.run(capsys, folder, "04")[0] == 0
        assert [p.name for p in (folder / "exercises").iterdir()] == ["04_heads"]
        assert (folder / "news.md").read_text() == "Room 3."
        assert sorted(p.name for p in tmp_path.iterdir()) == ["course"]

    def test_what_is_not_ours_is_left_alone(self, root, tmp_path, capsys):
        other = tmp_path / "other"
        other.mkdir()
        (other / "mine.txt").write_text("mine")
        file = tmp_path / "file"
        file.write_text("a file")
        for folder, why in (
            (other, "something other than a handout"),
            (file, "is not a folder"),
            (root, "holds the course itself"),
            (root.parent, "holds the course itself"),
        ):
            code, _, err = self.run(capsys, folder, "03")
            assert code == 2 and why in err and err.count("\n") == 1
        assert "there are 00_start" in self.run(capsys, tmp_path / "new", "77")[2]
        assert (other / "mine.txt").read_text() == "mine" and file.read_text() == "a file"
        assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "other"]

    def test_what_was_changed_there_is_not_lost(self, tmp_path, capsys):
        folder = tmp_path / "course"
        assert self.run(capsys, folder, "03")[0] == 0
        notebook = folder / "exercises/03_attention/03_attention.ipynb"
        notebook.write_text("an hour's work")
        code, _, err = self.run(capsys, folder, "03")
        assert code == 2 and "changed since it was handed out" in err and err.count("\n") == 1
        assert notebook.read_text() == "an hour's work"
        notebook.unlink()
        assert self.run(capsys, folder, "03")[0] == 0 and notebook.exists()
        (folder / MANIFEST).write_text("{")
        assert "damaged" in self.run(capsys, folder, "03")[2]

    def test_something_in_the_way_stops_it_before_anything_is_done(self, tmp_path, capsys):
        folder = tmp_path / "course"
        assert self.run(capsys, folder, "03")[0] == 0
        own = folder / "exercises/04_heads/04_heads.ipynb"
        own.parent.mkdir()
        own.write_text("mine")
        code, _, err = self.run(capsys, folder, "03", "04")
        assert code == 2 and "is in the way" in err
        assert own.read_text() == "mine"
        assert sorted(p.name for p in (folder / "exercises").iterdir()) == [
            "03_attention",
            "04_heads",
        ]

    @pytest.mark.parametrize("at", ["lay_out", "link", "rename"])
    def test_ended_at_any_point_the_old_one_or_the_new_one_is_there(
        self, tmp_path, capsys, monkeypatch, at
    ):
        folder = tmp_path / "course"
        assert self.run(capsys, folder, "03")[0] == 0
        (folder / "news.md").write_text("Room 3.")

        def stop(*args, **kwargs):
            raise OSError(errno.ENOSPC, "the disk is full")

        with monkeypatch.context() as patch:
            if at == "lay_out":
                patch.setattr(handout, "lay_out", stop)
            elif at == "link":
                patch.setattr(os, "link", stop)
            else:
                rename = Path.rename
                patch.setattr(
                    Path, "rename", lambda p, to: (stop if "part" in p.name else rename)(p, to)
                )
            assert self.run(capsys, folder, "04")[0] == 2
        if at != "rename":
            assert (folder / "exercises/03_attention").is_dir()
        assert self.run(capsys, folder, "04")[0] == 0
        assert [p.name for p in (folder / "exercises").iterdir()] == ["04_heads"]
        assert (folder / "news.md").read_text() == "Room 3."
        assert sorted(p.name for p in tmp_path.iterdir()) == ["course"]


def test_a_folder_in_the_checkout_may_be_one(root):
    with pytest.raises(Refused):
        handout.plan(root, root / "course_lib")
    shutil.rmtree(root / "_build/no-handout", ignore_errors=True)
    assert handout.plan(root, root / "_build/no-handout", ["03"]).gone == ()
