"""A headless Chromium and a server on this machine, to see the book as a reader does."""

import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from course_lib.errors import Refused

# Without the background flags every start asks hosts that a closed network refuses.
_QUIET = ("quic", "background-networking", "component-update", "sync", "gpu")
_FLAGS = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in _QUIET)]


class NoBrowser(Refused, RuntimeError):
    """Chromium or playwright is missing; the message says what to install."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless Chromium, driven by playwright.

    Raises:
        NoBrowser: It is not there.
    """
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise NoBrowser("there is no chromium on the path: install the system's package")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise NoBrowser("playwright is not installed: pip install playwright") from None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that left before it had all."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback; gives its address, with a slash at the end."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with _Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
