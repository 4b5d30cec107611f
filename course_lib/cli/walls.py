"""``course doctor``: whether students' processes can be enclosed on this machine."""

from __future__ import annotations

import argparse
import platform
import tempfile
from pathlib import Path
from typing import Any

from course_lib.cli import FOUND_WRONG, add_json, emit


def register(commands: Any) -> None:
    """Add the command."""
    doctor = commands.add_parser(
        "doctor",
        help="try to escape from where students' code is graded; say what this machine has",
    )
    add_json(doctor)
    doctor.set_defaults(handler=run_doctor)


def run_doctor(arguments: argparse.Namespace) -> int:
    """Print what the machine offers and what became of each probe."""
    from course_lib.grading import doctor, kit
    from course_lib.grading.nursery import Nursery, WorkerFailed

    facts: dict[str, Any] = {"system": f"{platform.system()} {platform.release()}"}
    findings: list[doctor.Finding] = []
    refused = ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with Nursery(kit.build(Path(folder))) as nursery:
                findings = doctor.examine(nursery)
                facts["a user for every worker"] = nursery.own_users
                facts["caps on all processes of a worker together"] = bool(nursery.group)
        except WorkerFailed as failed:
            refused = str(failed)
    escaped = [finding.name for finding in findings if finding.escaped]
    if not arguments.json:
        for name, value in facts.items():
            print(f"  {name}: {value if isinstance(value, str) else 'yes' if value else 'no'}")
        for finding in findings:
            print(f"  {'ESCAPED' if finding.escaped else 'held':8} {finding.name}")
        if refused:
            print(f"\n{refused}\n\n{ADVICE}")
    held = len(findings) - len(escaped)
    line = f"walls {held}/{len(findings)} hold" if findings else "no walls here: grading refuses"
    emit(arguments, {"facts": facts, "escaped": escaped, "refused": refused}, line)
    return FOUND_WRONG if refused or escaped else 0


ADVICE = """\
Grading needs Linux 5.12 or newer and permission to make user namespaces. Inside Docker, start the
container with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`, or grade
outside. On Ubuntu 24, `sysctl kernel.apparmor_restrict_unprivileged_userns=0` allows them. macOS
and Windows have none: grade in a virtual machine. `course grade --unsafe` does without walls.\
"""
