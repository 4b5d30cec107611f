"""Outcomes of each chapter, and the questions and exercises that assess them."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import yaml

from course_lib.book.questions import QUESTION
from course_lib.book.teaching import tasks


@dataclass(frozen=True)
class Outcome:
    """Something that a reader can do, and what asks for it."""

    id: str  # such as "masks.build"; empty for what asks for no outcome in particular
    says: str  # in a sentence
    questions: tuple[tuple[str, str], ...]  # page and name of each question
    exercises: tuple[tuple[str, str, str], ...]  # assignment, id and title of each exercise


def load_outcomes(root: Path) -> dict[int, dict[str, str]]:
    """Sentences by the ids of outcomes, by chapter, as ``book/outcomes.yml`` has them."""
    text = (root / "book" / "outcomes.yml").read_text(encoding="utf-8")
    outcomes: dict[int, dict[str, str]] = yaml.safe_load(text)
    return outcomes


def questions(page: Path) -> dict[str, str]:
    """The outcome that each question of a page asks for, by name; empty where it names none."""
    blocks = QUESTION.findall(page.read_text(encoding="utf-8"))
    return {name: yaml.safe_load(text).get("outcome", "") for name, text in blocks}


def assessed(root: Path) -> dict[int, list[Outcome]]:
    """Each chapter's outcomes with what asks for them; last, what names none of the chapter."""
    asked = defaultdict[tuple[int, str], list[tuple[str, str]]](list)
    solved = defaultdict[tuple[int, str], list[tuple[str, str, str]]](list)
    chapters = load_outcomes(root)
    # A question may stand on a later chapter's page.
    of = {outcome: number for number, known in chapters.items() for outcome in known}
    for page in sorted((root / "book" / "chapters").glob("*.md")):
        number = int(page.stem[:2])
        for name, outcome in questions(page).items():
            known = of.get(outcome, number), outcome if outcome in of else ""
            asked[known].append((f"book/chapters/{page.stem}", name))
    for folder in sorted((root / "solutions").glob("[0-9][0-9]_*")):
        number = int(folder.name[:2])
        for task in tasks(folder.name, root):
            if task.exercise:
                first = next((o for o in task.exercise.outcomes if o in chapters[number]), "")
                solved[number, first].append((folder.name, task.exercise.id, task.title))
    return {
        number: [
            Outcome(i, says, tuple(asked[number, i]), tuple(solved[number, i]))
            for i, says in [*says_by_id.items(), ("", "Also asked.")]
            if i or asked[number, ""] or solved[number, ""]
        ]
        for number, says_by_id in chapters.items()
    }
