"""Commands around grading: handouts, other systems' files, students' names, the gradebook."""

import argparse
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from grader.base.errors import Refused
from grader.cli.common import (
    FOUND_WRONG,
    Add,
    Command,
    add_db,
    add_dry,
    add_json,
    checkout,
    emit,
    iso,
    say,
)


def register(add: Add) -> None:
    """Add the commands."""
    handout = add("handout", run_handout, "write everything that students get, without solutions")
    handout.add_argument(
        "folder", type=Path, metavar="DIR", help="a new folder, or an earlier handout"
    )
    handout.add_argument(
        "assignment", nargs="*", help="for example 03 or 03_attention (default: all)"
    )
    add_dry(handout)

    release = add(
        "release-solutions", run_release, "publish a solution after the last extension has ended"
    )
    release.add_argument("assignment", help="for example 03 or 03_attention")
    release.option("--course", "the gradebook's folder (default: the checkout)", type=Path)
    release.option("--into DIR", "a handout or another folder (default: _build)", type=Path)
    release.flags(yes="publish even before the last extension has ended")
    add_db(release)
    add_dry(release)

    roster = add(
        "roster",
        run_roster,
        "import names, ids, sections and groups from a learning management system",
    )
    roster.add_argument("action", choices=["import"], help="import the list")
    roster.add_argument("file", type=Path, metavar="FILE", help="a CSV file exported by the system")
    roster.option(
        "--id FIELD",
        "the field that names the folders of new students: login, email, number or key"
        " (default: the first that exists)",
        "",
    )
    _add_common(roster, "from")

    collect = add("collect", run_collect, "import a system's archive of submissions")
    collect.add_argument("file", type=Path, metavar="FILE.zip", help="the archive as downloaded")
    collect.option("--assignment NAME", "for example 03_attention (default: by the notebooks)", "")
    collect.option(
        "--worksheet FILE", "Moodle's grading worksheet, which has names and times", type=Path
    )
    collect.option(
        "--zone", "time zone of the system, for example Europe/Berlin (default: UTC)", "UTC"
    )
    collect.option(
        "--late-at TIME",
        "time of work that is marked late without a time, for example 2026-10-20T08:00",
        type=iso(datetime.fromisoformat, "time such as 2026-10-20T08:00"),
    )
    _add_common(collect, "from")

    export = add("export", run_export, "write changed scores into a system's own exported file")
    export.add_argument("file", type=Path, metavar="FILE", help="the file exported by the system")
    export.add_argument(
        "--assignment",
        action="append",
        default=[],
        metavar="NAME[=TITLE]",
        help="only this assignment, and the title of its column there (default: all, by name);"
        " repeatable",
    )
    export.option("--out FILE", "output file (default: FILE-upload)", type=Path)
    export.flags(
        feedback="also pack new pages of feedback",
        scale="rescale scores where the system has another maximum",
        unfinished="also export scores that still wait for a person",
        overwrite="also replace scores that were entered there",
    )
    _add_common(export, "for")

    rename = add("rename", run_rename, "rename a student in the folders and the gradebook")
    rename.add_argument("old", metavar="OLD", help="the current name")
    rename.add_argument("new", metavar="NEW", help="the new name")
    rename.option("--course", "folder that contains submitted/ (default: the checkout)", type=Path)
    add_db(rename)
    add_json(rename)

    migrate = add(
        "migrate",
        run_migrate,
        "copy a gradebook into another, empty database, completely or not at all",
    )
    migrate.add_argument(
        "source", metavar="FROM", help="a gradebook.db, or the address of a database"
    )
    migrate.add_argument("target", metavar="TO", help="for example postgresql://user@host/grades")
    add_json(migrate)


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


def run_release(arguments: argparse.Namespace) -> int:
    """Write the solution; refuse before the last extension has ended."""
    from grader.student import handout, solutions

    root = checkout()
    (name,) = handout.assignments(root, [arguments.assignment])
    last = solutions.last_date(arguments.course or root, name, arguments.db)
    path = solutions.target(arguments.into or root / "_build", name)
    why = solutions.may_release(name, last, datetime.now(UTC))
    facts = {
        "assignment": name,
        "last": last.when.isoformat() if last else None,
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


def _add_common(parser: Command, which: str) -> None:
    parser.add_argument(
        f"--{which}",
        dest="system",
        default="",
        required=which == "for",
        metavar="SYSTEM",
        help="canvas, moodle, blackboard, brightspace or ilias"
        + ("" if which == "for" else " (default: recognised by the file)"),
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="FIELD=HEADER",
        help="title of a column in another language, for example name='Nom complet'; repeatable",
    )
    parser.option("--encoding", "encoding of a file that does not state it (default: UTF-8)", "")
    parser.option("--course", "folder that contains submitted/ (default: the checkout)", type=Path)
    parser.flags(dry_run="print what would be done, change nothing")
    add_db(parser)
    add_json(parser)


def _pairs(texts: list[str]) -> dict[str, str]:
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def _course(arguments: argparse.Namespace) -> Path:
    from grader.lms.formats import SYSTEMS

    if arguments.system and arguments.system not in SYSTEMS:
        raise Refused(f"no system {arguments.system!r}; there are {', '.join(SYSTEMS)}")
    return arguments.course or checkout()


def _told(arguments: argparse.Namespace, report: dict[str, list[str]], line: str) -> None:
    """Print the report as JSON or line by line, and the summary."""
    from grader.intake.parsing import plain

    lines: list[str] = []
    for title, items in report.items():
        if items:
            lines += [f"{title.replace('_', ' ')}:", *(f"  {plain(item)}" for item in items)]
    emit(arguments, {**report, "done": not arguments.dry_run, "says": line}, *lines, line)


def run_roster(arguments: argparse.Namespace) -> int:
    """Import a list, or print what that would do."""
    from grader.lms import importing

    course = _course(arguments)
    imported = importing.plan(
        course, arguments.file, arguments.system, named=arguments.id,
        columns=_pairs(arguments.column), encoding=arguments.encoding, db=arguments.db,
    )  # fmt: skip
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
        columns=_pairs(arguments.assignment), headers=_pairs(arguments.column),
        encoding=arguments.encoding, scale=arguments.scale, unfinished=arguments.unfinished,
        overwrite=arguments.overwrite, feedback=arguments.feedback,
    )  # fmt: skip
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

    source, target = (_address(place) for place in (arguments.source, arguments.target))
    copied = migrate(source, target)
    rows = sum(copied.values())
    facts = {"from": shown(source), "to": shown(target), "rows": copied}
    line = f"{rows} rows copied to {shown(target)}; use it with `course grade … --db`"
    emit(arguments, facts, line)
    return 0


def _address(place: str) -> str:
    """The address of a file, or an address unchanged."""
    return place if "://" in place else f"sqlite:///{Path(place).resolve()}"
