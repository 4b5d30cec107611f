"""From a text source to a released notebook, and from a submission to points and feedback.

``authoring`` makes the released notebooks. A hand-in passes ``intake``, is judged in ``judging``
and written to the ``records``; ``classroom`` says what is to be done, and ``review`` looks again.
``lms`` goes between all that and the files of learning management systems.
Configurations of nbgrader name ``formgrader`` and ``lateness``.
"""

# Lies in what students get (``handout``), and tells what was written there.
MANIFEST = "handout.json"
