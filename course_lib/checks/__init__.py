"""What an exercise must satisfy, and the mistakes it recognises.

``wire``, ``host``, ``fixtures`` and ``subject`` are the way to an answer; ``exercise``, ``trial``,
``compare`` and ``report`` say what is asked of it; the packages are the exercises, by topic.
"""

from course_lib.checks.cell import check

__all__ = ["check"]
