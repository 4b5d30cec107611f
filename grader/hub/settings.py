"""Where a hub lives and what it is called: ``deploy/local/hub.toml``, read and looked at.

The hub's own configuration and that of every server it starts read the same file, so nothing is
said twice. This module needs nothing but Python: pydantic would cost each server twelve megabytes.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import urlsplit

from grader.base.errors import Refused

# Names that `useradd` takes everywhere, and that are a word in an address, too.
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")


class Below:
    """A path below one of a hub's folders."""

    def __init__(self, folder: str, path: str) -> None:
        self.folder, self.path = folder, path

    def __get__(self, place: HubSettings, kind: object = None) -> Path:
        return Path(getattr(place, self.folder), self.path)


@dataclass(frozen=True)
class HubSettings:
    """All that is said about a hub."""

    file: Path  # where that is written
    course: str  # nbgrader's course id, also the name of the hub's service
    software: Path  # Python, proxy and library that every account can read
    state: Path  # the exchange, the hub's database and the homes made here
    address: str  # where the hub listens
    port: int  # for browsers
    hub_port: int  # for the servers, on loopback
    proxy_port: int  # for the hub's orders to its proxy, on loopback
    service_port: int  # for Formgrader, on loopback
    hub_database: str  # an address; empty for a file of SQLite
    gradebook: str  # an address of nbgrader's; empty for a file of SQLite
    grader: str  # the account in which Formgrader and the judge run
    instructors: str  # the group of accounts that may use Formgrader
    students: str  # the group of accounts that take the course
    demo_instructor: str  # the account that the demo makes
    demo_students: tuple[str, ...]  # the accounts that it makes

    bin = Below("software", "venv/bin")  # commands of the Python that every account can reach
    library = Below("software", "src")  # library and grader, for every account
    proxy = Below(
        "software", "npm/node_modules/configurable-http-proxy/bin/configurable-http-proxy"
    )
    exchange = Below("state", "exchange")  # nbgrader's
    lecture = Below("state", "lecture/checks")  # where checks send while a lecture's page is on
    hub = Below("state", "hub")  # state of the hub; root's alone
    etc = Below("state", "etc")  # Jupyter's configuration, a folder for each kind of account
    home = Below("state", "home")  # homes of the accounts that were made here

    @property
    def checkout(self) -> Path:
        """The grader's own copy of the course, with the answers and the gradebook."""
        return self.home / self.grader / self.course

    @property
    def url(self) -> str:
        """Address that a browser on this machine opens."""
        host = "127.0.0.1" if self.address in ("0.0.0.0", "::") else self.address
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def path(self) -> str:
        """The variable ``PATH`` of every server."""
        return f"{self.bin}:/usr/local/bin:/usr/bin:/bin"

    def config_path(self, kind: str) -> str:
        """Where Jupyter looks first, for a ``student``, ``instructor`` or ``grader``."""
        return f"{self.etc / kind}:{self.etc / 'everybody'}"


def read(file: Path) -> HubSettings:
    """Read a file like ``deploy/local/hub.toml``; a refusal says what makes no sense."""
    try:
        facts = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refused(f"{file}: {error.strerror}; name the settings with --settings") from None
    except ValueError as error:
        raise Refused(f"{file}: {error}") from None
    values: dict[str, object] = {}
    for field in fields(HubSettings)[1:]:
        if field.name not in facts:
            raise Refused(f"{file.name}: `{field.name}` is missing")
        values[field.name] = _convert(facts.pop(field.name), str(field.type), field.name, file)
    if facts:
        raise Refused(f"{file.name}: unknown `{'`, `'.join(sorted(facts))}`")
    place = HubSettings(file, **values)  # type: ignore[arg-type]
    _look(place)
    return place


def _convert(value: object, kind: str, name: str, file: Path) -> object:
    if kind == "int" and type(value) is int:
        return value
    if kind in ("Path", "str") and isinstance(value, str):
        return Path(value) if kind == "Path" else value
    if kind == "tuple[str, ...]" and isinstance(value, list) and {*map(type, value)} <= {str}:
        return tuple(value)
    kind_name = {"int": "a whole number", "tuple[str, ...]": "a list of texts"}.get(kind, "a text")
    raise Refused(f"{file.name}: `{name}` is {value!r}; wanted {kind_name}")


def _look(place: HubSettings) -> None:
    name = place.file.name
    for folder in (place.software, place.state):
        if not folder.is_absolute():
            raise Refused(f"{name}: {folder} must begin with a slash")
    try:
        ipaddress.ip_address(place.address)
    except ValueError:
        raise Refused(
            f"{name}: `address` is {place.address!r}; wanted numbers such as 127.0.0.1"
        ) from None
    ports = (place.port, place.hub_port, place.proxy_port, place.service_port)
    if len(set(ports)) < len(ports) or not all(1 <= port <= 65535 for port in ports):
        raise Refused(f"{name}: wanted four different ports from 1 to 65535, not {ports}")
    for key in ("hub_database", "gradebook"):
        _look_at_address(name, key, getattr(place, key))
    accounts = (place.grader, place.demo_instructor, *place.demo_students)
    groups = (place.instructors, place.students)
    for word in (place.course, *accounts, *groups):
        if not _NAME.fullmatch(word):
            raise Refused(
                f"{name}: {word!r} is no name for a course, account or group: at most 31"
                " lower-case letters, digits and hyphens, a letter first"
            )
    for kind, words in (("accounts", accounts), ("groups", groups)):
        if len(set(words)) < len(words):
            raise Refused(f"{name}: two {kind} have the same name: {', '.join(sorted(words))}")


def _look_at_address(file: str, key: str, address: str) -> None:
    """Refuse what is no address of a database, or tells a password to every account."""
    if address and "://" not in address:
        raise Refused(
            f"{file}: `{key}` is {address!r}; wanted nothing, or an address such as"
            " postgresql+psycopg://hub@127.0.0.1/hub"
        )
    if urlsplit(address).password:
        raise Refused(
            f"{file}: `{key}` holds a password, and every account reads this file: leave it to"
            " ~/.pgpass"
        )
