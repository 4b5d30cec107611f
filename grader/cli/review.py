"""``course analyse``, ``similar``, ``rubric`` and ``defend``: a graded class, looked at."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING, Any

from grader.base.errors import Refused
from grader.cli.common import checkout, emit, jobs

if TYPE_CHECKING:
    from grader.review.written import WrittenAnswer, WrittenQuestion
    from grader.rubrics import Rubric

WIDTH = 100
ASKED = "points (1 3: full for 1 and 3; 2=0.5: half for 2; 0: none; Enter: later; q: stop) "


COMMANDS = """
analyse: show what a graded class has understood, by requirement, mistake and outcome
  also --json
  [assignment]...     for example 03_attention (default: all that have been graded)
  --course:Path       folder that contains autograded/ (default: the checkout)
  --beside DIR:Path   course folder of another term to compare with
  --no-names          replace students' names by pseudonyms, drawn again in each run
  --dry-run           print the summary, write nothing
  --publish CLASS()    publish the class experiment's result under this name
similar: list submissions that a person should compare; it accuses nobody
  also assignment --course --json
  --least PERCENT:float(50)   smallest share to list (default: 50)
  --most N:int(30)     largest number of pairs (default: 30)
rubric: mark written answers by their rubrics, question by question
  also assignment --dry-run --db --json
  [cell]()             only this question, given by the id of its cell
  --course:Path       folder that contains autograded/ (default: the checkout)
  --blind             hide names, and shuffle the answers by --seed
  --seed TEXT(1)       seed of the order (default: 1)
  --again             also mark answers that have been marked already
  --second            mark a sample again without seeing the first marks, and print how far both
                      agree
  --sample N:int(20)   size of the sample (default: 20)
  --csv FILE:Path     write a table to fill in instead
  --read FILE:Path    read marks from such a table
  --encoding()        encoding of a table that does not state it (default: UTF-8)
defend: print questions for each student about their own code, with a key
  also assignment --course --jobs --json
  --student ID...     only these students
  --dry-run           print what would be made, write nothing
"""


def run_analyse(arguments: argparse.Namespace) -> int:
    """Analyse, write the page, and print a summary."""
    from grader.base.course import course as this_course
    from grader.intake.parsing import plain
    from grader.review import analysis

    root = checkout()
    course = arguments.course or root
    facts = analysis.analyse(
        course, root, arguments.assignment, beside=arguments.beside, no_names=arguments.no_names
    )
    for one in facts["experiments"] if arguments.publish and not arguments.dry_run else ():
        this_course().experiments().publish(root, one, arguments.publish)
    page = None if arguments.dry_run else analysis.write(course, facts)
    done = f"page {page}, tables beside it" if page else "nothing written (dry run)"
    many = f"{len(facts['students'])} students, {len(facts['requirements'])} requirements"
    facts["page"] = page and str(page)
    emit(arguments, facts, *map(plain, analysis.lines(facts)), f"{many}; {done}")
    return 0


def run_similar(arguments: argparse.Namespace) -> int:
    """Print pairs, and write the page that shows their passages."""
    from grader import authoring
    from grader.intake.parsing import plain
    from grader.review import similarity

    root = checkout()
    course = arguments.course or root
    assignment = authoring.named(root, arguments.assignment)
    report = similarity.compare(
        course, assignment, least=arguments.least / 100, most=arguments.most
    )
    page = similarity.write(report, course / "summary")
    pairs = [*report.pairs, *report.near_solution]
    lines, shown = [], []
    for pair in pairs:
        cells = [match.exercise for match in pair.matches]
        shown.append({"students": pair.students, "share": round(pair.share, 4), "cells": cells})
        names = " and ".join(map(plain, pair.students))
        answers = ", ".join(cell.removesuffix("-solution") for cell in cells)
        lines.append(f"  {100 * pair.share:4.0f} %  {names}: {answers}")
    for student, why in report.left_out.items():
        lines.append(f"  not compared: {plain(student)}: {plain(why)}")
    facts = {
        "assignment": report.name,
        "compared": report.compared,
        "pairs": shown,
        "left_out": report.left_out,
        "page": str(page),
    }
    line = f"{report.compared} compared, {len(pairs)} pairs to look at: {page}"
    emit(arguments, facts, *lines, line)
    return 0


def run_rubric(arguments: argparse.Namespace) -> int:
    """Mark at the terminal, or by a table."""
    from grader.base.files import write_whole
    from grader.review import rubric_table
    from grader.review.written import SecondLook, WrittenQuestion, questions

    table, dry, again = arguments.csv or arguments.read, arguments.dry_run, arguments.again
    if arguments.json and not (table or dry):
        raise Refused("--json needs --csv, --read or --dry-run, because otherwise marks are typed")
    if arguments.csv and arguments.read:
        raise Refused("--csv and --read exclude each other")
    if arguments.sample < 1:
        raise Refused(f"--sample {arguments.sample}: at least 1 is needed")
    root, name = checkout(), arguments.assignment
    cells = [arguments.cell] if arguments.cell or table else list(questions(root, name))
    kind = SecondLook if arguments.second else WrittenQuestion
    asked = [kind(arguments.course or root, root, name, c, arguments.db) for c in cells]
    seed = arguments.seed if arguments.blind or arguments.second else ""
    facts: dict[str, Any] = {"assignment": name, "written": 0, "questions": {}}
    for question in asked:
        if isinstance(question, SecondLook):
            question.sample = arguments.sample
        if arguments.read:
            marks = rubric_table.read(arguments.read, question, arguments.encoding, again=again)
            facts["written"] += question.write(marks, again=again, dry_run=dry)
        elif arguments.csv and not dry:
            answers = question.answers(seed)
            text = rubric_table.table(question.rubric, answers, blind=bool(seed))
            # A table that nobody has filled in yet may be replaced.
            if arguments.csv.exists() and arguments.csv.read_bytes() != text.encode():
                raise Refused(f"{arguments.csv} exists already: choose another file")
            write_whole(arguments.csv, text)
        elif not dry and not table:
            count, stopped = _mark(question, seed, again=again)
            facts["written"] += count
            if stopped:
                break
    for question in asked:
        answers = question.answers()
        counts: dict[str, Any] = {"answers": len(answers), "waiting": sum(a.waits for a in answers)}
        line = f"{question.cell}: {counts['waiting']} of {counts['answers']} wait"
        if isinstance(question, SecondLook):
            both = question.agreement()
            counts |= {"agreement": vars(both)}
            line += f"; {both.line()}"
        facts["questions"][question.cell] = counts
        if not arguments.json:
            print(f"  {line}")
    done = f"would write {facts['written']} marks" if dry else f"{facts['written']} marks written"
    if arguments.csv:
        done = f"{'would write' if dry else 'table'} {arguments.csv}"
    emit(arguments, facts, f"{name}: {done}")
    return 0


def _mark(question: WrittenQuestion, seed: str, *, again: bool) -> tuple[int, bool]:
    from grader.intake.parsing import plain
    from grader.review.written import WrittenMark

    answers = [answer for answer in question.answers(seed) if answer.waits or again]
    written = 0
    for place, answer in enumerate(answers, 1):
        who = "" if seed else f" · {plain(answer.student)}"
        print(f"\n{question.cell} · {place} of {len(answers)} · {answer.key}{who}\n")
        for line in answer.text.splitlines():
            print(textwrap.indent(textwrap.fill(plain(line, 30_000), WIDTH - 4), "    "))
        print(f"\n{_rubric(question.rubric, answer)}\n")
        try:
            while (given := _points(question.rubric, typed := input(ASKED).strip())) is None:
                if typed in ("", "q"):
                    break
            if given is not None:
                comment = input("comment (Enter: leave it) ").strip() or answer.comment
        except EOFError:
            typed, given = "q", None
        if given is not None:
            mark = WrittenMark(answer.student, given, comment, answer.key)
            written += question.write([mark], again=again)
        elif typed == "q":
            return written, True
    return written, False


def _rubric(rubric: Rubric, answer: WrittenAnswer) -> str:
    given = answer.given or [None] * len(rubric.criteria)
    lines = [
        f"{number:3}  {c.points:3g}  {c.says}" + ("" if had is None else f" (given {had:g})")
        for number, (c, had) in enumerate(zip(rubric.criteria, given, strict=True), 1)
    ]
    if answer.score is not None:
        lines.append(f"     score: {answer.score:g} of {rubric.points:g}")
    note = textwrap.indent(textwrap.fill(rubric.note, WIDTH - 10), "     ")
    return "\n".join([*lines, note] if note else lines)


def _points(rubric: Rubric, typed: str) -> tuple[float, ...] | None:
    given = dict.fromkeys(range(1, len(rubric.criteria) + 1), 0.0)
    if typed in ("", "q"):
        return None
    try:
        for word in typed.split() if typed != "0" else ():
            place, _, points = word.partition("=")
            if not place.isdecimal() or int(place) not in given:
                raise ValueError(f"there is no criterion {place}")
            most = rubric.criteria[int(place) - 1].points
            given[int(place)] = float(points) if points else most
        if fault := rubric.fault(list(given.values())):
            raise ValueError(fault)
    except ValueError as error:
        print(f"  {error}")
        return None
    return tuple(given.values())


def run_defend(arguments: argparse.Namespace) -> int:
    """Make the new sheets, and list students with fewer questions than usual, with the reason."""
    from tqdm import tqdm

    from grader.defence.paper import QUESTIONS, Defence
    from grader.intake.parsing import plain

    many = jobs(arguments)
    root = checkout()
    course, name, dry = arguments.course or root, arguments.assignment, arguments.dry_run
    defence = Defence(course, root, name, only=arguments.student, dry_run=dry)
    todo = defence.todo()
    if dry:
        facts = {"to_make": todo, "stand": len(defence.tasks) - len(todo)}
        line = f"{len(todo)} of {len(defence.tasks)} sheets to make"
        emit(arguments, facts, *(f"  {plain(name)}" for name in todo), line)
        return 0
    tqdm.monitor_interval = 0  # its thread would be there when judges are forked
    with tqdm(total=len(todo), unit="sheet", disable=arguments.json) as bar:

        def say() -> None:
            bar.update()
            arguments.interrupt.check()

        sheets = defence.make(many, say)
    short = {n: s.reason for n, s in sheets.items() if len(s.questions) < QUESTIONS}
    lines = [
        f"  {plain(name)}: {len(sheets[name].questions)} questions; {plain(why)}"
        for name, why in short.items()
    ]
    asked = sum(len(sheet.questions) for sheet in sheets.values())
    facts = {
        "sheets": len(sheets),
        "made": len(todo),
        "questions": asked,
        "fewer": short,
        "folder": str(defence.folder),
    }
    line = f"{len(sheets)} sheets, {asked} questions, made now {len(todo)}: {defence.folder}"
    emit(arguments, facts, *lines, line)
    return 0
