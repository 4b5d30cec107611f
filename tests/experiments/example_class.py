"""The example class of forty: predictions drawn by this file, runs that have really been run.

``python tests/experiments/example_class.py`` writes ``book/example_class.json`` anew, or goes on
with it: about eight minutes of one core.
"""

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from course_lib.experiments import get, one_seed
from grader.base.files import write_whole

PLACE = Path(__file__).parents[2] / "book" / "example_class.json"
QUESTION = "no-positions/forwards"
WORD = "example"
MANY = 40


def predictions() -> Iterator[one_seed.HandIn]:
    """Most expect that positions help, and more than they do; every third wants to be named."""
    question = one_seed.question_of(get("no-positions"), "forwards")
    draw = random.Random(QUESTION)
    for number in range(1, MANY + 1):
        guess = draw.gauss(0.02, 0.02)
        guess = guess if abs(guess) > 0.001 else 0.001
        sure = min(95, 50 + 5 * round(draw.uniform(0, 6) + abs(guess) / 0.01))
        name = f"student-{number:02}"
        made = one_seed.predicted(QUESTION, question, name, guess, sure, number % 3 == 0)
        yield one_seed.HandIn(**{**vars(made), "word": WORD})


def hand_ins(path: Path = PLACE) -> dict[str, bytes]:
    return {name: json.dumps(made).encode() for name, made in json.loads(path.read_text()).items()}


def main(path: Path = PLACE) -> None:
    class_ = json.loads(path.read_text()) if path.exists() else {}
    for made in predictions():
        if made.student not in class_:
            with tempfile.TemporaryDirectory() as folder:
                place = Path(folder)
                made = one_seed.run(made, get("no-positions"), place / "one.json", place, print)
            class_[made.student] = json.loads(made.to_json())
            rows = (f"{json.dumps(name)}: {json.dumps(one)}" for name, one in class_.items())
            write_whole(path, "{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
