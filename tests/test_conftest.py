"""Which tests a change can reach."""

import pytest

from .conftest import ROOT, sampled, sees, selection


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
        ("course_lib/claims/recurrence.py", "tests/claims/test_claims.py", True),
        ("course_lib/drawings/space.py", "tests/drawings/test_drawings.py", True),
        ("course_lib/cli/syllabus.py", "tests/book/test_slides.py", True),
        # A module's own examples, what it reaches, and a conftest above a test.
        ("course_lib/scaling.py", "course_lib/scaling.py", True),
        ("course_lib/scaling.py", "course_lib/calibration.py", False),
        ("tests/grader/conftest.py", "tests/grader/judge/test_judge.py", True),
        ("tests/grader/conftest.py", "tests/book/test_site.py", False),
        # Text is seen by what names its folder.
        ("book/chapters/03_attention.md", "tests/book/test_plain.py", True),
        ("book/chapters/03_attention.md", "tests/test_resnet.py", False),
        ("CHANGELOG.md", "tests/test_resnet.py", False),
        ("book/chapters/04_heads.md", "tests/grader/judge/test_judge.py", False),
        ("book/chapters/03_attention.md", "tests/bank/test_start.py", False),
        ("book/chapters/00_start.md", "tests/bank/test_start.py", True),
        ("exercises/03_attention/03_attention.ipynb", "exercises/04_heads/04_heads.ipynb", False),
    ],
)
def test_a_change_is_seen_by_what_depends_on_it(changed, test, seen):
    assert sees(ROOT / test, {ROOT / changed}) is seen


def test_a_changed_exercise_is_seen_by_its_own_cases():
    asked = {ROOT / "tests" / name for name in ("bank", "grader/checks", "test_masks.py")}
    chosen = selection({ROOT / "course_lib/bank/masks/causal_mask_answers.py"}, asked)
    assert chosen["touched"] == {"masks/causal_mask"} and "masks.leak_gap" in chosen["exercises"]
    direct = {path.rpartition("/")[2] for path in chosen["files"] - chosen["by_case"]}
    assert str(ROOT / "tests/bank/test_form.py") in chosen["by_case"]
    assert "test_report.py" in direct and "test_masks.py" not in direct


def test_a_sample_is_what_is_named_or_one_of_each_topic():
    cases = ["heads.split", "masks.causal", "masks.window", "vit.patchify"]
    assert sampled(cases) == {"heads.split", "masks.causal", "vit.patchify"}
    assert sampled(cases, ["masks.window"]) == {"masks.window"}
    with pytest.raises(pytest.UsageError, match="names \\['masks.gone'\\]; there are"):
        sampled(cases, ["masks.gone"])
