"""What is not there while work is graded is not there at home, either, however one asks."""

import subprocess
import sys

ASKS = """
import importlib.util
from course_lib.checks.shell import alone
alone({"pytest"})
print(importlib.util.find_spec("pytest"), importlib.util.find_spec("json").name)
import pytest
"""


def test_a_package_that_is_not_there_is_not_found_by_asking():
    ended = subprocess.run([sys.executable, "-c", ASKS], capture_output=True, text=True)
    assert ended.stdout == "None json\n"
    assert ended.stderr.endswith("pytest is not there while work is graded\n")
