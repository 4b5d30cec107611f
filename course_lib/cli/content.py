"""``course book`` and ``course serve``."""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import sys
from typing import Any

from course_lib.cli import FOUND_WRONG, Refused, add_json, checkout, emit


def register(commands: Any) -> None:
    """Add the commands."""
    book = commands.add_parser("book", help="build the book with its pages executed")
    book.add_argument("--force", action="store_true", help="execute and write everything again")
    book.add_argument("--report", action="store_true", help="describe the built book instead")
    add_json(book)
    book.set_defaults(handler=run_book)

    serve = commands.add_parser("serve", help="serve the built book on this machine")
    serve.add_argument("--port", type=int, default=8000, help="port on 127.0.0.1 (8000)")
    serve.set_defaults(handler=run_serve)


def run_book(arguments: argparse.Namespace) -> int:
    """Build, or report on what was built."""
    from course_lib.book import BuildError, build, report

    root = checkout()
    html = root / "_build" / "html"
    if not arguments.report:
        try:
            progress = sys.stderr if arguments.json else sys.stdout
            echo = functools.partial(print, file=progress, flush=True)
            index = build(root, force=arguments.force, echo=echo)
        except BuildError as error:
            print(f"course book: {error}", file=sys.stderr)
            return FOUND_WRONG
        emit(arguments, {"index": str(index)}, f"book {index}")
        return 0
    if not (html / "index.html").exists():
        raise Refused(f"no book in {html}: run `course book` first")
    facts = report(html)
    outside = facts["third_party"]
    if not arguments.json:
        for item in facts["largest"]:
            print(f"  {item['bytes'] / 1e6:7.2f} MB  {item['file']}")
        for page, seconds in facts["execution"].items():
            print(f"  {seconds:7.1f} s   {page}")
        for item in outside:
            print(f"  THIRD PARTY {item}")
    line = (
        f"pages {len(facts['pages'])}, {facts['bytes'] / 1e6:.1f} MB,"
        f" third-party requests {len(outside)}, execution {facts['execution_seconds']:g} s"
    )
    emit(arguments, facts, line)
    return FOUND_WRONG if outside else 0


def run_serve(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    html = checkout() / "_build" / "html"
    if not (html / "index.html").exists():
        raise Refused(f"no book in {html}: run `course book` first")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(html))
    with http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    return 0
