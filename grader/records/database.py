"""A gradebook on a database server: errors that say what to do, one grader at a time, moving there.

nbgrader takes any address that SQLAlchemy knows. SQLite needs nothing and is one file; PostgreSQL
is for a gradebook that several machines or many people use.
"""

import contextlib
import logging
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nbgrader import api
from nbgrader.api import Base, Gradebook
from sqlalchemy import Connection, Table, create_engine, func, inspect, make_url, select, text
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DataError,
    IntegrityError,
    OperationalError,
    SQLAlchemyError,
)

from grader.base.errors import Refused
from grader.judge.fast_imports import newest_schema
from grader.records.course_folder import lock

# The key of the lock that graders take on a server; any number that nothing else there uses.
LOCK = 0x61747465
# Seconds after which a grader that has just been killed is surely noticed to be gone.
WAIT = 5.0
# Advice on messages of SQLite, and on anything that a server says.
ADVICE = {
    "is full": "Make room there",
    "readonly": "Make it and its folder writable",
    "": "Check that its folder exists and that no other program holds it",
}
SERVER = "Is the server up, may you log in, does the database exist (createdb)? Nothing is lost"
Row = dict[str, Any]


def shown(address: str) -> str:
    """A database's address without its password.

    Example:
        >>> shown("postgresql://ada:secret@db.example.org/grades")
        'postgresql://ada:***@db.example.org/grades'
    """
    try:
        return make_url(address).render_as_string(hide_password=True)
    except ArgumentError:
        return "a database address that cannot be read"


def file_of(address: str) -> Path | None:
    """The file of a gradebook in SQLite; None where a server keeps it."""
    sqlite = address.startswith("sqlite:")
    return Path(make_url(address).database or "") if sqlite else None


@contextlib.contextmanager
def explained(address: str) -> Iterator[None]:
    """Turn what a database driver raises into what to do about it."""
    try:
        try:
            yield
        except api.InvalidEntry as error:
            # nbgrader's own, in which the driver's is hidden.
            raise (error.__context__ or error) from None
    except ModuleNotFoundError as error:
        raise Refused(
            f"{shown(address)}: {error}. For PostgreSQL: pip install -e '.[postgres]'"
        ) from None
    except ArgumentError as error:
        raise Refused(f"{shown(address)}: {error}") from None
    except OperationalError as error:
        reason = " ".join(str(error.orig).split())
        known = ADVICE if file_of(address) else {"": SERVER}
        advice = next(do for said, do in known.items() if said in reason)
        raise Refused(
            f"{shown(address)}: {reason}. {advice}; then run the same command again"
        ) from None
    except DatabaseError as error:
        reason = " ".join(str(error.orig).split())
        if isinstance(error, (IntegrityError, DataError)) or not file_of(address):
            raise
        raise Refused(
            f"{shown(address)}: {reason}. The file is damaged or no gradebook: put a copy of it"
            " back from a backup, since scores and comments that people gave are nowhere else;"
            " without one, move it away, and `course grade` makes a new one"
        ) from None


@contextlib.contextmanager
def opened(address: str) -> Iterator[Gradebook]:
    """A gradebook, created when it is not there; errors are those of :func:`explained`."""
    # nbgrader asks another program for it, which is in the PATH of an activated environment only.
    api.get_alembic_version = newest_schema
    # It logs with a traceback what it raises.
    api.app_log = logging.Logger(__name__, logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with explained(address), Gradebook(address) as gradebook:
            yield gradebook


@contextlib.contextmanager
def alone(address: str, held: Path | None = None) -> Iterator[None]:
    """Be a gradebook's only grader; the caller holds the lock of the course folder ``held``."""
    if file := file_of(address):
        home = file.resolve().parent
        with contextlib.nullcontext() if held and home == held.resolve() else lock(home):
            yield
        return
    if not address.startswith("postgresql"):
        raise Refused(
            f"{shown(address)}: graders cannot be kept apart there; wanted sqlite or postgresql"
        )
    with explained(address):
        engine = create_engine(address)
        connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    try:
        until = time.monotonic() + WAIT
        while not connection.scalar(select(func.pg_try_advisory_lock(LOCK))):
            if time.monotonic() > until:
                raise Refused(
                    f"{shown(address)}: another `course` command is at work on this gradebook; wait"
                    " for it, or end it"
                )
            time.sleep(0.2)
        yield
    finally:
        # The server gives the lock back with the connection, however that ends.
        with contextlib.suppress(SQLAlchemyError):
            connection.close()
        engine.dispose()


def migrate(source: str, target: str) -> dict[str, int]:
    """Copy a whole gradebook into an empty one, everything or nothing; rows of each table."""
    if (file := file_of(source)) and not file.is_file():
        raise Refused(f"{shown(source)}: there is no such file")
    with alone(source), alone(target):
        with explained(source), create_engine(source).connect() as reading:
            version = _version(reading, source)
            rows = {t: _rows(reading, t) for t in Base.metadata.sorted_tables}
        with explained(target):
            with opened(target):
                pass  # Its tables are made.
            with create_engine(target).begin() as writing:
                _stamp(writing)
                if (there := _version(writing, target)) != version:
                    raise Refused(
                        f"{shown(source)} has nbgrader's version {version}, {shown(target)} has"
                        f" {there}: bring the older one up with `nbgrader db upgrade` first"
                    )
                try:
                    return _copy(rows, writing, target)
                except (IntegrityError, DataError) as error:
                    raise Refused(
                        f"{shown(target)} does not take what {shown(source)} holds: {error.orig}."
                        " Nothing was copied"
                    ) from None


def _stamp(connection: Connection) -> None:
    """Say of which version tables are that were just made, if who made them was ended before."""
    if "alembic_version" not in inspect(connection).get_table_names():
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        insert = text("INSERT INTO alembic_version VALUES (:version)")
        connection.execute(insert, {"version": newest_schema()})


def _version(connection: Connection, address: str) -> str:
    if "alembic_version" not in inspect(connection).get_table_names():
        raise Refused(f"{shown(address)}: no gradebook of nbgrader's")
    return str(connection.scalar(text("SELECT version_num FROM alembic_version")))


def _copy(tables: Mapping[Table, list[Row]], writing: Connection, target: str) -> dict[str, int]:
    for table in tables:
        # Every gradebook that was opened once holds one course, and it comes anew.
        rows = writing.scalar(select(func.count()).select_from(table))
        if rows and table.name != "course":
            raise Refused(
                f"{shown(target)} is not empty ({rows} rows in {table.name}): nothing was copied;"
                " take a new database"
            )
    writing.execute(Base.metadata.tables["course"].delete())
    for table, sent in tables.items():
        if sent:
            writing.execute(table.insert(), sent)
        if sorted(map(repr, sent)) != sorted(map(repr, _rows(writing, table))):
            raise Refused(
                f"{shown(target)}: {table.name} did not arrive as it was sent; nothing was copied"
            )
    return {table.name: len(sent) for table, sent in tables.items()}


def _rows(connection: Connection, table: Table) -> list[Row]:
    return [dict(row) for row in connection.execute(select(table)).mappings()]
