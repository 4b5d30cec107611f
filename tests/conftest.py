"""Fixtures that several test modules share."""

import contextlib
import gc
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from course_lib.book import browser as browsing
from grader.checks.import_stubs import AbsentModule
from grader.cli.common import instrument

# Tests are small: more threads only wait for each other, on a busy machine ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Imports and collected tests are no garbage: to look for it there takes a third of the collection.
gc.disable()

# Run by a kernel of its own in every run; the other notebooks only where all is run. A solution
# is run by one where stock nbgrader grades it.
BY_KERNEL = "exercises/03_attention/"


ROOT = Path(__file__).parents[1]
BANK = ROOT / "course_lib" / "bank"
CODE = "course_lib", "grader", "tests", "book/results"
# Tests import from here on what lies beside them as `course_tests`.
CHANGED = instrument("changed", ROOT)


def pytest_addoption(parser):
    """Let a run be about a change only."""
    say = "only what can see a file that differs from this revision, or is new"
    parser.addoption("--changed", metavar="REVISION", help=say)


def pytest_configure(config):
    """Find once what a change reaches: the first process does, and tells its workers."""
    config.asked = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
    config.chosen = getattr(config, "workerinput", {}).get("chosen")
    if config.chosen is None and (since := config.getoption("--changed")):
        config.chosen = selection(changes(since), config.asked)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Tell a worker what the first process has found."""
    node.workerinput["chosen"] = node.config.chosen


def pytest_ignore_collect(collection_path, config):
    """Import no file that cannot see a change, unless it is asked for by name."""
    kept = (
        config.chosen is None
        or str(collection_path) in config.chosen["files"]
        or collection_path in config.asked
        or collection_path.is_dir()
    )
    return None if kept else True


def pytest_collection_modifyitems(config, items):
    """Say which notebooks and which cases of a sweep are slow, and what a change reaches."""
    chosen = config.chosen
    samples = {}
    for item in items:
        file = item.nodeid.partition("::")[0]
        if file.endswith(".ipynb") and not file.startswith(BY_KERNEL):
            item.add_marker(pytest.mark.slow)
        if (mark := item.get_closest_marker("sample")) is not None:
            names, values = item.get_closest_marker("parametrize").args
            if item.function not in samples:
                cases = [value if isinstance(value, str) else value[0] for value in values]
                samples[item.function] = sampled(cases, mark.args)
            case = item.callspec.params[names if isinstance(names, str) else names[0]]
            if case not in samples[item.function] and not (chosen and touches(case, chosen)):
                item.add_marker(pytest.mark.slow)
    if chosen is not None:
        kept = [item for item in items if selected(item, chosen)]
        config.hook.pytest_deselected(items=[*{*items} - {*kept}])
        items[:] = kept


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    gc.enable()


def pytest_unconfigure():
    """Leave what is there to the end of the process, which would look through it for seconds."""
    gc.freeze()


def selected(item, chosen):
    """Whether a test can see the change; that of an exercise is not seen by tests of others."""
    cases, path = cases_of(item), str(item.path)
    if chosen["exercises"] and any(touches(case, chosen) for case in cases):
        return True
    other = path in chosen["by_case"] or cases & chosen["exercises"]
    return path in chosen["files"] and not other


def cases_of(item):
    """The strings among the parameters of a test, and those that exercises are named by."""
    values = getattr(item, "callspec", None) and item.callspec.params.values()
    return {str(getattr(value, "id", value)) for value in values or ()}


def selection(changed, asked):
    """What can see a change: ``files`` of tests at or below what is asked for; ``touched`` modules.

    These are the modules of exercises, figures and experiments that a case of a sweep may name.
    """
    tests = {
        path
        for place in asked
        for path in ([place] if place.is_file() else place.rglob("*.*"))
        if not any(part.startswith(".") for part in path.relative_to(place).parts)
        if path.suffix == ".ipynb" or (path.suffix == ".py" and _has_tests(path))
    }
    seen = {path for path in tests if sees(path, changed)}
    code = {file for file in changed if any(ROOT / name in file.parents for name in CODE)}
    # Tests that only search the bank, or releases, see a changed exercise in its own cases alone.
    exercise = (file.parents[1] == BANK and file.stem != "__init__" for file in code)
    alone = bool(code) and all(exercise)
    named = {file for file in changed if not (alone and ROOT / "exercises" in file.parents)}
    direct = {path for path in seen if sees(path, named, search=not alone)}
    by_case = {p for p in seen - direct if p.suffix == ".ipynb" or "param" in p.read_text("utf-8")}
    run = frozenset(file for file in code if ROOT / "grader" / "checks" not in file.parents)
    places = [p.relative_to(ROOT).with_suffix("").parts for p in CHANGED.reached(run, search=False)]
    exercises = {f"{p.parent.name}.{p.stem}" for p in BANK.glob("*/*.py")} if alone else set()
    return {
        "files": set(map(str, direct | by_case)),
        "by_case": set(map(str, by_case)),
        "exercises": exercises,
        "touched": {
            "/".join(rest).removesuffix("_answers")
            for top, *rest in (place[1:] for place in places if place[0] == "course_lib")
            if top in CHANGED.NAMED
        },
        "changed": {file.relative_to(ROOT).with_suffix("").as_posix() for file in changed},
    }


def _has_tests(path):
    return path.match("test_*.py") or path.match("*_test.py") or ">>>" in path.read_text("utf-8")


def changes(since):
    commands = [
        "git diff --name-only --relative " + since,
        "git ls-files --others --exclude-standard",
    ]
    outputs = [subprocess.check_output(ask.split(), cwd=ROOT, text=True) for ask in commands]
    return {ROOT / name for name in "".join(outputs).split("\n") if name}


def sampled(cases, named=()):
    """The cases of a sweep that every run takes: those named, else the first of each topic.

    A case is the first argument of the lowest ``parametrize``; ``masks`` is the topic of
    ``masks.causal_mask``.
    """
    if unknown := {*named} - {*cases}:
        raise pytest.UsageError(f"a sample names {sorted(unknown)}; there are {sorted(cases)}")
    return {*named} or {*{case.partition(".")[0]: case for case in reversed(cases)}.values()}


def touches(case, chosen):
    """Whether a changed file is a source of what the case of a sweep is named after.

    ``masks.causal_mask`` is an exercise's module and what that imports, the engine that runs every
    exercise aside; ``03_attention`` and ``book/intro.html`` are files of these names.
    """
    parts = {*re.split(r"[./]", case.removesuffix(".html"))}
    own = any(parts <= {*file.split("/")} for file in chosen["changed"])
    return own or case.replace("-", "_").replace(".", "/") in chosen["touched"]


def sees(path, changed, *, search=True):
    """Whether what a file tests can depend on one of the changed files; rather once too often.

    ``search``: follow modules that find others while they run.
    """
    above = [folder / "conftest.py" for folder in path.parents if folder.is_relative_to(ROOT)]
    own = [path, *(file for file in above if file.exists())]
    if changed & {*own} or path.suffix != ".py":
        return bool(changed & {*own})
    # The first conftest names what few tests ask it for.
    text = "\n".join(f.read_text("utf-8") for f in own if f != ROOT / "tests" / "conftest.py")
    # What is no code of the library is named by the tests that read it, or a folder above it is.
    code = [ROOT / name for name in CODE[:3]]
    others = {f for f in changed if f.suffix != ".py" or not {*code} & {*f.parents}}
    if any(names(said, file.relative_to(ROOT)) for said in paths(text) for file in others):
        return True
    return path in CHANGED.reached(frozenset(changed), search)


@cache
def paths(text):
    """What a text imports, or has in quotes or with a slash."""
    joined = re.sub(r"[\"'] / f?[\"']", "/", text)
    found = re.findall(r"""(?<![\w.*/-])(from |import |["'])?([\w.*/-]+)(["']?)""", joined)
    return {name for before, name, after in found if before or after or "/" in name}


def names(said, file):
    """Whether a path as far as it goes, or a part of another name, is a file or a folder above."""
    own, parts = (re.findall(r"[^./]+", str(name)) for name in (said, file.with_suffix("")))
    places = [(j, parts.index(word)) for j, word in enumerate(own) if word in parts]
    return any("/" not in said or all(map(fnmatch, parts[i:], own[j:])) for j, i in places)


def missing(what):
    """Skip the test, or fail it where everything must be there (``COURSE_CI=1``)."""
    if os.environ.get("COURSE_CI") == "1":
        pytest.fail(f"{what}, and COURSE_CI=1 allows no skip")
    pytest.skip(what)


@pytest.fixture(autouse=True)
def new_kernel():
    """Clear the advice that a check of an earlier test has given: it is given once in a kernel."""
    if cell := sys.modules.get("grader.checks.cell"):
        cell._advised.clear()


@pytest.fixture(scope="module", autouse=True)
def _library_is_whole():
    """No test leaves a stand-in for a module: later ones would fail far from the cause."""
    yield
    left = [name for name, module in sys.modules.items() if isinstance(module, AbsentModule)]
    assert not left


@pytest.fixture(scope="session", name="missing")
def _missing():
    return missing


@pytest.fixture(scope="session")
def course_data():
    named = os.environ.get("COURSE_DATA", "")
    if not named:
        missing("COURSE_DATA is not set")
    folder = Path(named)
    sets = (
        "cifar-10-batches-bin",
        "ETTh1.csv",
        "ETTm1.csv",
        "multi30k",
        "tatoeba-kor-eng.txt",
        "tinyshakespeare.txt",
    )
    for name in sets:
        if not (folder / name).exists():
            missing(f"COURSE_DATA does not hold {name}")
    return folder


@pytest.fixture(scope="session")
def built_book():
    html = Path(__file__).parents[1] / "_build" / "html"
    if not (html / "index.html").exists():
        missing("the book is not built: run `make book`")
    return html


@pytest.fixture(scope="session")
def launch():
    """Start a headless browser, driven by playwright; the second time it is the first one."""
    with contextlib.ExitStack() as stack:
        try:
            playwright = stack.enter_context(browsing.driver())
        except browsing.NoBrowser as absent:
            missing(str(absent))

        @cache
        def launch(name):
            try:
                return stack.enter_context(browsing.launched(playwright, name))
            except browsing.NoBrowser as absent:
                missing(str(absent))

        yield launch


@pytest.fixture(scope="session")
def chromium(launch):
    return launch("chromium")


@pytest.fixture(
    scope="session", params=["chromium", pytest.param("firefox", marks=pytest.mark.slow)]
)
def browser(request, launch):
    return launch(request.param)


@pytest.fixture(scope="session")
def serve():
    with contextlib.ExitStack() as stack:
        yield lambda folder: stack.enter_context(browsing.serving(folder))


class Postgres:
    """A PostgreSQL server of one's own, on loopback."""

    def __init__(self, programs, folder, owner):
        self.programs, self.folder, self.owner, self.made = programs, folder, owner, 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.run("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "course", "--no-sync")

    def run(self, program, *arguments):
        subprocess.run(
            [self.programs / program, *arguments],
            check=True,
            capture_output=True,
            cwd=self.folder,
            user=self.owner,
        )

    def start(self):
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c fsync=off -k {self.folder}"
        log = f"{self.folder}/log"
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", log, "-o", settings, "start")

    def stop(self):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-m", "immediate", "stop")

    def connect(self, name="postgres"):
        """A connection to one of its databases, as `psycopg` makes them."""
        import psycopg

        return psycopg.connect(
            f"host=127.0.0.1 port={self.port} user=course dbname={name}", autocommit=True
        )

    def database(self):
        """A new, empty database: its name, and its address as nbgrader writes it."""
        self.made += 1
        name = f"course{self.made}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return name, f"postgresql+psycopg://course@127.0.0.1:{self.port}/{name}"


@pytest.fixture(scope="module")
def postgres():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("no PostgreSQL server on this machine: apt install postgresql")
    owner = None
    if os.getuid() == 0:
        try:
            owner = pwd.getpwnam("postgres").pw_uid
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    folder = Path(tempfile.mkdtemp(prefix="course-postgres-"))
    if owner is not None:
        os.chown(folder, owner, -1)
    server = Postgres(found[-1].parent, folder, owner)
    server.start()
    yield server
    with contextlib.suppress(subprocess.CalledProcessError):
        server.stop()
    shutil.rmtree(folder)
