"""Cells one after the other in a process that may die, and what is run again when it does."""

import time
from collections.abc import Callable
from typing import Any

from grader.checks.answer_proxy import AnswerLost


class Killed(AnswerLost):
    """The process was ended from outside, maybe for want of memory: not surely its own doing."""


class Session:
    """A worker or a student's kernel; a new one is given the same cells without the fatal one."""

    def __init__(self, start: Callable[[], Any], seconds: float) -> None:
        self.start = start
        self.until = time.monotonic() + seconds
        self.worker = self._begin()
        self.prefix: list[str] = []
        self.killed = False

    def _begin(self) -> Any:
        worker = self.start()
        worker.until = self.until
        return worker

    def run(self, source: str) -> tuple[list[dict[str, Any]], str]:
        """Run a cell: its outputs, and why the worker was lost if it was."""
        try:
            outputs = self.worker.run(source)
        except AnswerLost as lost:
            self.replay(lost)
            return [], str(lost)
        self.prefix.append(source)
        return outputs, ""

    def replay(self, lost: AnswerLost) -> None:
        """Start over with what has run so far, without a cell that is fatal only now."""
        self.killed |= isinstance(lost, Killed)
        while time.monotonic() < self.until:
            self.worker.end()
            self.worker = self._begin()
            survived: list[str] = []
            try:
                for source in self.prefix:
                    self.worker.run(source)
                    survived.append(source)
                return
            except AnswerLost as again:
                self.killed |= isinstance(again, Killed)
                self.prefix = survived + self.prefix[len(survived) + 1 :]

    @property
    def left(self) -> float:
        """Seconds."""
        return self.until - time.monotonic()

    def end(self) -> None:
        """End the worker."""
        self.worker.end()
