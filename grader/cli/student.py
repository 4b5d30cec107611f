"""``course check``, ``reset``, ``prove`` and ``verify``: what a learner does with a notebook."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from grader.base.errors import Refused
from grader.cli.common import FOUND_WRONG, emit, say, sources, visible

COMMANDS = """
check: run a notebook from top to bottom and print the grader's verdict
  also --json
  notebook:Path         for example exercises/03_attention/03_attention.ipynb
  --seconds N:int(120)   time limit of a cell in seconds (default: 120)
reset: restore missing parts of a notebook, or one cell as it was handed out
  also --dry-run --json
  notebook:Path         for example exercises/03_attention/03_attention.ipynb
  [cell]()              an exercise such as attention.scaled_dot_product, a cell's id, or a
                        function; its cells are restored whole. Without it, answers are kept
  --all                 restore every released cell whole
prove: pack your answers into a signed file that others can verify
  notebook...:Path      for example exercises/03_attention/…
  --into FILE:Path(proof.json)   output file (default: proof.json)
  --name NAME()          your name, if you want it in the file
  --path                include the history of your checks, if ~/course-path.jsonl has it
verify: grade a proof again, and print two questions about its code
  also --json
  proof:Path            a file that `course prove` made
  --unsafe              run its code, which is a stranger's, without a sandbox: it can then read and
                        write whatever you can
"""


def run_check(arguments: argparse.Namespace) -> int:
    """Print each table, then the points."""
    from grader.intake.parsing import Unreadable
    from grader.student.selfcheck import rehearse

    if arguments.seconds < 1:
        raise Refused(f"--seconds {arguments.seconds}: at least 1 is needed")
    try:
        result = rehearse(
            arguments.notebook,
            sources(),
            arguments.seconds,
            lambda text: None if arguments.json else print(f"{visible(text)}\n", flush=True),
        )
    except Unreadable as error:
        raise Refused(str(error)) from None
    except Refused as error:
        raise Refused(f"{arguments.notebook}: {error}") from None
    emit(arguments, result.data(), result.line)
    return 0 if result.ready else FOUND_WRONG


def run_reset(arguments: argparse.Namespace) -> int:
    """Restore cells, and print where the old notebook was copied to."""
    from grader.student import reset

    if arguments.all and arguments.cell:
        raise Refused("--all restores every cell: leave out the name of a cell")
    plan = reset.plan(arguments.notebook, sources(), arguments.cell, every=arguments.all)
    copy = None if arguments.dry_run else plan.write()
    facts = {"notebook": str(plan.path), "done": plan.done, "kept": str(copy) if copy else None}
    if not plan.done:
        line = f"{plan.path} is complete; there is nothing to restore"
    elif copy is None:
        line = f"dry run: {len(plan.done)} changes to {plan.path}"
    else:
        line = f"{plan.path} was restored; the old version is in {copy}. Reload it if it is open"
    emit(arguments, facts, *(f"  {sentence}" for sentence in plan.done), line)
    return 0


def run_prove(arguments: argparse.Namespace) -> int:
    """Check each notebook as `course check` does, then pack and sign."""
    from importlib.metadata import version

    from grader.base.course import course
    from grader.base.files import write_whole
    from grader.student import proof
    from grader.student.selfcheck import rehearse

    root, notebooks = sources(), []
    for path in arguments.notebook:
        say(f"checking {path}")
        result = rehearse(path, root)
        claims = {report["exercise"]: report["score"] for report in result.reports}
        notebooks.append(proof.packed(path, root, claims))
    names = [one.name for one in notebooks]
    if len(set(names)) < len(names):
        raise Refused(f"two notebooks belong to the same assignment: {', '.join(names)}")
    exercises = {name for one in notebooks for name in one.points}
    steps = proof.read_path(Path.home(), exercises) if arguments.path else []
    made = datetime.now(UTC).isoformat(timespec="seconds")
    facts = {"made": made, "course": version(course().distribution), "name": arguments.name}
    text, key = proof.sign(proof.Proof(notebooks=notebooks, path=steps, **facts))
    write_whole(arguments.into, text)
    points = sum(sum(one.points.values()) for one in notebooks)
    print(
        f"{arguments.into}: {len(notebooks)} notebooks, {points:g} points, {len(steps)} earlier"
        f" checks; its key begins {key}. Keep that with the file: it shows that the file is"
        " yours."
    )
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    """Print the verdicts, false claims of the file, and the questions."""
    import tempfile

    from grader.intake.parsing import plain
    from grader.judge import doctor
    from grader.judge.forkserver import ForkServer
    from grader.student.proof import read
    from grader.student.verify import verify

    content, key = read(arguments.proof)
    with tempfile.TemporaryDirectory(prefix="course-proof-") as folder:
        kits = Path(folder, "package")
        with doctor.behind_walls(ForkServer(kits, walls=not arguments.unsafe)) as forkserver:
            verified = verify(content, sources(), forkserver, say)
    faults = [fault for one in verified for fault in one.faults]
    who = f"{content.name} (according to its author)" if content.name else "an unnamed person"
    lines = [f"a proof of {content.made[:10]} by {who}, course {content.course}"]
    lines.append(f"unchanged since it was signed; its key begins {key}")
    for one in verified:
        lines += one.lines()
    for step in content.path:
        fallen = f"; not: {', '.join(step.fallen)}" if step.fallen else ""
        lines.append(f"  {step.on[:16]} {step.exercise} {step.points:g}{fallen}")
    for number, question in enumerate((q for one in verified for q in one.questions), 1):
        lines += ["", f"{number}. {question.exercise}: {question.text}"]
        lines += question.code.splitlines()
        lines += [f"   {chr(65 + n)}) {option}" for n, option in enumerate(question.options)]
        lines.append(f"   answer: {question.answer}. {question.why}")
    points = sum(one.judged.score for one in verified)
    end = f"NOT verified: {len(faults)} faults" if faults else f"verified: {points:g} points"
    facts = {
        "made": content.made,
        "name": content.name,
        "key": key,
        "points": points,
        "notebooks": [one.data() for one in verified],
        "path": [step.model_dump() for step in content.path],
    }
    # Any line may contain a stranger's text.
    emit(arguments, facts, *(plain(line, 2000) for line in lines), end)
    return FOUND_WRONG if faults else 0
