"""Fixtures that several test modules share."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from course_lib.book import browser as browsing
from course_lib.checks.absent import AbsentModule

# Tests are small: more threads only wait for each other, on a busy machine ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def missing(what: str) -> None:
    """Skip the test, or fail it where everything must be there (``COURSE_CI=1``)."""
    if os.environ.get("COURSE_CI") == "1":
        pytest.fail(f"{what}, and COURSE_CI=1 allows no skip")
    pytest.skip(what)


@pytest.fixture(scope="module", autouse=True)
def _library_is_whole() -> Iterator[None]:
    """No test leaves a stand-in for a module: later ones would fail far from the cause."""
    yield
    left = [name for name, module in sys.modules.items() if isinstance(module, AbsentModule)]
    assert not left


@pytest.fixture(scope="session", name="missing")
def _missing() -> Callable[[str], None]:
    """:func:`missing`, for tests further down, which cannot import it."""
    return missing


@pytest.fixture(scope="session")
def course_data() -> Path:
    """The folder with the real data sets that ``COURSE_DATA`` names."""
    named = os.environ.get("COURSE_DATA", "")
    if not named:
        missing("COURSE_DATA is not set")
    folder = Path(named)
    for name in ("cifar-10-batches-bin", "ETTh1.csv", "ETTm1.csv"):
        if not (folder / name).exists():
            missing(f"COURSE_DATA does not hold {name}")
    return folder


@pytest.fixture(scope="session")
def built_book() -> Path:
    """The folder of the rendered book, as ``make book`` leaves it."""
    html = Path(__file__).parents[1] / "_build" / "html"
    if not (html / "index.html").exists():
        missing("the book is not built: run `make book`")
    return html


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium driven by playwright."""
    with contextlib.ExitStack() as stack:
        try:
            browser = stack.enter_context(browsing.chromium())
        except browsing.NoBrowser as absent:
            missing(str(absent))
        yield browser


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """Serve folders on loopback; returns the address of one."""
    with contextlib.ExitStack() as stack:
        yield lambda folder: stack.enter_context(browsing.serving(folder))


class Postgres:
    """A PostgreSQL server of one's own, on loopback."""

    def __init__(self, programs: Path, folder: Path, owner: int | None) -> None:
        self.programs, self.folder, self.owner, self.made = programs, folder, owner, 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.run("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "course", "--no-sync")

    def run(self, program: str, *arguments: str) -> None:
        """Run one of the server's programs in the account that owns it."""
        subprocess.run(
            [self.programs / program, *arguments], check=True, capture_output=True,
            cwd=self.folder, user=self.owner,
        )  # fmt: skip

    def start(self) -> None:
        """Start the server, and wait for it."""
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c fsync=off -k {self.folder}"
        log = f"{self.folder}/log"
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", log, "-o", settings, "start")

    def stop(self) -> None:
        """Stop it in the middle of whatever it does."""
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-m", "immediate", "stop")

    def connect(self, name: str = "postgres") -> Any:
        """A connection to one of its databases, as `psycopg` makes them."""
        import psycopg

        return psycopg.connect(
            f"host=127.0.0.1 port={self.port} user=course dbname={name}", autocommit=True
        )

    def database(self) -> tuple[str, str]:
        """A new, empty database: its name, and its address as nbgrader writes it."""
        self.made += 1
        name = f"course{self.made}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return name, f"postgresql+psycopg://course@127.0.0.1:{self.port}/{name}"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server on loopback."""
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
