"""Fixtures that several test modules share."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Tests are small: more threads only wait for each other, on a busy machine ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def missing(what: str) -> None:
    """Skip the test, or fail it where everything must be there (``COURSE_CI=1``)."""
    if os.environ.get("COURSE_CI") == "1":
        pytest.fail(f"{what}, and COURSE_CI=1 allows no skip")
    pytest.skip(what)


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
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        missing("there is no chromium on the path")
    sync_api = pytest.importorskip("playwright.sync_api")
    # Without the background flags every start asks hosts that a closed network refuses.
    quiet = ("quic", "background-networking", "component-update", "sync", "gpu")
    flags = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in quiet)]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """Serve folders on loopback; returns the address of one."""
    servers = []

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    def start(folder: Path) -> str:
        handler = functools.partial(Quiet, directory=str(folder))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
