"""Commands around grading: handouts, other systems' files, students' names, the gradebook."""

import argparse
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from grader.base.errors import Refused
from grader.cli.common import FOUND_WRONG, checkout, emit, say

COMMANDS = """
handout: write everything that students get, without solutions
  also --dry-run --json
  folder DIR:Path     a new folder, or an earlier handout
  [assignment]...     for example 03 or 03_attention (default: all)
release-solutions: publish a solution after the last extension has ended
  also --db --dry-run --json
  assignment          for example 03 or 03_attention
  --course:Path       the gradebook's folder (default: the checkout)
  --into DIR:Path     a handout or another folder (default: _build)
  --yes               publish even before the last extension has ended
roster: import names, ids, sections and groups from a learning management system
  also --encoding --course --dry-run --db --json
  action              `import`: import the list
  file FILE:Path      a CSV file exported by the system
  --id FIELD()        the field that names the folders of new students: login, email, number or key
                      (default: the first that exists)
  also --from --column
collect: import a system's archive of submissions
  also --encoding --course --dry-run --db --json
  file FILE.zip:Path  the archive as downloaded
  --assignment NAME()  for example 03_attention (default: by the notebooks)
  --worksheet FILE:Path   Moodle's grading worksheet, which has names and times
  --zone(UTC)         time zone of the system, for example Europe/Berlin (default: UTC)
  --late-at TIME:time     time of work that is marked late without a time, for example
                      2026-10-20T08:00
  also --from --column
export: write changed scores into a system's own exported file
  also --encoding --course --dry-run --db --json
  file FILE:Path      the file exported by the system
  --assignment NAME[=TITLE]+   only this assignment, and the title of its column there (default:
                      all, by name); repeatable
  --out FILE:Path     output file (default: FILE-upload)
  --feedback          also pack new pages of feedback
  --scale             rescale scores where the system has another maximum
  --unfinished        also export scores that still wait for a person
  --overwrite         also replace scores that were entered there
  --for SYSTEM!>system   canvas, moodle, blackboard, brightspace or ilias
  also --column
rename: rename a student in the folders and the gradebook
  also --course --db --json
  old OLD             the current name
  new NEW             the new name
migrate: copy a gradebook into another, empty database, completely or not at all
  also --json
  source FROM         a gradebook.db, or the address of a database
  target TO           for example postgresql://user@host/grades
"""


def run_handout(arguments: argparse.Namespace) -> int:
    """Print the plan, and write the handout."""
    from grader.student import handout

    root = checkout()
    plan = handout.plan(root, arguments.folder, arguments.assignment)
    facts = {
        "folder": str(plan.folder),
        "assignments": plan.assignments,
        "exercises": plan.exercises,
        "kept": plan.kept,
        "written": 0,
    }
    if arguments.dry_run:
        emit(arguments, facts, f"dry run: {plan.line()}")
        return 0
    if not arguments.json:
        print(plan.line(), flush=True)

    facts["written"] = handout.write(root, plan, say)
    emit(arguments, facts, f"handout {plan.folder}, {facts['written']} files")
    return 0


def run_release_solutions(arguments: argparse.Namespace) -> int:
    """Write the solution; refuse before the last extension has ended."""
    from grader.student import handout, solutions

    root = checkout()
    (name,) = handout.assignments(root, [arguments.assignment])
    last = solutions.last_date(arguments.course or root, name, arguments.db)
    into = arguments.into or root / "_build"
    if into.exists() and not into.is_dir():
        raise Refused(f"{into} is not a folder: name another")
    path = into / "solutions" / name / f"{name}.ipynb"
    why = solutions.may_release(name, last, datetime.now(UTC))
    facts = {
        "assignment": name,
        "last": last[0].isoformat() if last else None,
        "path": str(path),
        "written": False,
    }
    if why and not arguments.yes:
        raise Refused(f"{why}; add --yes to publish it anyway")
    if arguments.dry_run:
        emit(arguments, facts, f"dry run: writes {path}")
        return 0
    facts["written"] = solutions.write(root, name, path)
    emit(arguments, facts, f"solution {path}{'' if facts['written'] else ' (unchanged)'}")
    return 0


def _pairs(texts: list[str]) -> dict[str, str]:
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def _course(arguments: argparse.Namespace) -> Path:
    from grader.lms.formats import SYSTEMS

    if arguments.system and arguments.system not in SYSTEMS:
        raise Refused(f"no system {arguments.system!r}; there are {', '.join(SYSTEMS)}")
    return arguments.course or checkout()


def _told(arguments: argparse.Namespace, report: dict[str, list[str]], line: str) -> None:
    from grader.intake.parsing import plain

    lines: list[str] = []
    for title, items in report.items():
        if items:
            lines += [f"{title.replace('_', ' ')}:", *(f"  {plain(item)}" for item in items)]
    emit(arguments, {**report, "done": not arguments.dry_run, "says": line}, *lines, line)


def run_roster(arguments: argparse.Namespace) -> int:
    """Import a list, or print what that would do."""
    from grader.lms import importing

    if arguments.action != "import":
        raise Refused(f"course roster {arguments.action}: the only action is `import`")
    course = _course(arguments)
    columns, more = _pairs(arguments.column), {"encoding": arguments.encoding, "db": arguments.db}
    imported = importing.plan(
        course, arguments.file, arguments.system, named=arguments.id, columns=columns, **more
    )
    if not arguments.dry_run:
        importing.apply(course, imported, arguments.db)
    counts = ", ".join(f"{len(imported.report[part])} {part}" for part in ("new", "changed"))
    done = "nothing imported (dry run)" if arguments.dry_run else "imported"
    line = f"{len(imported.students)} students from {imported.system}, {counts}; {done}"
    _told(arguments, imported.report, line)
    return 0


def run_collect(arguments: argparse.Namespace) -> int:
    """Collect an archive, or print what that would do."""
    from grader import authoring
    from grader.lms import collecting, csv_table, submissions

    course = _course(arguments)
    names = [source.stem for source in authoring.sources(checkout())]
    worksheet = arguments.worksheet and csv_table.read(arguments.worksheet, arguments.encoding)
    work = submissions.Submissions(
        arguments.file, course, arguments.system, worksheet, _pairs(arguments.column), arguments.db
    )
    with closing(work.archive):
        collector = collecting.Collector(
            course, work, names, arguments.assignment, arguments.zone, arguments.late_at
        )
        if not arguments.dry_run:
            collector.apply()
    left_out = len(work.report["not_collected"])
    done = "nothing collected (dry run)" if arguments.dry_run else "collected"
    line = (
        f"{collector.name} from {work.system}: {len(collector.fresh)} of"
        f" {len(collector.hand_ins)} submissions are new, {left_out} left out; {done}"
    )
    _told(arguments, work.report, line)
    return FOUND_WRONG if left_out else 0


def run_export(arguments: argparse.Namespace) -> int:
    """Fill in a system's file, or print what that would do."""
    from grader.lms import exporting

    course, file = _course(arguments), arguments.file
    options = exporting.ExportOptions(
        columns=_pairs(arguments.assignment),
        headers=_pairs(arguments.column),
        encoding=arguments.encoding,
        scale=arguments.scale,
        unfinished=arguments.unfinished,
        overwrite=arguments.overwrite,
        feedback=arguments.feedback,
    )
    exporter = exporting.Exporter(course, file, arguments.system, options, arguments.db)
    out = arguments.out or file.with_name(f"{file.stem}-upload{file.suffix}")
    written = [] if arguments.dry_run else exporter.apply(out)
    report = exporter.report
    done = "nothing written (dry run)" if arguments.dry_run else ", ".join(map(str, written))
    unmatched = len(report["in_the_file_and_not_known_here"])
    unmatched += len(report["scored_here_and_not_in_the_file"])
    line = f"{len(exporter.changes)} scores change, {unmatched} without a counterpart"
    _told(arguments, report, f"{line}; {done or 'nothing to export'}")
    return FOUND_WRONG if unmatched or report["entered_there_and_left"] else 0


def run_rename(arguments: argparse.Namespace) -> int:
    """Rename, and print what was moved."""
    from grader.intake.parsing import plain
    from grader.records import roster

    course = arguments.course or checkout()
    folders, rows = roster.rename(course, arguments.old, arguments.new, arguments.db)
    facts = {"old": arguments.old, "new": arguments.new, "folders": folders, "submissions": rows}
    line = f"{plain(arguments.old)} is now called {plain(arguments.new)}: {len(folders)} folders, "
    line += f"{rows} submissions in the gradebook"
    emit(arguments, facts, *(f"  {plain(folder)}" for folder in folders), line)
    return 0


def run_migrate(arguments: argparse.Namespace) -> int:
    """Copy, and print the number of rows."""
    from grader.records.database import migrate, shown

    source, target = (
        place if "://" in place else f"sqlite:///{Path(place).resolve()}"
        for place in (arguments.source, arguments.target)
    )
    copied = migrate(source, target)
    rows = sum(copied.values())
    facts = {"from": shown(source), "to": shown(target), "rows": copied}
    line = f"{rows} rows copied to {shown(target)}; use it with `course grade … --db`"
    emit(arguments, facts, line)
    return 0
