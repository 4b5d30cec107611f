"""Fixtures that several test modules share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


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
