"""``course book``, ``course slides`` and ``course serve``."""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from grader.base.errors import Refused
from grader.cli.common import FOUND_WRONG, Add, add_json, checkout, emit, instrument


def register(add: Add) -> None:
    """Add the commands."""
    book = add("book", run_book, "build the book with its pages executed")
    book.flags(
        force="execute and write everything again",
        report="measure the built book instead of building it",
        pdf="print the built book to one PDF instead",
        epub="make an EPUB instead",
        notebooks="make the pages' notebooks for Colab instead",
        links="check that every external link still works",
    )
    add_json(book)

    slides = add("slides", run_slides, "make slides of chapters of the built book")
    slides.add_argument(
        "chapters", nargs="*", metavar="CHAPTER", help="for example 03 (default: all)"
    )
    slides.flags(pdf="also print them, one slide to a page")
    add_json(slides)

    serve = add("serve", run_serve, "serve the built book on this machine")
    serve.option("--port", "port on 127.0.0.1 (default: 8000)", 8000)


def run_book(arguments: argparse.Namespace) -> int:
    """Build the book, or another format of it."""
    from course_lib.book import BuildError, build, epub, links
    from course_lib.book.notebooks import NotebookError

    root = checkout()
    html = root / "_build" / "html"
    progress = sys.stderr if arguments.json else sys.stdout
    echo = functools.partial(print, file=progress, flush=True)
    if (arguments.report or arguments.pdf) and not (html / "index.html").exists():
        raise Refused(f"no book in {html}: run `course book` first")
    if arguments.report:
        return _report(arguments, html)
    try:
        if arguments.pdf:
            from course_lib.book.pdf import pdf

            target = root / "_build" / "attention-course.pdf"
            sheets = pdf(root, target, lambda page: echo(f"pdf: {page}"))
            facts = {"pdf": str(target), "sheets": sheets}
            emit(arguments, facts, f"pdf {target}, {sheets} pages")
        elif arguments.epub:
            book = epub(root, echo=echo)
            emit(arguments, {"epub": str(book)}, f"epub {book}")
        elif arguments.notebooks:
            from course_lib.book.notebooks import write_notebooks

            target = root / "_build" / "notebooks"
            made = [str(path) for path in write_notebooks(root, target)]
            emit(arguments, {"notebooks": made}, f"{len(made)} notebooks in {target}")
        elif arguments.links:
            return _links(arguments, links(root, echo=echo))
        else:
            index = build(root, force=arguments.force, echo=echo)
            emit(arguments, {"index": str(index)}, f"book {index}")
    except (BuildError, NotebookError) as error:
        print(f"course book: {error}", file=sys.stderr)
        return FOUND_WRONG
    return 0


def _links(arguments: argparse.Namespace, found: list[dict[str, Any]]) -> int:
    """Print the links that fail; refuse if none answers."""
    counts = Counter(link["status"] for link in found)
    answered = counts["working"] + counts["redirected"]
    silent = [link for link in found if link["status"] in ("broken", "timeout")]
    if silent and not answered:
        raise Refused(
            f"none of {len(silent)} links answered, so this machine seems to have no network."
            f" The first: {silent[0]['uri']} ({silent[0]['info'][-120:]})"
        )
    says = ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))
    emit(
        arguments,
        {"counts": dict(counts), "silent": silent},
        *(f"  {x['filename']}:{x['lineno']} {x['uri']} ({x['info']})" for x in silent),
        f"links: {says}",
    )
    return FOUND_WRONG if silent else 0


def _report(arguments: argparse.Namespace, html: Path) -> int:
    """Measure the built book, in a browser if there is one."""
    from course_lib.book import report
    from course_lib.book.browser import NoBrowser
    from course_lib.claims import load_claims

    pages = instrument("browser.page_survey")
    facts = report(html)
    claims = load_claims(html.parents[1] / "book" / "claims.yml")
    facts["claims"] = dict(Counter(claim.verdict for claim in claims))
    try:
        facts |= pages.survey(html, say=lambda page: print(f"survey: {page}", file=sys.stderr))
        facts["live"] = instrument("browser.live").live(html)
    except NoBrowser as absent:
        facts |= dict.fromkeys(("first_load_bytes", "screens", "smallest_text", "axe", "live"))
        facts["no_browser"] = str(absent)
    outside = facts["third_party"]
    loads, rules = facts["first_load_bytes"] or {}, facts["axe"] or {}
    heavy = [page for page, size in loads.items() if size > pages.MAX_FIRST_LOAD]
    barred = {rule: entry for rule, entry in rules.items() if not entry["excepted"]}
    lines = [f"  {item['bytes'] / 1e6:7.2f} MB  {item['file']}" for item in facts["largest"]]
    lines += [f"  {seconds:7.1f} s   {page}" for page, seconds in facts["execution"].items()]
    lines += [f"  THIRD PARTY {item}" for item in outside]
    lines += [f"  BROKEN LINK {item}" for item in facts["broken_links"]]
    lines += [f"  NO ALT TEXT {item}" for item in facts["missing_alt"]]
    lines += [f"  HEAVY {loads[page] / 1e6:.2f} MB {page}" for page in heavy]
    for rule, entry in rules.items():
        count = sum(map(len, entry["elements"].values()))
        says = "the theme's own" if entry["excepted"] else "AXE"
        lines.append(f"  {says} {rule}: {entry['help']}: {count} in {len(entry['elements'])} pages")
    for name, found in (facts["live"] or {}).items():
        lines.append(
            f"  {name}: {found['bytes'] / 1e3:.0f} KB, {found['seconds']} s to an answer, "
            f"{found['steps']} steps a second, {found['largest_difference']:.0e} from torch"
        )
    if reason := facts.get("no_browser"):
        lines.append(f"  not measured in a browser: {reason}")
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in facts["claims"].items())
    counts = {
        "pages": len(facts["pages"]),
        "chapters": facts["chapters"],
        "interactive figures": facts["interactive"],
        "drawings": facts["drawings"],
        "captions": facts["captions"],
        "links to the glossary": facts["glossary_links"],
        f"claims ({verdicts})": len(claims),
        "MB": round(facts["bytes"] / 1e6, 1),
        "third-party requests": len(outside),
        "broken links": len(facts["broken_links"]),
        "images without alternative text": len(facts["missing_alt"]),
        "axe rules broken": len(barred),
        "heavy pages": len(heavy),
        "screens of the longest page": max((facts["screens"] or {"": 0}).values()),
        "pixels of the smallest text": min((facts["smallest_text"] or {"": 0}).values()),
        "execution s": facts["execution_seconds"],
    }
    line = ", ".join(f"{name} {number}" for name, number in counts.items())
    emit(arguments, facts, *lines, line)
    wrong = (outside, facts["broken_links"], facts["missing_alt"], barred, heavy)
    return FOUND_WRONG if any(wrong) else 0


def run_slides(arguments: argparse.Namespace) -> int:
    """Write one file for each chapter."""
    from course_lib.book.slides import chapters, deck, print_deck

    root = checkout()
    chosen = [chapter.zfill(2) for chapter in arguments.chapters] or list(chapters(root))
    made = {chapter: deck(root, chapter) for chapter in chosen}
    folder = root / "_build" / "slides"
    folder.mkdir(parents=True, exist_ok=True)
    report = {}
    for chapter, (page, count) in made.items():
        target = folder / f"{chapter}.html"
        target.write_text(page, encoding="utf-8")
        report[chapter] = {"slides": count, "bytes": target.stat().st_size, "file": str(target)}
        if arguments.pdf:
            report[chapter]["pdf"] = str(target.with_suffix(".pdf"))
            print_deck(target, target.with_suffix(".pdf"))
        if not arguments.json:
            megabytes = target.stat().st_size / 1e6
            print(f"  {target}: {count} slides, {megabytes:.1f} MB", flush=True)
    emit(arguments, report, f"slides {folder}, {len(report)} chapters")
    return 0


def run_serve(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    if not 0 <= arguments.port <= 65535:
        raise Refused(f"--port {arguments.port}: a port is a number from 0 to 65535")
    html = checkout() / "_build" / "html"
    if not (html / "index.html").exists():
        raise Refused(f"no book in {html}: run `course book` first")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(html))
    with http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/  (press Ctrl-C to stop)", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    return 0
