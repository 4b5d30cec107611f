"""Releases, checks and grades the assignments of a course; ``README.md`` is its one page.

It imports nothing of a course, which hands it ``course.toml`` (:mod:`grader.base.course`).
``authoring`` makes the released notebooks. A hand-in passes ``intake``, is judged in ``judge`` and
written to the ``records``; ``classroom`` says what is to be done, and ``review`` looks again.
``lms`` goes between all that and the files of learning management systems.
Configurations of nbgrader name ``formgrader`` and ``lateness``.
"""

# Lies in what students get (``student.handout``), and tells what was written there.
MANIFEST = "handout.json"
