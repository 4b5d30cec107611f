"""Handout: a tree that runs, with exercises and checks, and without answers.

Of the library there is what these notebooks and their checks import, and of that no function that
one of their exercises asks for (:mod:`grader.student.library_apart`); the bank has no answers
(:mod:`grader.student.recording`). What else lies in the folder stays there.
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import MANIFEST, assistants, authoring
from grader.base.course import FILE, HERE, course
from grader.base.errors import Refused
from grader.base.files import read_json, recover, replaced
from grader.checks.exercise import identifiers
from grader.judge.sandbox_package import lay_out, parts
from grader.student import library_apart, recording

# Modules that checks and the command need whole.
ENGINE = ("__init__.py", "base", "checks", "cli", "py.typed")
# Records that were measured, in the checkout.
KEPT = "_build/records"
# Of the grader only what reads a student's own notebook, for `course check` and `course reset`.
OWN_NOTEBOOK = (
    "assistants.py authoring.py card.py cells.py intake/__init__.py intake/matching.py "
    "intake/parsing.py judge/__init__.py judge/causes.py judge/packages.py judge/session.py "
    "student/__init__.py student/proof.py student/reset.py student/selfcheck.py"
).split()
BESIDE = ("LICENSE", "constraints.txt", "environment.yml", "pyproject.toml")
README = """\
# The exercises of the course

In this folder, once:

    python3 -m venv .venv
    .venv/bin/pip install -c constraints.txt -e '.[grade]'

Then `.venv/bin/jupyter lab`, and open a notebook below `exercises`. In a terminal:

- `.venv/bin/course check NOTEBOOK` runs a notebook from top to bottom and says what the grader
  would say.
- `.venv/bin/course reset NOTEBOOK` puts back what is missing from it, and
  `.venv/bin/course reset NOTEBOOK EXERCISE` gives the cells of an exercise back as they were handed
  out. A copy of the notebook is kept.

The library in here is what these notebooks need. The whole of it is in the course's repository.
"""


@dataclass(frozen=True)
class Plan:
    """Plan of a handout."""

    folder: Path
    assignments: tuple[str, ...]
    gone: tuple[str, ...]  # files of an earlier handout, all of which are replaced
    kept: tuple[str, ...]  # files that nobody has handed out, which stay

    @property
    def exercises(self) -> list[str]:
        """Ids of the exercises of these assignments: a topic is what follows the number."""
        topics = {name.partition("_")[2] for name in self.assignments}
        return [i for i in identifiers() if i.partition(".")[0] in topics]

    def line(self) -> str:
        """Text of the plan."""
        new = "replaces" if self.gone else "writes"
        stay = f"; {len(self.kept)} other files there stay" if self.kept else ""
        return (
            f"{new} {self.folder}: {len(self.assignments)} assignments with"
            f" {len(self.exercises)} exercises{stay}"
        )


def assignments(root: Path, asked: Sequence[str]) -> tuple[str, ...]:
    """Names of assignments, from names or their numbers; all when nothing is asked."""
    every = authoring.known(root)
    numbered = {name.partition("_")[0]: name for name in every}
    chosen = {numbered.get(name, name) for name in asked}
    return tuple(sorted(chosen or every)) if authoring.known(root, chosen) else ()


def plan(root: Path, folder: Path, asked: Sequence[str] = ()) -> Plan:
    """Look at the folder, and change nothing but what a broken run has left."""
    names = assignments(root, asked)
    folder = folder.resolve()
    if folder == root.resolve() or folder in root.resolve().parents:
        raise Refused(f"{folder} holds the course itself: name another folder")
    recover(folder)
    if folder.exists() and not folder.is_dir():
        raise Refused(f"{folder} is not a folder: name another")
    present = {
        path.relative_to(folder).as_posix()
        for path in (folder.rglob("*") if folder.is_dir() else ())
        if (path.is_symlink() or path.is_file()) and "__pycache__" not in path.parts
    }
    handed: dict[str, str] = read_json(
        folder / MANIFEST,
        "name another folder",
        lambda facts: {str(name): str(digest) for name, digest in facts["files"].items()},
        {"files": {}},
    )
    if present and not handed:
        raise Refused(f"{folder} holds something other than a handout: name another folder")
    own = {name for name in handed if name in present} | {MANIFEST} & present
    changed = [
        n for n in sorted(own - {MANIFEST}) if _digest((folder / n).read_bytes()) != handed[n]
    ]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise Refused(
            f"{folder / changed[0]}{more} changed since it was handed out: move it elsewhere first"
        )
    return Plan(folder, names, tuple(sorted(own)), tuple(sorted(present - own)))


def write(root: Path, plan: Plan, say: Callable[[str], None] = lambda text: None) -> int:
    """Write all of it beside the folder, then put it in the folder's place; the number of files."""
    content = files(root, plan, say)
    if clash := sorted(content.keys() & set(plan.kept)):
        raise Refused(f"{plan.folder / clash[0]} is in the way of the handout: move it elsewhere")
    digests = {name: _digest(data) for name, data in sorted(content.items())}
    facts = {"assignments": plan.assignments, "files": digests}
    content[MANIFEST] = (json.dumps(facts, indent=1) + "\n").encode()
    with replaced(plan.folder) as part:
        lay_out(content, part)
        for name in plan.kept:
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            # No copy: an environment of gigabytes may be among them.
            os.link(plan.folder / name, part / name, follow_symlinks=False)
    return len(content)


def files(
    root: Path, plan: Plan, say: Callable[[str], None] = lambda text: None
) -> dict[str, bytes]:
    """Everything that students get, by its path in the folder."""
    library = course().library
    grader = parts(HERE / "grader", [*ENGINE, *OWN_NOTEBOOK])
    found = parts(library, course().handout)
    bank = recording.files(library, plan.exercises, root / KEPT, say)
    needed = [data.decode() for name, data in bank.items() if name.endswith(".py")]
    rule = assistants.rule(authoring.nbgrader_config(root))
    texts = assistants.files(rule, "The exercises of the course")
    for name in plan.assignments:
        assignment = authoring.named(root, name)
        needed += [c.source for c in assignment.release.cells if c.cell_type == "code"]
        beside = assignment.files()
        found[f"released/{name}.ipynb"] = beside[f"{name}.ipynb"].encode()
        texts |= {f"exercises/{name}/{file}": text for file, text in beside.items()}
    start = set().union(*map(library_apart.imported, needed))
    found |= bank | library_apart.files(start, library_apart.answers(plan.exercises))
    found[FILE] = course().file.read_bytes()
    content = {f"{course().package}/{name}": data for name, data in found.items()}
    content |= {f"grader/{name}": data for name, data in grader.items()}
    content |= {name: text.encode() for name, text in texts.items()}
    content |= {n: (root / n).read_bytes() for n in BESIDE if (root / n).is_file()}
    content["README.md"] = README.encode()
    return content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
