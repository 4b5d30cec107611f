"""Analysis of a class: requirements as items of a test, misconceptions, outcomes.

Read from the autograded notebooks, which Formgrader's buttons leave as `course grade` does; what
was named in earlier hand-ins stands in ``verdict.json``, which `course grade` alone writes.

A requirement's difficulty is the share that reach it. What it tells apart is the point-biserial
correlation of reaching it with the points in the assignment's other exercises, an item-rest
correlation: Guilford (1953, Educational and Psychological Measurement 13, 87-93). All requirements
of the same exercise are left out of the rest: they fall together, and would speak for each other.
"""

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from grader import authoring, card
from grader.base.course import course as this_course
from grader.base.errors import Refused
from grader.base.files import recover, replaced, write_whole
from grader.base.statistics import wilson
from grader.checks.cell import MIME
from grader.checks.exercise import find, identifiers
from grader.checks.naming import AND
from grader.judge.feedback import inert_page
from grader.judge.results import read_verdict
from grader.records.course_folder import lock
from grader.records.summary import sheet
from grader.review import items

# With fewer students no share and no correlation says much; the numbers are shown all the same.
FEW = 30
# Of so many misconceptions it is drawn which come together.
DRAWN = 12
# Lines of each kind on a terminal.
SAID = 5


@dataclass
class GradedAnswer:
    """Facts about one student's answer to one exercise."""

    held: dict[str, bool | None]
    score: float
    worth: float
    mistake: str = ""
    earlier: list[str] = field(default_factory=list)
    written: bool = True

    @property
    def mistakes(self) -> set[str]:
        """All that were named, in any hand-in."""
        return {*self.mistake.split(AND), *self.earlier} - {""}


Class = dict[str, dict[str, GradedAnswer]]


def analyse(
    course: Path,
    root: Path,
    names: Sequence[str] = (),
    *,
    beside: Path | None = None,
    no_names: bool = False,
) -> dict[str, Any]:
    """Analyse the assignments named, else all that are graded, perhaps ``beside`` another term."""
    every = authoring.known(root, names)
    if beside and beside.resolve() == course.resolve():
        raise Refused(f"{beside} is the same course folder: wanted that of another term")
    graded = {path.parent.name for path in course.glob("autograded/*/*/*.ipynb")}
    chosen = [name for name in every if name in (names or graded)]
    left_out: dict[str, dict[str, str]] = {name: {} for name in chosen}
    answers = {name: read(course, name, left_out[name]) for name in chosen}
    # Where none is named, one that is not graded yet, or by people alone, stops no other.
    classes = {name: class_ for name, class_ in answers.items() if names or any(class_.values())}
    if missing := [name for name, class_ in classes.items() if not any(class_.values())]:
        raise Refused(f"{course}: nothing of {', '.join(missing)} is graded by a check;"
                      " run `course grade` first")  # fmt: skip
    if not classes:
        raise Refused(f"{course}: no class is graded there; run `course grade` first")
    people = sorted({student for class_ in classes.values() for student in class_})
    shown = dict(zip(people, people, strict=True))
    if no_names:
        random.SystemRandom().shuffle(people)
        shown = {one: f"student {n:0{len(str(len(people)))}}" for n, one in enumerate(people, 1)}
    says, experiments = card.outcomes(root), this_course().experiments()
    outcomes, students = _outcomes(classes.values(), sorted(shown, key=shown.__getitem__), says)
    facts: dict[str, Any] = {
        "term": course.resolve().name, "beside": None, "no_names": no_names,
        "assignments": [
            {"assignment": name, "students": len(class_), "few": len(class_) < FEW,
             "left_out": len(left_out[name]), "why": {} if no_names else left_out[name]}
            for name, class_ in classes.items()
        ],
        "few": min(map(len, classes.values())) < FEW, "fewest": FEW,
        "requirements": [row for n, c in classes.items() for row in _requirements(n, c)],
        "mistakes": [row for n, c in classes.items() for row in _mistakes(n, c)],
        "together": _together(classes.values(), len(people)),
        "outcomes": outcomes,
        "students": {shown[student]: shares for student, shares in students.items()},
        "experiments": [e for n in classes if (
            e := experiments and experiments.of_class(course, root, n, names=not no_names))],
    }  # fmt: skip
    facts["mistakes"].sort(key=lambda row: -row["students"])
    if beside:
        then = analyse(beside, root, chosen)
        facts["beside"] = then["term"]
        _compare(facts, then)
    return facts


def read(course: Path, name: str, left_out: dict[str, str]) -> Class:
    """Every student's answers to an assignment; who has none that can be read is left out."""
    class_: Class = {}
    for folder in sorted(course.glob(f"autograded/*/{name}")):
        student, verdict = folder.parent.name, read_verdict(folder / "verdict.json")
        if verdict and verdict.reason:
            left_out[student] = verdict.reason
            continue
        try:
            content = (folder / f"{name}.ipynb").read_text(encoding="utf-8")
            class_[student] = _answers(json.loads(content)["cells"])
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            left_out[student] = f"the autograded notebook cannot be read: {error}"
            continue
        for identifier, answer in class_[student].items():
            answer.earlier = (
                [name for e in verdict.earlier for name in e.get(identifier, "").split(AND)]
                if verdict
                else []
            )
    return class_


def _answers(cells: Iterable[Mapping[str, Any]]) -> dict[str, GradedAnswer]:
    answers = {}
    for cell in cells:
        marks = cell["metadata"].get("nbgrader", {})
        match = authoring.CHECK.search("".join(cell["source"])) if marks.get("grade") else None
        if match is None or match[1] not in identifiers():
            continue
        exercise, data = find(match[1]), cell["outputs"][-1].get("data")
        # An answer that did not survive its check has an error in the place of its report.
        held = {prop.name: False for prop in exercise.properties}
        report: dict[str, Any] = {"held": held, "mistakes": "", "written": True}
        report = data[MIME] if data else report
        score = float("".join(data["text/plain"])) if data else 0.0
        known = {m.name for m in exercise.mistakes}
        named = AND.join(name for name in report["mistakes"].split(AND) if name in known)
        answers[match[1]] = GradedAnswer(
            report["held"], score, float(marks["points"]), named, [], report["written"]
        )
    return answers


def _of(class_: Class) -> dict[str, list[GradedAnswer | None]]:
    identifiers = dict.fromkeys(i for answers in class_.values() for i in answers)
    return {i: [answers.get(i) for answers in class_.values()] for i in identifiers}


def _column(values: Iterable[float | bool | None]) -> np.ndarray:
    return np.array([np.nan if value is None else float(value) for value in values])


def _requirements(name: str, class_: Class) -> list[dict[str, Any]]:
    answers = _of(class_)
    scores = {i: _column(a.score if a else None for a in each) for i, each in answers.items()}
    total = np.nansum([*scores.values()], axis=0)
    keys = [(i, p) for i, each in answers.items()
            for p in dict.fromkeys(p for a in each if a for p, h in a.held.items()
                                   if h is not None)]  # fmt: skip
    if not keys:
        return []
    held = np.stack(
        [_column(a.held.get(p) if a else None for a in answers[i]) for i, p in keys], axis=1
    )
    rest = np.stack([total - np.nan_to_num(scores[i]) for i, _ in keys], axis=1)
    everybody = np.ones((1, len(class_)))
    tells = items.correlation(held, rest, everybody)[0]
    spans = items.spans(items.correlation(held, rest, items.draws(len(class_))))
    rows = []
    for n, (identifier, prop) in enumerate(keys):
        x, y = held[:, n], rest[:, n]
        part, of = int(np.nansum(x)), int(np.isfinite(x).sum())
        upper, lower = items.reached_by_upper(x, y), items.reached_by_upper(x, -y)
        r = None if np.isnan(tells[n]) else float(tells[n])
        says = {p.name: p.says for p in find(identifier).properties}
        wrong_way = "it discriminates the wrong way" if r is not None and r < 0 else ""
        rows.append({
            "assignment": name, "exercise": identifier, "requirement": prop,
            "says": says.get(prop, prop), "n": of,
            "unwritten": sum(not a.written for a in answers[identifier] if a),
            "reached": part, **_share(part, of),
            "discrimination": r, **_span("discrimination", spans[n] if r is not None else None),
            "upper": upper, "lower": lower,
            "look": wrong_way or ("strong students fail it" if upper < 0.5 else ""),
        })  # fmt: skip
    return rows


def _share(part: int, of: int, name: str = "share") -> dict[str, float | None]:
    if not of:
        return {name: None, **_span(name, None)}
    return {name: part / of, **_span(name, wilson(part, of))}


def _span(name: str, span: items.Span | None) -> dict[str, float | None]:
    low, high = span or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _mistakes(name: str, class_: Class) -> list[dict[str, Any]]:
    rows = []
    for identifier, each in _of(class_).items():
        answers = [a for a in each if a]
        for mistake in find(identifier).mistakes:
            had = [a for a in answers if mistake.name in a.mistakes]
            again = [a for a in had if mistake.name in a.earlier]
            without_it = [a for a in again if mistake.name not in a.mistake.split(AND)]
            if had:
                rows.append({
                    "assignment": name, "exercise": identifier,
                    "mistake": mistake.name.replace("_", " "), "says": mistake.says,
                    "n": len(answers), "students": len(had),
                    "now": sum(mistake.name in a.mistake.split(AND) for a in had),
                    **_share(len(had), len(answers)),
                    "again": len(again), "still": len(again) - len(without_it),
                    **_share(len(again) - len(without_it), len(again), "survives"),
                    "another": sum(bool(a.mistake) for a in without_it),
                    "solved": sum(False not in a.held.values() for a in without_it),
                })  # fmt: skip
    return rows


def _together(classes: Iterable[Class], n: int) -> list[dict[str, Any]]:
    each: dict[str, set[tuple[str, str]]] = {}
    for class_ in classes:
        for student, answers in class_.items():
            named = {(i, m.replace("_", " ")) for i, a in answers.items() for m in a.mistakes}
            each.setdefault(student, set()).update(named)
    single = Counter(one for had in each.values() for one in had)
    pairs = Counter(pair for had in each.values() for pair in combinations(sorted(had), 2))
    return [
        {"exercise": one[0], "mistake": one[1], "other_exercise": other[0],
         "other_mistake": other[1], "both": both, "by_chance": single[one] * single[other] / n}
        for (one, other), both in pairs.most_common() if both > 1
    ]  # fmt: skip


def _outcomes(
    classes: Iterable[Class], people: Sequence[str], says: Mapping[str, str]
) -> tuple[list[dict[str, Any]], dict[str, dict[str, float]]]:
    """Of each outcome the share of the points of the exercises that assess it: class, students."""
    points: dict[tuple[str, str], np.ndarray] = {}
    for class_ in classes:
        for student, answers in class_.items():
            for identifier, answer in answers.items():
                for outcome in find(identifier).outcomes:
                    had = points.setdefault((student, outcome), np.zeros(2))
                    had += answer.score, answer.worth
    named = [o for o in says if any(outcome == o for _, outcome in points)]
    shares = {s: {o: float(p[0] / p[1]) for o in named if (p := points.get((s, o))) is not None}
              for s in people}  # fmt: skip
    if not named:
        return [], shares
    table = np.stack([_column(shares[s].get(o) for s in people) for o in named], axis=1)
    means = items.mean(table, np.ones((1, len(people))))[0]
    spans = items.spans(items.mean(table, items.draws(len(people))))
    bins = [np.histogram(column[np.isfinite(column)], 5, (0, 1))[0].tolist() for column in table.T]
    return [
        {"outcome": o, "says": says[o], "n": int(np.isfinite(table[:, k]).sum()),
         "mean": float(means[k]), **_span("mean", spans[k] if len(people) > 1 else None),
         "fifths": bins[k]}
        for k, o in enumerate(named)
    ], shares  # fmt: skip


def _compare(facts: dict[str, Any], then: Mapping[str, Any]) -> None:
    for part, keys, part_of, share in (
        ("requirements", ("exercise", "requirement"), "reached", "share"),
        ("mistakes", ("exercise", "mistake"), "students", "share"),
        ("outcomes", ("outcome",), "", "mean"),
    ):
        others = {tuple(row[k] for k in keys): row for row in then[part]}
        for row in facts[part]:
            other = others.get(tuple(row[k] for k in keys))
            for end in ("", "_low", "_high"):
                row[f"then{end}"] = other and other[f"{share}{end}"]
            if part_of:
                both = [(r[part_of], r["n"]) for r in (row, other) if r]
                row["change"] = other and row["share"] - other["share"]
                row |= _span("change", items.newcombe(*both) if len(both) == 2 else None)


def lines(facts: Mapping[str, Any]) -> list[str]:
    """Summary of the analysis, for a terminal."""
    hardest = sorted(facts["requirements"], key=lambda row: row["share"])[:SAID]
    report = [
        f"{a['assignment']}: {a['students']} students; with fewer than {FEW} much of this is chance"
        for a in facts["assignments"]
        if a["few"]
    ]
    report += [f"  {100 * r['share']:3.0f} %  {r['exercise']}: {r['says']}" for r in hardest]
    report += [
        f"  look at  {r['exercise']}, {r['requirement']}: {r['look']}"
        for r in facts["requirements"]
        if r["look"]
    ][:SAID]
    experiments = this_course().experiments()
    report += [line for e in facts["experiments"] for line in experiments.lines(e)]
    return report + [
        f"  {m['students']:4d}  {m['exercise']}: {m['mistake']}"
        + (f", survives in {m['still']} of {m['again']}" if m["again"] else "")
        for m in facts["mistakes"][:SAID]
    ]


def write(course: Path, facts: Mapping[str, Any]) -> Path:
    """Write the page and its tables into ``summary/``, whole or not at all; the page's path."""
    names = [a["assignment"] for a in facts["assignments"]]
    name, end = names[0] if len(names) == 1 else "course", "-no-names" * facts["no_names"]
    folder = course / "summary" / f"{name}-analysis{end}"
    students = [[s, *(shares.get(o["outcome"]) for o in facts["outcomes"])]
                for s, shares in facts["students"].items()]  # fmt: skip
    top = facts["mistakes"][:DRAWN]
    both = {frozenset([(p["exercise"], p["mistake"]), (p["other_exercise"], p["other_mistake"])]):
            p["both"] for p in facts["together"]}  # fmt: skip
    grid = [[a["students"] if a is b else both.get(frozenset(
        (m["exercise"], m["mistake"]) for m in (a, b)), 0) for b in top] for a in top]  # fmt: skip
    with lock(course):
        recover(folder)
        with replaced(folder) as fresh:
            page = inert_page("analysis.html", "feedback.css", "analysis.css", grid=grid, **facts)
            write_whole(fresh / "index.html", page)
            for part in ("requirements", "mistakes", "together", "outcomes"):
                rows = facts[part]
                write_whole(fresh / f"{part}.csv", sheet([*rows[0]] if rows else [],
                                                  [[*row.values()] for row in rows]))  # fmt: skip
            head = ["student", *(o["outcome"] for o in facts["outcomes"])]
            write_whole(fresh / "students.csv", sheet(head, students))
    return folder / "index.html"
