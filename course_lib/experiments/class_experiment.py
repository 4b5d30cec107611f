"""The class's experiment in a course folder: where hand-ins lie, what is kept, what is said."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course_lib.data.files import cache_dir
from course_lib.experiments import get, load_records, one_seed, pooled
from grader.base.errors import Refused
from grader.base.files import write_whole
from grader.intake import parsing
from grader.records.course_folder import grading_seed


def of_class(
    course: Path,
    root: Path,
    name: str,
    many: int | None = 0,
    say: pooled.Say | None = None,
    names: bool = True,
) -> dict[str, Any] | None:
    """The experiment of an assignment, pooled; None where none is asked or handed in.

    ``many``: students whose run is run again; None for a share of the class. ``say``: tells of
    each, and has what is new kept in the course folder.
    """
    files: dict[str, bytes | Refused] = {}
    for folder in course.glob(f"submitted/*/{name}"):
        if parsing.is_there(folder / one_seed.FILE):
            try:
                files[folder.parent.name] = parsing.bytes_of(folder / one_seed.FILE)
            except Refused as why:
                files[folder.parent.name] = why
    if not files or name not in (asked := one_seed.asked(root)):
        return None
    place = course / "summary" / f"{name}-experiment.json"
    kept = json.loads(place.read_text()) if place.exists() else {"first": {}, "again": {}}
    experiment, secret = get(asked[name].partition("/")[0]), grading_seed(course, name)
    known = load_records(root / "book" / "results", experiment.name)
    # Nobody can know it before the instructor says it.
    word = hashlib.sha256(f"{secret} {name} experiment".encode()).hexdigest()[:8]
    found = pooled.ClassExperiment(asked[name], experiment, known, files, word, kept["first"])

    def tell(text: str) -> None:
        if say:
            say(parsing.plain(text))

    try:
        found.run_again(secret, many, kept["again"], cache_dir() / "runs-again", tell)
    finally:
        if say:
            kept["first"] = {
                run.student: run.hand_in.prediction + (pooled.RAN if run.records else "")
                for run in found.runs
                if run.hand_in
                and (run.hand_in.student, run.hand_in.question) == (run.student, found.name)
            } | kept["first"]
            write_whole(place, json.dumps(kept, indent=1) + "\n")
    return found.data(names)


def publish(root: Path, facts: Mapping[str, Any], who: str) -> None:
    """Let the results' pages say that a class has run a question, and who wants to be named."""
    kept, name = one_seed.published(root / "book"), facts["question"]
    told = {"verdict": facts["verdict"], "named": facts["named"]}
    text = json.dumps(kept | {name: kept.get(name, {}) | {who: told}}, indent=1, ensure_ascii=False)
    write_whole(root / "book" / one_seed.PUBLISHED, text + "\n")


def lines(facts: Mapping[str, Any]) -> list[str]:
    """Report of a class's experiment, for a terminal."""
    n, before, word = facts["counting"], facts["before"], facts["word"]
    counts = f"{n} of {facts['handed_in']} runs count, {facts['again']} run again"
    report = [
        f"experiment {facts['question']}, {counts}: {facts['verdict']}",
        f"  the class's word: {word}; {before} used it and had handed in a prediction before",
    ]
    if n:
        sure = f"{facts['right']} of {n}, who were {100 * facts['said']:.0f} % sure"
        report.append(f"  the sign was right in {sure}; the ledger: {facts['row']}")
    told = (parsing.plain(f"{s}: {why}") for s, why in facts["not_counting"].items())
    return report + [f"  not counted: {one}" for one in told]
