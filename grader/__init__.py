"""Releases, checks and grades the assignments of a course; ``README.md`` is its one page.

It imports nothing of a course, which hands it ``course.toml`` (:mod:`grader.base.course`).
Configurations of nbgrader name ``formgrader`` and ``lateness``.
"""

# Lies in what students get (``student.handout``), and tells what was written there.
MANIFEST = "handout.json"
