"""``course roster``, ``collect`` and ``export``: files of learning management systems."""

import argparse
from contextlib import closing
from datetime import datetime
from pathlib import Path

from course_lib.cli.common import FOUND_WRONG, Add, Command, add_db, add_json, checkout, emit, iso
from course_lib.errors import Refused


def register(add: Add) -> None:
    """Add the commands."""
    roster = add(
        "roster",
        run_roster,
        "take names, ids, sections and groups from a system's own list of the class",
    )
    roster.add_argument("action", choices=["import"], help="what is done with the list")
    roster.add_argument("file", type=Path, metavar="FILE", help="a CSV that the system exported")
    roster.option(
        "--id FIELD",
        "what new students' folders are called by: login, email, number or key (the first"
        " that is there)",
        "",
    )
    _add_common(roster, "from")

    collect = add("collect", run_collect, "bring a system's archive of submissions into submitted/")
    collect.add_argument("file", type=Path, metavar="FILE.zip", help="as the system wrote it")
    collect.option("--assignment NAME", "such as 03_attention (by the notebooks)", "")
    collect.option(
        "--worksheet FILE", "Moodle's grading worksheet: who is who, and when it came", type=Path
    )
    collect.option("--zone", "where the system's times are meant, such as Europe/Berlin", "UTC")
    collect.option(
        "--late-at TIME",
        "when that came which is marked late without a time, such as 2026-10-20T08:00",
        type=iso(datetime.fromisoformat, "time such as 2026-10-20T08:00"),
    )
    _add_common(collect, "from")

    export = add(
        "export", run_export, "fill a system's own exported file with scores that have changed"
    )
    export.add_argument("file", type=Path, metavar="FILE", help="what the system exported")
    export.add_argument(
        "--assignment",
        action="append",
        default=[],
        metavar="NAME[=TITLE]",
        help="only this one, and what its column is called there (all, by their names); repeatable",
    )
    export.option("--out FILE", "what is written (FILE-upload)", type=Path)
    export.flags(
        feedback="also pack the pages of feedback that are new",
        scale="to the system's points, where it has others",
        unfinished="also where a part waits for a person",
        overwrite="also scores that were entered there",
    )
    _add_common(export, "for")


def _add_common(parser: Command, which: str) -> None:
    parser.add_argument(
        f"--{which}",
        dest="system",
        default="",
        required=which == "for",
        metavar="SYSTEM",
        help="canvas, moodle, blackboard, brightspace or ilias"
        + ("" if which == "for" else " (by the file)"),
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="FIELD=HEADER",
        help="what a column is called in another language, such as name='Nom complet'; repeatable",
    )
    parser.option("--encoding", "of a file that does not tell (UTF-8)", "")
    parser.option("--course", "folder that holds submitted/ (the checkout)", type=Path)
    parser.flags(dry_run="only say what would be done")
    add_db(parser)
    add_json(parser)


def _pairs(texts: list[str]) -> dict[str, str]:
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def _course(arguments: argparse.Namespace) -> Path:
    from course_lib.grading.lms.formats import SYSTEMS

    if arguments.system and arguments.system not in SYSTEMS:
        raise Refused(f"no system {arguments.system!r}; there are {', '.join(SYSTEMS)}")
    return arguments.course or checkout()


def _told(arguments: argparse.Namespace, report: dict[str, list[str]], line: str) -> None:
    """Print what there is to say: in JSON whole, else a line each, and the summary."""
    from course_lib.grading.intake.parsing import plain

    lines: list[str] = []
    for title, items in report.items():
        if items:
            lines += [f"{title.replace('_', ' ')}:", *(f"  {plain(item)}" for item in items)]
    emit(arguments, {**report, "done": not arguments.dry_run, "says": line}, *lines, line)


def run_roster(arguments: argparse.Namespace) -> int:
    """Import a list, or say what that would do."""
    from course_lib.grading.lms import importing

    course = _course(arguments)
    imported = importing.plan(
        course, arguments.file, arguments.system, named=arguments.id,
        columns=_pairs(arguments.column), encoding=arguments.encoding, db=arguments.db,
    )  # fmt: skip
    if not arguments.dry_run:
        importing.apply(course, imported, arguments.db)
    counts = ", ".join(f"{len(imported.report[part])} {part}" for part in ("new", "changed"))
    done = "nothing imported yet" if arguments.dry_run else "imported"
    line = f"{len(imported.students)} students from {imported.system}, {counts}; {done}"
    _told(arguments, imported.report, line)
    return 0


def run_collect(arguments: argparse.Namespace) -> int:
    """Collect an archive, or say what that would do."""
    from course_lib.grading import authoring
    from course_lib.grading.lms import collecting, csv_table, submissions

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
    done = "nothing collected yet" if arguments.dry_run else "collected"
    line = (
        f"{collector.name} from {work.system}: {len(collector.fresh)} of"
        f" {len(collector.hand_ins)} hand-ins are new, {left_out} left out; {done}"
    )
    _told(arguments, work.report, line)
    return FOUND_WRONG if left_out else 0


def run_export(arguments: argparse.Namespace) -> int:
    """Fill a system's file, or say what that would do."""
    from course_lib.grading.lms import exporting

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
    done = "nothing written yet" if arguments.dry_run else ", ".join(map(str, written))
    unmatched = len(report["in_the_file_and_not_known_here"])
    unmatched += len(report["scored_here_and_not_in_the_file"])
    line = f"{len(exporter.changes)} scores change, {unmatched} without a counterpart"
    _told(arguments, report, f"{line}; {done or 'nothing to hand back'}")
    return FOUND_WRONG if unmatched or report["entered_there_and_left"] else 0
