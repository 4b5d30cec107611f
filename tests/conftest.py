"""Fixtures that several test modules share."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from course_lib.book import browser as browsing

# Tests are small: more threads only wait for each other, on a busy machine ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def missing(what: str) -> None:
    """Skip the test, or fail it where everything must be there (``COURSE_CI=1``)."""
    if os.environ.get("COURSE_CI") == "1":
        pytest.fail(f"{what}, and COURSE_CI=1 allows no skip")
    pytest.skip(what)


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
