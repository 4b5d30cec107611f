"""Head of a task: effort, points, what is refused and what is checked."""

import re
import tomllib
from pathlib import Path

import yaml

from grader.base.course import course
from grader.checks.exercise import Exercise
from grader.checks.forbidden import FORBIDDEN

# Of RFC 2606.
_RESERVED = re.compile(r"//([^/]*\.)?example(\.(com|net|org))?(:\d+)?(/|$)")


def card(exercise: Exercise, url: str) -> str:
    """Requirements in Markdown: effort, points, and every requirement with its points."""
    dots = "●" * exercise.difficulty + "○" * (5 - exercise.difficulty)
    rows = "\n".join(f"- {p.says} ({p.points:g})" for p in exercise.properties)
    page = f"{course().pages}/{exercise.chapter}"
    link = f"[the chapter]({url}/{page})" if url else f"the book's page `{page}`"
    banned = [FORBIDDEN[kind] for kind in exercise.forbidden]
    refused = "".join(f"Not allowed: {each.says}; {each.instead}.\n\n" for each in banned)
    return (
        f"**{exercise.points:g} points** · difficulty {dots} · about {exercise.minutes} minutes ·"
        f" {link}\n\n{refused}"
        f"<details><summary>What is checked, and for how many points</summary>\n\n{rows}\n\n"
        "</details>"
    )


def book_url(root: Path) -> str:
    """Address of the book by ``[project.urls]``; empty while it is one reserved for examples."""
    with (root / "pyproject.toml").open("rb") as file:
        site = str(tomllib.load(file)["project"]["urls"]["Documentation"]).rstrip("/")
    return "" if _RESERVED.search(site) else site


def outcomes(root: Path) -> dict[str, str]:
    """Outcomes of the course, by ids; none where no file says it."""
    if not (file := root / course().outcomes).is_file():
        return {}
    chapters = yaml.safe_load(file.read_text(encoding="utf-8")).values()
    return {i: says for chapter in chapters for i, says in chapter.items()}
