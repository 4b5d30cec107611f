"""``course doctor`` and ``course attacks``: tests of the sandbox and of the grader."""

from __future__ import annotations

import argparse
import platform
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.base.errors import Refused
from grader.cli.common import FOUND_WRONG, checkout, emit, instrument, jobs

if TYPE_CHECKING:
    from grader.review.preflight import CourseExchange, Remark


COMMANDS = """
doctor: check that students' code can be sandboxed here, and that exchange and clocks are right
  also --course --db --json
attacks: grade a class of every known attack and of honest students
  also --json
  [attack]...       for example gradebook-points (default: all)
  --jobs N:int(2)    submissions at a time (default: 2)
"""


def run_doctor(arguments: argparse.Namespace) -> int:
    """Print the machine's facilities and the outcome of each probe."""
    from grader.judge import fast_imports

    fast_imports.load("grader.authoring")
    from grader import authoring
    from grader.judge import doctor
    from grader.judge.forkserver import ForkServer, WorkerFailed
    from grader.records import roster
    from grader.review import preflight

    facts: dict[str, Any] = {"system": f"{platform.system()} {platform.release()}"}
    probes: dict[str, bool] = {}
    refused = ""
    where = _exchange(arguments)
    places = [where.root, arguments.course or checkout()] if where else []
    with tempfile.TemporaryDirectory() as folder:
        try:
            with ForkServer(Path(folder)) as forkserver:
                probes = doctor.examine(forkserver, places)
                facts["a user for every worker"] = forkserver.own_users
                facts["caps on all processes of a worker together"] = bool(forkserver.group)
        except WorkerFailed as failed:
            refused = str(failed)
    escaped = [name for name, got_out in probes.items() if got_out]
    remarks: list[Remark] = []
    if where:
        known = roster.people(places[1], arguments.db)
        remarks = preflight.remarks(places[1], where, [*authoring.known(checkout())], known)
    lines = [
        f"  {name}: {value if isinstance(value, str) else 'yes' if value else 'no'}"
        for name, value in facts.items()
    ]
    lines += [f"  {'ESCAPED' if out else 'held':8} {name}" for name, out in probes.items()]
    if refused:
        lines.append(f"\n{refused}\n\n{ADVICE}")
    lines += [f"  {'WRONG' if remark.wrong else 'note':8} {remark.says}" for remark in remarks]
    held = len(probes) - len(escaped)
    line = f"walls {held}/{len(probes)} hold" if probes else "no sandbox here: grading refuses"
    wrong = [remark.says for remark in remarks if remark.wrong]
    notes = [remark.says for remark in remarks if not remark.wrong]
    data = {"facts": facts, "escaped": escaped, "refused": refused, "wrong": wrong, "notes": notes}
    emit(arguments, data, *lines, line)
    return FOUND_WRONG if refused or escaped or wrong else 0


def _exchange(arguments: argparse.Namespace) -> CourseExchange | None:
    from grader.review import preflight

    try:
        root = checkout()
    except Refused:
        if arguments.course:
            raise
        return None  # the sandbox can be tested anywhere
    return preflight.exchange_of(arguments.course or root, root)


def run_attacks(arguments: argparse.Namespace) -> int:
    """Print the outcome of each attack, then the summary line."""
    from tqdm import tqdm

    root = checkout()
    attacks = instrument("grader.attacks.class_of_attacks")
    by_name = {attack.name: attack for attack in attacks.ATTACKS}
    if unknown := sorted(set(arguments.attack) - set(by_name)):
        raise Refused(f"no attack {', '.join(unknown)}; there are {', '.join(by_name)}")
    many = jobs(arguments)
    chosen = [by_name[name] for name in arguments.attack] or list(attacks.ATTACKS)
    tqdm.monitor_interval = 0  # its thread would be there when judges are forked
    with (
        tempfile.TemporaryDirectory(prefix="course-attacks-") as folder,
        tqdm(unit="submission", disable=arguments.json) as bar,
    ):
        course = Path(folder, "course")
        outcome = attacks.run(root, course, attacks=chosen, jobs=many, say=lambda _: bar.update())
    lines = [case.text() for case in [*outcome.attacks, *outcome.honest]]
    emit(arguments, outcome.data(), *lines, outcome.summary())
    return 0 if outcome.good else FOUND_WRONG


ADVICE = """\
Grading needs Linux 5.12 or newer and permission to make user namespaces. Inside Docker, start the
container with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`, or grade
outside. On Ubuntu 24, `sysctl kernel.apparmor_restrict_unprivileged_userns=0` allows them. macOS
and Windows have none: grade in a virtual machine. `course grade --unsafe` does without a sandbox.\
"""
