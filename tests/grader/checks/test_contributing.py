"""What CONTRIBUTING shows of a property and a mistake is what stands in an exercise."""

import re
import textwrap
from pathlib import Path

import pytest

from grader.checks.exercise import changed, source_as

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def test_the_examples_are_real_and_short():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    bank = ROOT / "course_lib/bank/attention"
    files = [*sorted(bank.glob("softmax_gradient*.py")), bank / "scaled_dot_product_answers.py"]
    shown = [textwrap.dedent(b) for b in BLOCK.findall(text) if "@exercise." in b]
    assert [b.split("(")[0] for b in shown] == ["@exercise.prop", *["@exercise.mistake"] * 2]
    for block, file in zip(shown, files, strict=True):
        alike = block in file.read_text(encoding="utf-8")
        assert alike, f"CONTRIBUTING.md shows something else than {file.name}: change both"
    assert [len(block.splitlines()) for block in shown] == [5, 5, 4]


def twice(x):
    """Right."""
    return x + x


def test_a_mistake_is_another_answer_with_its_places_changed():
    @changed(twice, ("return x + x", "return x * x"))
    def squared():
        """Another."""

    @changed(squared, ("* x", "** 3"))
    def cubed():
        """A third."""

    assert source_as(cubed, "f") == "def f(x):\n    return x ** 3"
    for was in ("x + y", "x"):
        with pytest.raises(ValueError, match="expected once"):
            changed(twice, (was, "0"))
