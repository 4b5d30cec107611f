"""The repository's promises about itself: its root, its sizes, its commands, its layers."""

import ast
import importlib
import pickle
import re
import subprocess
import tomllib
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path

import grimp
import pytest
import yaml

import course_lib
import grader.checks.cell
import grader.lateness
from course_lib.checks import check
from grader.judge.results import Task

ROOT = Path(__file__).resolve().parents[1]
SET_BY_DESIGN = {
    *"book exercises solutions course_lib grader tests".split(),
    *"course.toml _config.yml _toc.yml environment.yml README.md".split(),
}
DEMANDED_BY_TOOLS = {
    *".github pyproject.toml constraints.txt Makefile LICENSE CITATION.cff".split(),
    *"CONTRIBUTING.md nbgrader_config.py .binder deploy .ci .gitignore".split(),
    *".gitattributes .pre-commit-config.yaml CHANGELOG.md SECURITY.md".split(),
}


def tracked():
    result = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [Path(line) for line in result.stdout.splitlines()]


def test_the_root_holds_what_it_should_and_nothing_else():
    root = {path.parts[0] for path in tracked()}
    assert root - SET_BY_DESIGN - DEMANDED_BY_TOOLS == set()
    assert SET_BY_DESIGN - root == set()


def test_what_an_underscore_says_is_not_listed_again():
    """Only modules that leave a function or class out have an ``__all__``, and the page to read."""
    needless = []
    for module in chain(*((ROOT / name).rglob("*.py") for name in ("course_lib", "grader"))):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        lists = [n.value for n in tree.body if ast.unparse(n).startswith("__all__ = ")]
        if lists and "bank" not in module.parts and module.name not in ("__init__.py", "whole.py"):
            names = {n.name for n in tree.body if hasattr(n, "name") and n.name[0] != "_"}
            if not names - set(ast.literal_eval(lists[0])):
                needless.append(module.relative_to(ROOT).as_posix())
    assert needless == []


def test_no_files_import_each_other_in_a_circle():
    """Inside a part, too; what a function imports or a type alone needs counts as well."""
    graph = grimp.build_graph("course_lib", "grader", cache_dir=None)
    # `judge_process`, run as a program, imports itself by the name that pickled orders have.
    imported = {m: graph.find_modules_directly_imported_by(m) - {m} for m in graph.modules}
    assert "course_lib.experiments" in imported["course_lib.cli.research"], "inside a function"
    TopologicalSorter(imported).prepare()  # its CycleError names the circle


def test_the_readmes_commands_are_those_that_ci_runs():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```\n(make\nmake test)\n```", readme)
    assert block, "the two commands"
    assert (ROOT / ".ci/run").read_text().rstrip().endswith('make "${@:-test}"')


def test_every_command_is_in_one_group_and_on_the_page_of_commands_and_no_other():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = (ROOT / "book" / "commands.md").read_text(encoding="utf-8")
    from course_lib.cli import GROUPS, parser

    known = {*parser().commands.choices} - {"help"}
    for name, group in GROUPS.items():
        (section,) = re.findall(rf"^## {name.title()}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
        assert {*re.findall(r"^\| `course ([\w-]+)", section, re.M)} == {
            *group.first,
            *group.others,
        }
    listed = [command for group in GROUPS.values() for command in group.first + group.others]
    assert sorted(listed) == sorted(known) and len(readme.splitlines()) <= 90
    named = re.findall(r"`(?:\.venv/bin/)?course ([a-z-]+)", readme)
    assert {"grade", "help"} <= {*named} <= {*known, "help"} | {"--help"}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", readme)) <= targets


def test_addresses_agree():
    with (ROOT / "pyproject.toml").open("rb") as file:
        urls = tomllib.load(file)["project"]["urls"]
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert config["repository"]["url"] == urls["Repository"]
    assert config["html"]["baseurl"].rstrip("/") == urls["Documentation"]


def test_the_version_and_its_day_agree():
    with (ROOT / "pyproject.toml").open("rb") as file:
        version = tomllib.load(file)["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)", changes, re.MULTILINE)
    assert headings[0] == "Not yet released"
    assert headings[1] == f"{version} ({citation['date-released']})"
    assert str(citation["version"]) == version
    with (ROOT / "grader" / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["version"] == version


def test_conda_and_pip_ask_for_the_same():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    asked = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    pip = {re.split(r"[<>=]", a)[0].lower(): a.replace(" ", "") for a in asked}
    pip["pytorch"] = pip.pop("torch").replace("torch", "pytorch")
    for entry in conda:
        if isinstance(entry, dict) or re.split(r"[ <>=]", entry)[0] in ("python", "make", "pip"):
            continue
        assert pip[re.split(r"[ <>=]", entry)[0]] == entry.replace(" ", "")


def test_constraints_pin_what_is_installed_and_what_is_asked_for():
    from importlib.metadata import version

    from packaging.requirements import Requirement

    lines = (ROOT / "constraints.txt").read_text().splitlines()
    wanted = [Requirement(line) for line in lines if not line.startswith("#")]
    # A line may hold for some Pythons only: Debian 12 has 3.11.2.
    wanted = [pin for pin in wanted if pin.marker is None or pin.marker.evaluate()]
    pins = {pin.name: str(pin.specifier).removeprefix("==") for pin in wanted}
    assert len(pins) == len(wanted)
    for name in ("torch", "jupyter-book", "Sphinx", "sphinx-book-theme", "nbgrader", "numpy"):
        assert version(name).split("+")[0] == pins[name]
    assert pins["Sphinx"].startswith("7.4")


def test_no_machine_and_no_workshop_in_the_text():
    words = re.compile(r"(?<![\w.])/(?:tmp|work|root|home)/|\bsubagent\b|\bTODO\b|\bFIXME\b")
    kinds = {".md", ".py", ".yml", ".toml", ".ipynb", ".json", ".css", ".js", ".html"}
    for path in tracked():
        # Tests may hold such words to look for them.
        if path.suffix in kinds and path.parts[0] != "tests" and (ROOT / path).is_file():
            found = words.search((ROOT / path).read_text(encoding="utf-8"))
            assert not found, f"{path}: {found[0]}"


def test_the_map_of_the_library_names_every_part_once():
    named = re.findall(r"^    (\w+) +\S", course_lib.__doc__, re.MULTILINE)
    folder = ROOT / "course_lib"
    parts = {p.parent.name for p in folder.glob("*/__init__.py")}
    parts |= {p.stem for p in folder.glob("*.py")} - {"__init__"}
    assert len(named) == len(set(named)) and set(named) == parts
    assert named[0] == "whole"  # who reads one file of the library reads this one
    for line in re.findall(r"^    \w+ +(.+)$", course_lib.__doc__, re.MULTILINE):
        assert len(line.split()) <= 6, line


KEPT = """defence/03/keys/ada.html second-marks/ada.json summary/03.csv submitted/ada/03/x
replaced/03/ada/1 roster.json .roster.json.0a1b2c3d.part .collect/ada/x .grading-seeds.json
.renaming.json .sample-cells"""


@pytest.mark.parametrize("place", KEPT.split())
def test_what_commands_keep_of_students_reaches_no_commit(place):
    ignored = ["git", "check-ignore", "--no-index", "-q", place]
    assert subprocess.run(ignored, cwd=ROOT).returncode == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("course_lib.checks.cell", "grader.checks.cell"),
        ("course_lib.grading", "grader"),
        ("course_lib.grading.formgrader", "grader.formgrader"),
        ("course_lib.grading.judging.judge_process", "grader.judge.judge_process"),
        ("course_lib.handout.selfcheck", "grader.student.selfcheck"),
        ("course_lib.hub.settings", "grader.hub.settings"),
        ("course_lib.errors", "grader.base.errors"),
    ],
)
def test_an_old_name_is_the_module_itself(old, new):
    module = importlib.import_module(old)
    assert module is importlib.import_module(new)
    assert module.__name__ == module.__spec__.name == new


def test_notebooks_and_configurations_say_old_names():
    from traitlets.utils.importstring import import_item

    assert check is grader.checks.cell.check
    penalty = import_item("course_lib.grading.lateness.DailyPenalty")
    assert penalty is grader.lateness.DailyPenalty


def test_a_pickle_from_before_is_read():
    now = pickle.dumps(Task, protocol=0)
    assert pickle.loads(now.replace(b"grader.judge", b"course_lib.grading.judging")) is Task


def test_a_module_that_never_was_is_missing():
    with pytest.raises(ModuleNotFoundError, match="grader.nothing"):
        importlib.import_module("course_lib.grading.nothing")
