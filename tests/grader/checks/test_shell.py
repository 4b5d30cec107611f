"""What is not there while work is graded is not there at home, either, however one asks."""

import subprocess
import sys

ASKS = """
import importlib.util
from grader.checks.shell import alone
alone({"pytest", "docs"})
print(importlib.util.find_spec("pytest"), importlib.util.find_spec("json").name)
import docs
print(docs.HALF)
import pytest
"""


def test_a_package_that_is_not_there_is_not_found_by_asking_and_an_own_module_is(tmp_path):
    (tmp_path / "docs.py").write_text("HALF = 0.5\n")
    asked = [sys.executable, "-c", ASKS]
    ended = subprocess.run(asked, capture_output=True, text=True, cwd=tmp_path)
    assert ended.stdout == "None json\n0.5\n"
    assert ended.stderr.endswith("pytest is not there while work is graded\n")
