"""The table an instructor reads after a class has been graded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from course_lib.grading.classroom import Verdict

BAR = 20


def data(name: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Scores, pass rates, mistakes and what needs a look, as plain data."""
    graded = [v for v in verdicts if v.score is not None]
    ids = list(dict.fromkeys(i for v in graded for i in v.exercises))
    best = {i: max((v.exercises.get(i) or 0.0) for v in graded) for i in ids}
    return {
        "assignment": name,
        "students": {v.student: v.score for v in verdicts},
        "max_points": max((v.max_points for v in verdicts), default=0.0),
        "mean": sum(v.score or 0.0 for v in graded) / len(graded) if graded else None,
        "mean_by_exercise": {
            i: sum(v.exercises.get(i) or 0.0 for v in graded) / len(graded) for i in ids
        },
        "best_by_exercise": best,
        "mistakes": Counter(
            f"{exercise}: {mistake.replace('_', ' ')}"
            for v in graded
            for exercise, mistake in v.mistakes.items()
        ).most_common(),
        "needs_a_look": {v.student: v.look for v in verdicts if v.look},
        "graded_now": sum(v.fresh for v in verdicts),
    }


def text(name: str, verdicts: Sequence[Verdict]) -> str:
    """The same as a text table."""
    facts = data(name, verdicts)
    top = facts["max_points"] or 1.0
    lines = [f"{name}: {len(verdicts)} submissions, {facts['graded_now']} graded in this run", ""]
    width = max(len(s) for s in facts["students"])
    for student, score in facts["students"].items():
        if score is None:
            lines.append(f"  {student:{width}}       -  not graded")
            continue
        bar = "█" * round(BAR * score / top)
        lines.append(f"  {student:{width}}  {score:6.2f}  {bar:{BAR}}")
    lines += ["", "mean points by exercise"]
    for exercise, mean in facts["mean_by_exercise"].items():
        lines.append(f"  {mean:6.2f}  {exercise}")
    if facts["mistakes"]:
        lines += ["", "named mistakes"]
        lines += [f"  {count:6d}  {mistake}" for mistake, count in facts["mistakes"]]
    if facts["needs_a_look"]:
        lines += ["", "needs a look"]
        lines += [f"  {student:{width}}  {why}" for student, why in facts["needs_a_look"].items()]
    graded = [s for s in facts["students"].values() if s is not None]
    mean = f"{facts['mean']:.2f}" if graded else "-"
    lines += ["", f"graded {len(graded)} of {len(verdicts)}, mean {mean} of {top:g} points"]
    return "\n".join(lines)
