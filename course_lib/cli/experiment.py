"""``course experiment``: a student's part in the class's experiment, a prediction and one run."""

import argparse
import os
from dataclasses import replace
from pathlib import Path

from grader.base.errors import Refused
from grader.cli.common import Add, sources


def register(add: Add) -> None:
    """Add the command."""
    one = add(
        "experiment", run_experiment, "predict a result, then train one run with a seed of your own"
    )
    one.add_argument("action", choices=("predict", "run"), help="predict comes first")
    says = "folder of the assignment (default: the current one)"
    one.add_argument("folder", nargs="?", type=Path, default=Path(), help=says)
    one.option(
        "--difference D", "predict: the difference in your run; above 0 if as claimed", type=float
    )
    one.option(
        "--sure PERCENT",
        "predict: how sure you are of its sign, 50 (a guess) to 95 in steps of 5",
        type=int,
    )
    one.option("--student ID", "predict: your id in the class (default: JUPYTERHUB_USER)", "")
    one.option("--word WORD", "run: the word that the class was given after predicting", "")
    one.flags(named="publish your name with the claim, if your class publishes the result")


def run_experiment(arguments: argparse.Namespace) -> int:
    """Write the prediction, or the run beside it, and print both."""
    from course_lib.data.files import cache_dir
    from course_lib.experiments import get, one_seed
    from grader.base.files import write_whole

    path, asked = arguments.folder / one_seed.FILE, one_seed.asked(sources())
    if (folder := arguments.folder.resolve().name) not in asked:
        raise Refused(f"{folder} has no experiment; these do: {', '.join(asked)}")
    name = asked[folder]
    experiment = get(name.partition("/")[0])
    question = one_seed.question_of(experiment, name.partition("/")[2])
    (arm, metric), (other, _) = question.sides
    print(f"{name}: {question.claim}")
    less = f"{metric} of {arm} minus that of {other}"
    print(f"  the difference is {less}; up to {question.margin or 0:g} it counts as none")
    if arguments.action == "predict":
        student = arguments.student or os.environ.get("JUPYTERHUB_USER", "")
        if not student or arguments.difference is None or arguments.sure is None:
            raise Refused("predict needs --difference D, --sure PERCENT and --student ID")
        if path.exists():
            raise Refused(f"{path} already contains a prediction; the first one collected counts")
        made = one_seed.predicted(
            name, question, student, arguments.difference, arguments.sure, arguments.named
        )
        write_whole(path, made.to_json())
        print(f"{path}: {made.difference:+g}, {made.sure} % sure")
        print("  hand it in with your notebook, then run `course experiment run`")
        return 0
    if not path.exists():
        raise Refused(f"there is no {path}: run `course experiment predict` first")
    try:
        made = one_seed.read(path.read_bytes())
    except Refused as error:
        raise Refused(f"{path}: {error}") from None
    if made.question != name:
        raise Refused(f"{path} is about {made.question}: move it away and predict again")
    made = replace(made, word=arguments.word or made.word, named=arguments.named or made.named)
    made = one_seed.run(made, experiment, path, cache_dir() / "runs", print)
    found = one_seed.difference(question, made.records)
    sign = "the" if found * made.difference > 0 else "not the"
    print(f"{path}: your run shows {found:+.3g}, {sign} sign you predicted")
    print(f"  you said {made.difference:+g}, {made.sure} % sure; hand it in with your notebook")
    return 0
