"""Which tests a change can reach."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("changed", "test", "seen"),
    [
        ("course_lib/masks/__init__.py", "tests/test_masks.py", True),
        ("course_lib/masks/__init__.py", "tests/test_resnet.py", False),
        ("course_lib/swin/blocks.py", "tests/data/test_ett.py", False),
        # Through a module that finds others while it runs.
        ("course_lib/bank/seq2seq/greedy_write.py", "tests/bank/test_bad_input.py", True),
        ("tests/parity/peers/rotary.py", "tests/parity/test_parity.py", True),
        ("course_lib/swin/blocks.py", "tests/parity/test_parity.py", True),
        ("tests/grader/attacks/honest.py", "tests/grader/test_attacks.py", True),
        ("tests/browser/live.py", "tests/figures/test_live_training.py", True),
        ("course_lib/bank/seq2seq/greedy_write.py", "tests/parity/test_parity.py", False),
        ("course_lib/claims/cost.py", "tests/claims/test_claims.py", True),
        ("course_lib/drawings/space.py", "tests/drawings/test_drawings.py", True),
        # A module's own examples, what it reaches, and a conftest above a test.
        ("course_lib/scaling.py", "course_lib/scaling.py", True),
        ("course_lib/scaling.py", "course_lib/calibration.py", False),
        ("tests/grader/conftest.py", "tests/grader/judge/test_judge.py", True),
        ("tests/grader/conftest.py", "tests/book/test_site.py", False),
        # Text is seen by what names its folder.
        ("book/chapters/03_attention.md", "tests/book/test_plain.py", True),
        ("book/chapters/03_attention.md", "tests/test_resnet.py", False),
        ("exercises/03_attention/03_attention.ipynb", "exercises/04_heads/04_heads.ipynb", False),
    ],
)
def test_a_change_is_seen_by_what_depends_on_it(sees, changed, test, seen):
    assert sees(ROOT / test, {ROOT / changed}) is seen


@pytest.mark.parametrize(
    ("changed", "case", "touched"),
    [
        ("course_lib/bank/masks/causal_mask.py", "masks.causal_mask", True),
        ("course_lib/bank/masks/causal_mask_answers.py", "masks.causal_mask", True),
        ("course_lib/bank/masks/causal_mask.py", "masks.window_mask", False),
        # What an exercise's module imports; not what runs them all.
        ("course_lib/masks/softmax.py", "masks.masked_softmax", True),
        ("course_lib/swin/blocks.py", "masks.masked_softmax", False),
        ("grader/checks/trial.py", "masks.masked_softmax", False),
        ("solutions/05_masks/05_masks.md", "05_masks", True),
        ("solutions/05_masks/05_masks.md", "04_heads", False),
        ("book/intro.md", "book/intro.html", True),
        ("book/chapters/03_scale.md", "book/chapters/03_attention.html", False),
    ],
)
def test_a_change_brings_its_cases_of_a_sweep_back(selection, touches, changed, case, touched):
    assert touches(case, selection({ROOT / changed}, ())) is touched


def test_a_changed_answer_asks_sweeps_about_its_own_exercise_only(selection):
    """With what `make exercises` writes of it; a change of what is asked asks all tests."""
    sweep, named = ROOT / "tests/bank/test_bad_input.py", ROOT / "tests/bank/test_references.py"
    answers = ROOT / "course_lib/bank/heads/head_cost_answers.py"
    guide = ROOT / "exercises/04_heads/AGENTS.md"
    chosen = selection({answers, guide}, [sweep, named])
    assert str(sweep) in chosen["by_case"] and str(named) in {*chosen["files"]} - {
        *chosen["by_case"]
    }
    asks = answers.with_name("head_cost.py")
    assert (
        not selection({answers, asks}, [sweep])["by_case"]
        and not selection({guide}, [sweep])["by_case"]
    )


def test_only_files_that_see_a_change_are_looked_for_and_below_what_is_asked_for(selection):
    changed, asked = {ROOT / "course_lib/scaling.py"}, ROOT / "tests/test_scaling.py"
    assert selection(changed, [asked])["files"] == {str(asked)}
    notebook = ROOT / "exercises/03_attention/03_attention.ipynb"
    below = {notebook.parent, ROOT / "exercises/04_heads", ROOT / "tests/test_resnet.py"}
    assert selection({notebook}, below)["files"] == {str(notebook)}


def test_a_sample_is_what_is_named_or_one_of_each_topic(sampled):
    cases = ["heads.split", "masks.causal", "masks.window", "vit.patchify"]
    assert sampled(cases) == {"heads.split", "masks.causal", "vit.patchify"}
    assert sampled(cases, ["masks.window"]) == {"masks.window"}
    with pytest.raises(pytest.UsageError, match="names \\['masks.gone'\\]; there are"):
        sampled(cases, ["masks.gone"])
