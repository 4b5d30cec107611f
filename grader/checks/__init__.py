"""Requirements of an exercise, and the mistakes it recognises.

``protocol``, ``answer_host`` and ``answer_proxy`` are the way to an answer;
``exercise``, ``trial``, ``compare`` and ``report`` say what is asked of it.
"""

from grader.checks.cell import check

__all__ = ["check"]
