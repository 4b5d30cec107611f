"""Headless browsers and a server on this machine, to see the book as a reader does."""

import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.base.errors import Refused

# Without the background flags every start asks hosts that a closed network refuses.
_QUIET = ("quic", "background-networking", "component-update", "sync", "gpu")
_FLAGS = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in _QUIET)]


# How each is found, and started. What playwright has of Firefox for itself is not in it: the
# system's speaks WebDriver BiDi.
_BROWSERS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "chromium": (("chromium", "chromium-browser"), {"args": _FLAGS}),
    "firefox": (("firefox-esr", "firefox"), {"channel": "moz-firefox"}),
}


class NoBrowser(Refused, RuntimeError):
    """A browser or playwright is missing; the message says what to install."""


@contextmanager
def driver() -> Iterator[Any]:
    """Playwright, of which a process can have one at a time."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise NoBrowser("playwright is not installed: pip install playwright") from None
    with sync_playwright() as playwright:
        yield playwright


@contextmanager
def launched(playwright: Any, name: str) -> Iterator[Any]:
    """A headless browser of the system. ``playwright``: of :func:`driver`."""
    programs, options = _BROWSERS[name]
    program = next(filter(None, map(shutil.which, programs)), None)
    if program is None:
        raise NoBrowser(f"there is no {name} on the path: install the system's package")
    browser = getattr(playwright, name).launch(executable_path=program, **options)
    try:
        yield browser
    finally:
        browser.close()


@contextmanager
def chromium(running: Any = None) -> Iterator[Any]:
    """A headless Chromium alone, or the one that is running."""
    if running:
        yield running
        return
    with driver() as playwright, launched(playwright, "chromium") as browser:
        yield browser


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
