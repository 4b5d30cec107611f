"""A hub's settings for tests: other accounts, folders and ports than a real one's."""

from __future__ import annotations

import json
import socket
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from course_lib.hub.settings import Place, read

ROOT = Path(__file__).resolve().parents[2]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def settings() -> Callable[..., Place]:
    """The repository's settings with some changed, written to a file and read."""

    def write(file: Path, **changes: object) -> Place:
        said = tomllib.loads((ROOT / "deploy/local/hub.toml").read_text()) | changes
        # A list of texts, a text and a number are the same in JSON and TOML.
        file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in said.items()))
        return read(file)

    return write


@pytest.fixture
def place(tmp_path: Path, settings: Callable[..., Place]) -> Place:
    """A hub that nobody has made."""
    names = ("port", "hub_port", "proxy_port", "service_port")
    return settings(
        tmp_path / "hub.toml",
        state=str(tmp_path / "state"),
        software=str(tmp_path / "software"),
        grader="hubtest-grader",
        instructors="hubtest-instructors",
        students="hubtest-students",
        **dict(zip(names, free_ports(4), strict=True)),
    )
