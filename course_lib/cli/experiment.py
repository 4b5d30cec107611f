"""``course experiment``: a student's part in the class's experiment, a prediction and one run."""

import argparse
import os
from dataclasses import replace
from pathlib import Path

from course_lib.cli.common import Add, sources
from course_lib.errors import Refused


def register(add: Add) -> None:
    """Add the command."""
    one = add("experiment", run_experiment, "predict a result, then run one seed of your own")
    one.add_argument("action", choices=("predict", "run"), help="first the one, then the other")
    says = "of the assignment, such as exercises/07_sinusoids (here)"
    one.add_argument("folder", nargs="?", type=Path, default=Path(), help=says)
    one.option("--difference D", "predict: of your own run; above 0 as claimed", type=float)
    one.option("--sure PERCENT", "predict: of its sign, 50 (a guess) to 95 by fives", type=int)
    one.option("--student ID", "predict: as the class knows you (JUPYTERHUB_USER)", "")
    one.option("--word WORD", "run: that the class was given after predicting", "")
    one.flags(named="say at the claim that you have run this, if your class publishes it")


def run_experiment(arguments: argparse.Namespace) -> int:
    """Write the prediction, or the run beside it; say what it is about and what came out."""
    from course_lib.data.files import cache_dir
    from course_lib.experiments import get, one_seed
    from course_lib.files import write_whole

    path, asked = arguments.folder / one_seed.FILE, one_seed.asked(sources())
    if (folder := arguments.folder.resolve().name) not in asked:
        raise Refused(f"{folder} asks for no experiment; these do: {', '.join(asked)}")
    name = asked[folder]
    experiment = get(name.partition("/")[0])
    question = one_seed.question_of(experiment, name.partition("/")[2])
    (arm, metric), (other, _) = question.sides
    print(f"{name}: {question.claim}")
    less = f"{metric} of {arm} less that of {other}"
    print(f"  the difference is {less}; one of at most {question.margin or 0:g} counts as none")
    if arguments.action == "predict":
        student = arguments.student or os.environ.get("JUPYTERHUB_USER", "")
        if not student or arguments.difference is None or arguments.sure is None:
            raise Refused("predict wants --difference D, --sure PERCENT and --student ID")
        if path.exists():
            raise Refused(f"{path} holds a prediction already; the first one collected counts")
        made = one_seed.predicted(
            name, question, student, arguments.difference, arguments.sure, arguments.named
        )
        write_whole(path, made.to_json())
        print(f"{path}: {made.difference:+g}, {made.sure} % sure")
        print("  hand it in beside your notebook; `course experiment run` comes next")
        return 0
    if not path.exists():
        raise Refused(f"there is no {path}: `course experiment predict` comes first")
    made = one_seed.read(path.read_bytes())
    if made.question != name:
        raise Refused(f"{path} is about {made.question}: move it away and predict again")
    made = replace(made, word=arguments.word or made.word, named=arguments.named or made.named)
    made = one_seed.run(made, experiment, path, cache_dir() / "runs", print)
    found = one_seed.difference(question, made.records)
    sign = "the" if found * made.difference > 0 else "not the"
    print(f"{path}: your run shows {found:+.3g}, {sign} sign you predicted")
    print(f"  you said {made.difference:+g}, {made.sure} % sure; hand it in beside your notebook")
    return 0
