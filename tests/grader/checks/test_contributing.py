"""What CONTRIBUTING shows of a property and a mistake is what stands in an exercise."""

import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def test_both_examples_are_real_and_short():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = sorted((ROOT / "course_lib/bank/attention").glob("softmax_gradient*.py"))
    shown = [textwrap.dedent(b) for b in BLOCK.findall(text) if "@exercise." in b]
    assert [b.split("(")[0] for b in shown] == ["@exercise.prop", "@exercise.mistake"]
    for block, file in zip(shown, files, strict=True):
        alike = block in file.read_text(encoding="utf-8")
        assert alike, f"CONTRIBUTING.md shows something else than {file.name}: change both"
    assert [len(block.splitlines()) for block in shown] == [5, 5]
