"""Tests that are judged: torch-judge's, somebody's own for pytest, and the course's checks."""

import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from xml.etree import ElementTree

import torch

import course_lib
from course_lib.checks.exercise import find
from course_lib.checks.grading import grade_source
from course_lib.errors import Refused
from course_tests.judge_tests.problems import Candidate, Problem, every, forked, read

HERE = Path(__file__).parent


class Verdict(NamedTuple):
    """One test, and why it refuses an answer; nothing if it lets it pass."""

    test: str
    fault: str = ""


class Suite(Protocol):
    """Tests of several problems."""

    name: str
    version: str
    problems: dict[str, Problem]

    def judge(self, key: str, answer: Candidate) -> list[Verdict]:
        """The verdict of each test of a problem on an answer."""
        ...


class TorchJudge:
    """The package ``torch-judge``, where the user has installed it."""

    name = "torch-judge"

    def __init__(self, where: str, adapters: Path | None, seconds: float) -> None:
        if where:
            sys.path.insert(0, str(Path(where).resolve()))
        try:
            self.tasks: Mapping[str, Any] = importlib.import_module("torch_judge.tasks").TASKS
        except ModuleNotFoundError:
            raise Refused(
                "torch-judge is not installed: `pip install --no-deps --target FOLDER torch-judge`,"
                " and name it by --where FOLDER"
            ) from None
        try:
            self.version = version(self.name)
        except PackageNotFoundError:
            self.version = "unknown"
        known = read(adapters or HERE / "torch_judge.toml")
        self.problems = {key: known[key] for key in known if key in self.tasks}
        self.seconds = seconds

    def judge(self, key: str, answer: Candidate) -> list[Verdict]:
        """As the package's own judge runs them: each test by itself, with the answer's name."""
        task, name = self.tasks[key], self.tasks[key]["function_name"]

        def run(code: str) -> None:
            names: dict[str, Any] = {}
            exec(answer.text, names)
            exec(code.replace("{fn}", name), {name: names[name]})

        return [
            Verdict(test["name"], forked(lambda code=test["code"]: run(code), self.seconds)[1])
            for test in task["tests"]
        ]


class Ours:
    """The course's own checks, on the answers that torch-judge gets."""

    name = "ours"

    def __init__(self, adapters: Path | None, seconds: float) -> None:
        self.version = version("attention-course")
        self.problems = read(adapters or HERE / "torch_judge.toml")
        self.seconds = seconds

    def judge(self, key: str, answer: Candidate) -> list[Verdict]:
        """The properties of the exercise."""

        def run() -> list[tuple[str, str]]:
            report = grade_source(find(answer.graded), answer.source, "1")
            return [(row.name, "" if row.passed else "not met") for row in report.rows]

        rows, fault = forked(run, 10 * self.seconds)
        return [Verdict("the check", fault)] if fault else [Verdict(*row) for row in rows]


class Pytest:
    """A file or folder of tests for pytest, with adapters of the user's."""

    name = "pytest"

    def __init__(self, path: Path, adapters: Path | None, seconds: float, root: Path) -> None:
        if not path.exists():
            raise Refused(f"{path} is not there: a suite is torch-judge, ours, or a path of tests")
        if adapters is None:
            raise Refused("--adapter FILE.toml says which exercise each function of yours is")
        self.problems, self.path, self.seconds = read(adapters), path.resolve(), seconds
        self.version = path.name
        if bad := [key for key, problem in self.problems.items() if not problem.module]:
            raise Refused(f"{adapters}: no `module` that the tests import for {', '.join(bad)}")
        # Whatever is not being tried is right, so that a module imports as a whole.
        self.models = {
            key: next(every(one, one.adapters[0], root, own=False))
            for key, one in self.problems.items()
        }

    def judge(self, key: str, answer: Candidate) -> list[Verdict]:
        """Run pytest on a folder in which the answer lies under the name the tests import.

        Tests in a package may import their neighbours, so all of it is copied; what it defines
        under that name already is replaced.
        """
        package = self.path if self.path.is_dir() else self.path.parent
        with tempfile.TemporaryDirectory(prefix="course-judge-") as name:
            folder, path = Path(name), self.path
            if (package / "__init__.py").exists():
                shutil.copytree(package, folder / package.name)
                path = folder / package.name / path.relative_to(package)
            self._write(folder, {**self.models, key: answer})
            return self._run(folder, path, self.problems[key].tests)

    def _write(self, folder: Path, chosen: Mapping[str, Candidate]) -> None:
        for number, (key, answer) in enumerate(chosen.items()):
            problem = self.problems[key]
            (folder / f"_answer_{number}.py").write_text(answer.text, encoding="utf-8")
            module = folder.joinpath(*problem.module.split(".")).with_suffix(".py")
            module.parent.mkdir(parents=True, exist_ok=True)
            with module.open("a", encoding="utf-8") as file:
                file.write(f"from _answer_{number} import {problem.name}\n")

    def _run(self, folder: Path, path: Path, tests: list[str]) -> list[Verdict]:
        report = folder / "report.xml"
        apart = "/" if path.is_dir() else "::"  # of a folder: test_model.py::test_rope
        which = [f"{path}{apart}{test}" for test in tests] or [str(path)]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                   f"--junitxml={report}", *which]  # fmt: skip
        paths = [str(folder), str(Path(course_lib.__file__).parents[1])]
        paths += filter(None, [os.environ.get("PYTHONPATH")])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        process = subprocess.Popen(
            command,
            # Beside a package, as its tests are run from its repository.
            cwd=folder if folder in path.parents else path if path.is_dir() else path.parent,
            env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(self.seconds)
        except subprocess.TimeoutExpired:
            return [Verdict("the suite", f"not done after {self.seconds:g} s")]
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        try:
            cases = [
                case
                for case in ElementTree.parse(report).iter("testcase")
                if case.find("skipped") is None
            ]
        except (OSError, ElementTree.ParseError):
            return [Verdict("the suite", f"ended with {process.returncode} and no report")]
        return [Verdict(str(case.get("name")), _fault(case)) for case in cases] or [
            Verdict("the suite", "no tests ran")
        ]


def _fault(case: ElementTree.Element) -> str:
    failed = next((kind for kind in ("failure", "error") if case.find(kind) is not None), "")
    found = case.find(failed) if failed else None
    return "" if found is None else " ".join(str(found.get("message") or failed).split())[:120]


def named(name: str, where: str, adapters: Path | None, seconds: float, root: Path) -> Suite:
    """The suite that a command names."""
    torch.set_num_threads(1)
    if name == TorchJudge.name:
        return TorchJudge(where, adapters, seconds)
    if name == Ours.name:
        return Ours(adapters, seconds)
    return Pytest(Path(name), adapters, seconds, root)
