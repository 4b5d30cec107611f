"""Honest submissions score the same under stock ``nbgrader autograde``."""

import shutil
import warnings
from pathlib import Path

import pytest
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from course_tests.grader.attacks import honest
from course_tests.grader.submitted import hand_in
from grader import authoring, sample
from grader.checks import seeds
from grader.classroom import Classroom
from grader.records import gradebook

# Each takes stock nbgrader about seven seconds. Full marks are those of `warns`.
CLASSES = {
    "02_lookup": ("ben-partial", "dan-mistaken", "warns"),
    "03_attention": ("ben-partial", "cleo-stub", "eva-mistaken", "warns"),
    "04_heads": ("eva-mistaken", "warns"),
    "05_masks": ("ben-partial", "finn-mistaken", "warns"),
    "07_sinusoids": ("eva-mistaken", "warns"),
}
NAMES = [source.stem for source in authoring.sources(Path(__file__).parents[2])]


@pytest.mark.sample("03_attention")
@pytest.mark.parametrize("name", NAMES)
def test_stock_nbgrader_gives_the_same_scores(root, tmp_path, monkeypatch, lasting, name):
    monkeypatch.setenv(seeds.ENVIRONMENT, "0123456789abcdef")
    ours, stock = tmp_path / "ours", tmp_path / "stock"
    wanted = CLASSES.get(name, ("eva-mistaken", "warns"))
    sample.make(ours, authoring.named(root, name), lambda student: student in wanted)
    assignment = authoring.load(root / f"solutions/{name}/{name}.md", root)
    hand_in(ours, "warns", honest.noisy(assignment), name)
    verdicts = Classroom(ours, root, name).grade(lasting)
    assert {v.student for v in verdicts} == set(wanted)
    assert not any(v.reason for v in verdicts)

    shutil.copytree(ours / "submitted", stock / "submitted")
    source = stock / "solutions" / name / f"{name}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(authoring.text(assignment.solution), encoding="utf-8")
    config = Config(authoring.nbgrader_config(root))
    config.CourseDirectory.root = str(stock)
    config.ExecutePreprocessor.shutdown_kernel = "immediate"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api = NbGraderAPI(config=config)
        with gradebook.open_gradebook(stock):
            pass
        assert api.generate_assignment(name)["success"]
        for student in wanted:
            result = api.autograde(name, student)
            assert result["success"], result.get("log", "")[-2000:]
    theirs = gradebook.scores(stock, name)
    assert theirs == gradebook.scores(ours, name)
    earned = sum(score for score in theirs["warns"].values() if score is not None)
    assert earned == sum(exercise.points for exercise in assignment.exercises)
