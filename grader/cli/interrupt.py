"""Ctrl-C that is not lost, whatever it comes upon."""

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

INTERRUPTED = 130
SAYS = "interrupted; run the same command again to resume"


class Interrupt:
    """Remembers Ctrl-C, and raises ``KeyboardInterrupt`` as Python does.

    An exception alone may come while an import turns it into an ``ImportError``, or in a
    destructor, where Python drops it; so :meth:`check` is called now and then. Pressed again, it
    ends the process at once, which harms nothing: all that is done is written down already.
    """

    def __init__(self) -> None:
        self.pressed = False
        self.before: Any = None
        self.unraisable = sys.unraisablehook

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if it was pressed."""
        if self.pressed:
            raise KeyboardInterrupt

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            os.write(2, f"\n{SAYS}\n".encode())
            os._exit(INTERRUPTED)
        self.pressed = True
        raise KeyboardInterrupt

    def _dropped(self, what: Any) -> None:
        """Python drops what is raised in a destructor, with a traceback; this one is remembered."""
        if not issubclass(what.exc_type, KeyboardInterrupt):
            self.unraisable(what)

    def __enter__(self) -> "Interrupt":
        """Handle the signal; outside the main thread that is left to the one who may."""
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGINT, self._press)
        self.unraisable, sys.unraisablehook = sys.unraisablehook, self._dropped
        return self

    def __exit__(self, *_: object) -> None:
        """Put back what handled it before; once pressed, the process is about to end in peace."""
        sys.unraisablehook = self.unraisable
        if self.before is not None:
            signal.signal(signal.SIGINT, signal.SIG_IGN if self.pressed else self.before)

    def say(self) -> int:
        """Say so; the exit code."""
        # After Ctrl-C upon code that is made from text, such as that of a data class, `python -m`
        # ends by the signal, whatever the exit code (bpo-1054041); the next such code makes it
        # forget that.
        exec("")
        print(f"\n{SAYS}", file=sys.stderr)
        return INTERRUPTED
