"""A proof that somebody solved exercises: one file, which whoever gets it judges again.

It holds notebooks without outputs, what their maker's own checks gave, and the path of the checks
if the maker wants that shown. It is signed by a key made for it alone (Ed25519, RFC 8032): nobody
can change the file and keep its key.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.base.errors import Refused
from grader.checks.cell import PATH
from grader.intake import parsing
from grader.student.selfcheck import source_of

FORMAT = "course proof 1"
# Bytes of a whole file, and steps of a path.
MOST, MOST_STEPS = 32 * 2**20, 2000


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Step(_Strict):
    """One check on the path: what was checked, on which samples, and what came of it."""

    on: str
    exercise: str
    source: str
    seed: str = Field(pattern="^[0-9a-f]{32}$")
    points: float
    fallen: list[str]

    @property
    def when(self) -> datetime:
        """The time that the maker's machine had."""
        return datetime.fromisoformat(self.on).astimezone(UTC)


class Packed(_Strict):
    """One notebook of a proof: its cells, the modules beside it, and the points it claims."""

    name: str
    engine: str
    content: str
    modules: dict[str, str]
    points: dict[str, float]


class Proof(_Strict):
    """All that the maker of a proof says."""

    made: str
    course: str
    name: str
    notebooks: list[Packed] = Field(min_length=1, max_length=100)
    path: list[Step] = Field(max_length=MOST_STEPS)


def packed(path: Path, root: Path, points: Mapping[str, float]) -> Packed:
    """A notebook without its outputs, with the points that its own checks gave."""
    content = path.read_bytes()
    source = source_of(path.stem, root, parsing.parse(content))
    if source is None:
        raise Refused(f"{path} is no notebook of this course: no assignment has its cells")
    notebook = parsing.document(content)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        cell.pop("attachments", None)
        mark = cell.metadata.get("nbgrader")
        cell.metadata = nbformat.from_dict({"nbgrader": mark} if mark else {})
    return Packed(
        name=source.stem,
        engine=_engine(root, source),
        content=nbformat.writes(notebook),
        modules=parsing.modules(path.resolve().parent),
        points=dict(points),
    )


def read_path(home: Path, exercises: set[str]) -> list[Step]:
    """The path of checks of these exercises, as ``check`` has written it."""
    path = home / PATH
    try:
        steps = [Step(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    except FileNotFoundError:
        raise Refused(
            f"there is no history: after `touch {path}` every check writes a line there"
        ) from None
    except (ValueError, TypeError) as error:
        raise Refused(f"{path} is damaged: {parsing.plain(str(error))}") from None
    return [step for step in steps if step.exercise in exercises][-MOST_STEPS:]


def sign(proof: Proof) -> tuple[str, str]:
    """The file's text, and its key in short."""
    key = Ed25519PrivateKey.generate()
    body = proof.model_dump_json()
    public = key.public_key().public_bytes_raw().hex()
    signature = key.sign(body.encode()).hex()
    file = {"format": FORMAT, "key": public, "signature": signature, "body": body}
    return json.dumps(file, indent=1) + "\n", short(public)


def short(key: str) -> str:
    """A key as it is read out: its first sixteen digits."""
    return " ".join(key[n : n + 4] for n in range(0, 16, 4))


def read(path: Path) -> tuple[Proof, str]:
    """A proof and its key in short, unless it is none or has been changed since it was signed."""
    if not path.is_file():
        raise Refused(f"there is no file {path}")
    if path.stat().st_size > MOST:
        raise Refused(f"{path} is larger than any proof")
    try:
        file = json.loads(path.read_bytes())
        if file["format"] != FORMAT:
            raise Refused(f"{path} is not a `{FORMAT}`: another version of the course made it")
        key, signature, body = (file[name] for name in ("key", "signature", "body"))
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(signature), body.encode())
        return Proof.model_validate_json(body), short(key)
    except InvalidSignature:
        raise Refused(
            f"{path} has been changed since it was signed: nothing in it counts"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise Refused(f"{path} is no proof: {where}: {first['msg']}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Refused(f"{path} is no proof: `course prove` makes them") from None


def _engine(root: Path, source: Path) -> str:
    """The hash of what judges; empty in a handout, which does not hold all of it."""
    if source.suffix != ".md":
        return ""
    from grader.engine import engine_hash

    return engine_hash(root, source.stem)
