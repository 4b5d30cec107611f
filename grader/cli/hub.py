"""``course hub``: a JupyterHub for the course on this machine."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grader.base.errors import Refused
from grader.cli.common import FOUND_WRONG, Add, checkout

if TYPE_CHECKING:
    from grader.hub.settings import HubSettings

_ABOUT = """\
Without an action the hub runs in the foreground until Ctrl-C.

  prepare   install, make accounts and folders, and report faults; start nothing
  demo      add one instructor and three students, print how to log in, and run the hub
  forget    remove the demo's accounts with their homes
  grader    run a command in the grader's account: `grader course grade 03_attention`
  lecture   count the requirements that the class's checks fail: `lecture 03_attention`; an
            instructor runs it in a terminal of the hub, without root
"""


def register(add: Add) -> None:
    """Add the command."""
    says = "run a JupyterHub for the course on this machine; needs root"
    raw = argparse.RawDescriptionHelpFormatter
    hub = add("hub", run_hub, says, description=_ABOUT, formatter_class=raw)
    hub.option("--settings FILE", "the hub's settings (default: deploy/local/hub.toml)", type=Path)
    hub.flags(renew="copy this checkout's assignments to the grader again")
    actions = ["start", "prepare", "demo", "forget", "grader", "lecture"]
    hub.add_argument("action", nargs="?", default="start", choices=actions, metavar="ACTION")
    hub.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")


def run_hub(arguments: argparse.Namespace) -> int:
    """Run the action, after checking that it can work."""
    from grader.hub import accounts, preflight
    from grader.hub.settings import read

    if arguments.action == "lecture":
        return _lecture(arguments.command)
    root = checkout()
    file = arguments.settings or root / "deploy" / "local" / "hub.toml"
    place = read(file.resolve())
    if arguments.command and arguments.action != "grader":
        raise Refused(f"course hub {arguments.action} takes no {arguments.command[0]!r}")
    if arguments.action == "grader":
        return _grader(place, arguments.command)
    if arguments.action == "forget":
        if not accounts.is_root():
            raise Refused("only root can remove accounts: run it with sudo")
        gone = accounts.remove(place, (place.demo_instructor, *place.demo_students))
        print(f"removed {', '.join(gone)}" if gone else "there is no account of the demo")
        return 0
    _refuse(preflight.machine(place, root))
    _prepare(place, root, arguments.renew)
    passwords = accounts.demo(place) if arguments.action == "demo" else {}
    _refuse(preflight.made(place))
    if arguments.action == "prepare":
        print(f"ready: `course hub` runs it at {place.url}")
        return 0
    return _run(place, root, passwords, arguments)


def _lecture(asked: list[str]) -> int:
    from grader.checks.cell import LECTURE
    from grader.hub.lecture import Counts, show

    if not (place := os.environ.get(LECTURE)):
        raise Refused("`course hub lecture` works only in a terminal of the hub")
    if len(asked) != 1:
        raise Refused("which assignment? for example `course hub lecture 03_attention`")
    counts, page = Counts(*asked), Path.home() / "lecture.html"
    way = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "/")
    print(f"The page is {way}files/{page.name} on the hub. Ctrl-C ends it and forgets all counts.")
    sys.stdout.flush()
    with contextlib.suppress(KeyboardInterrupt):
        show(counts, Path(place), page)
    return 0


def _refuse(found: list[str]) -> None:
    if found:
        raise Refused("nothing was started.\n" + "\n".join(f"- {problem}" for problem in found))


def _prepare(place: HubSettings, root: Path, renew: bool) -> None:
    from grader.hub import accounts, software

    software.prepare(place, root, lambda line: print(line, flush=True))
    accounts.folders(place, root)
    if renew:
        accounts.renew(place, root)
    if changed := accounts.stale(place, root):
        print(
            f"{place.grader}'s copy of {', '.join(changed)} differs from this checkout; keep"
            " it, or replace it with --renew"
        )


def _grader(place: HubSettings, command: list[str]) -> int:
    from grader.hub import accounts

    if not accounts.is_root():
        raise Refused(f"only root can become {place.grader}: run it with sudo")
    if not (accounts.exists(place.grader) and place.checkout.is_dir()):
        raise Refused(f"there is no {place.grader} with a course yet: run `course hub prepare`")
    return accounts.as_grader(place, command or ["/bin/bash"]).returncode


def _run(
    place: HubSettings, root: Path, passwords: dict[str, str], arguments: argparse.Namespace
) -> int:
    from grader.hub import accounts, running

    print("starting the hub; that takes half a minute", flush=True)
    try:
        with running.running(place, root) as hub:
            print(f"\nThe hub is at {place.url}. Ctrl-C ends it, with all servers.")
            print(f"Its log is {running.log_of(place)}.")
            if passwords:
                print("Accounts of the demo, with new passwords:")
                for name, password in passwords.items():
                    print(f"  {name:20} {password}")
                instructor = place.demo_instructor
                print(f"Formgrader, for {instructor}: {place.url}/services/{place.course}/lab")
            elif not accounts.members(place.students):
                print(f"Nobody is in {place.students} yet; `course hub demo` adds three students.")
            sys.stdout.flush()
            running.wait(hub, arguments.interrupt.check)
    except running.HubEnded as ended:
        print(f"course hub: {ended}", file=sys.stderr)
        return FOUND_WRONG
    except KeyboardInterrupt:
        pass
    print("\nthe hub has ended", flush=True)
    return 0
