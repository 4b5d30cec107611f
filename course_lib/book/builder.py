"""Build the rendered book, and only as much of it as needed.

Two kinds of hashes decide. The *sources* (pages, configuration, ``course_lib``, records, exercises)
decide whether to build at all. A page's *key* (the modules that its code reaches, the records that
it names, the locked versions) decides whether the outputs of its cells still hold: neither Sphinx
nor its execution cache looks outside of a page.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from course_lib.book.epub import complete
from course_lib.book.inspection import EXECUTION_FILE, TIMES_FILE, noted
from course_lib.book.offline import write_app
from course_lib.book.page_keys import page_keys, plain
from grader.base.errors import Refused
from grader.base.files import digest, placed, write_whole

_STAMP = ".book-stamp"
_KEYS = ".book-keys"
_FRAME = ".book-frame"
_LOG = "book.log"
_TRACEBACKS = "reports"  # where MyST-NB puts what a failing cell said
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_JOBS = min(os.cpu_count() or 1, 4)  # pages that are executed at a time
_FAULT = re.compile(r"WARNING: |ERROR: |CRITICAL: |^(\w+\.)*\w*Error: \S")
_PROGRESS = re.compile(
    r"reading sources\.\.\. (\[ *\d+%\]) (\S+)"
    r"|(executed \S+: \d+ seconds of processor time)"
    r"|(\S+ took \d+ seconds of processor time, its budget is \d+)"
    r"|(.*WARNING: .*)"
)


class BuildError(Refused, RuntimeError):
    """The book could not be built; the message holds what Sphinx complained about."""


def build(root: Path, *, force: bool = False, echo: Callable[[str], None] = print) -> Path:
    """Build the book, with every warning an error and every cell executed; its first page.

    An interrupted build leaves no stamp: the next one makes the pages that are missing.
    """
    folder = root / "_build"
    index, stamp = folder / "html" / "index.html", folder / _STAMP
    sources = source_key(root)
    if not force and index.exists() and _holds(stamp, sources):
        echo("book: nothing changed since the last build")
        return index
    stamp.unlink(missing_ok=True)
    cold = _drop_stale(root, folder, force)
    start = time.monotonic()
    _run(root, folder, echo)
    _note_time(folder / TIMES_FILE, time.monotonic() - start, cold)
    _open_front_door(index)
    write_app(index.parent)
    if source_key(root) == sources:
        write_whole(stamp, sources)
    else:
        echo("book: sources changed meanwhile, so the next build will look again")
    return index


def epub(root: Path, *, echo: Callable[[str], None] = print) -> Path:
    """Make ``attention-course.epub`` of the same pages, from the cache where it holds."""
    folder = root / "_build"
    _drop_stale(root, folder, force=False)
    bound = folder / "epub" / "attention-course.epub"
    _run(root, folder, echo, "epub", bound.name)
    complete(bound)
    return bound


def links(root: Path, *, echo: Callable[[str], None] = print) -> list[dict[str, Any]]:
    """Ask every link that leads out of the book whether it still answers.

    Returns Sphinx's findings: ``status``, ``uri``, ``filename``, ``lineno`` and ``info`` of each.
    """
    folder = root / "_build"
    output = folder / "linkcheck" / "output.json"
    output.unlink(missing_ok=True)
    _drop_stale(root, folder, force=False)
    try:
        _run(root, folder, echo, "linkcheck", output.name)
    except BuildError:
        # A broken link ends the build, too; then there is a list of all of them.
        if not output.exists():
            raise
    return [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]


def source_key(root: Path) -> str:
    """Hash everything that the book is made from: it changes with any byte of any source."""
    names = ("_config.yml", "_toc.yml", "course.toml", "CITATION.cff", "LICENSE", "constraints.txt")
    folders = ("book", "course_lib", "grader", "exercises")
    files = [*_files(root, *folders), *map(root.joinpath, names)]
    return sys.version + digest(placed((path for path in files if path.exists()), root))


def _files(root: Path, *folders: str) -> Iterable[Path]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            hidden = any(part.startswith((".", "__pycache__")) for part in parts)
            if path.is_file() and not hidden:
                yield path


def _holds(path: Path, key: str) -> bool:
    return path.exists() and path.read_text() == key


def _drop_stale(root: Path, folder: Path, force: bool) -> bool:
    """Drop outputs that the code would not give now, and old pages; true if nothing is left."""
    cache = folder / ".jupyter_cache"
    locked = [path for path in [root / "constraints.txt"] if path.exists()]
    keys = {"all": sys.version + digest(placed(locked, root))} | page_keys(root)
    noted_keys = folder / _KEYS
    old: dict[str, str] = json.loads(noted_keys.read_text()) if noted_keys.exists() else {}
    if force or old.get("all") != keys["all"]:
        shutil.rmtree(cache, ignore_errors=True)
    elif stale := [root / page for page, key in keys.items() if old.get(page, key) != key]:
        _forget(cache, stale)
    # Directives' files are read with the page: of any module but those that no page shows.
    shown = [
        path
        for path in _files(root, "book/_ext", "course_lib", "grader/base", "grader/checks")
        if path.relative_to(root).parts[1] != "cli"
    ]
    frame = digest(placed([root / "_config.yml", *shown], root), plain)
    if keys != old or not _holds(folder / _FRAME, frame):
        shutil.rmtree(folder / ".doctrees", ignore_errors=True)
    write_whole(folder / _KEYS, json.dumps(keys))
    write_whole(folder / _FRAME, frame)
    return not cache.exists()


def _forget(cache: Path, pages: Iterable[Path]) -> None:
    from jupyter_cache import get_cache  # type: ignore[import-untyped]

    if cache.exists():
        kept = get_cache(str(cache))
        for page in pages:
            for record in kept.list_cache_records():
                if Path(record.uri).resolve() == page.resolve():
                    kept.remove_cache(record.pk)


def _note_time(path: Path, seconds: float, cold: bool) -> None:
    taken = round(seconds, 1)
    write_whole(path, json.dumps(noted(path) | {"last": taken} | ({"cold": taken} if cold else {})))


def _open_front_door(index: Path) -> None:
    """Give the bare redirect that stands before the first page a title, an icon and a link."""
    target = re.search(r"url=([^\"]+)", index.read_text(encoding="utf-8"))
    if target is None:
        return
    index.write_text(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>The book</title>'
        f'<link rel="icon" href="data:,"><meta http-equiv="refresh" content="0; url={target[1]}">'
        f'</head><body><a href="{target[1]}">Open the book</a></body></html>\n',
        encoding="utf-8",
    )


def _run(
    root: Path,
    folder: Path,
    echo: Callable[[str], None],
    builder: str = "html",
    made: str = "index.html",
) -> None:
    """Run Sphinx in a process of its own and pass on what a reader wants to see."""
    from jupyter_cache import get_cache

    _ = get_cache(str(folder / ".jupyter_cache")).db  # before two pages make it at once
    # Claims run in the same process: one thread, as more of them only wait for the pages' kernels.
    env = os.environ | {"COURSE_BOOK": "1", "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
    paths = [str(root / "book" / "_ext"), os.environ.get("PYTHONPATH")]
    env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    log = folder / _LOG
    log.write_text(_configure(root), encoding="utf-8")
    # An error while several processes write an EPUB is lost, and so are their pages.
    jobs = str(_JOBS if builder == "html" else 1)
    command = [sys.executable, "-m", "sphinx", "-b", builder, "-j", jobs, "-W", "-n"]
    command += ["--keep-going", "-d", str(folder / ".doctrees"), str(root), str(folder / builder)]
    if builder == "html":
        (folder / EXECUTION_FILE).unlink(missing_ok=True)
    shutil.rmtree(folder / builder / _TRACEBACKS, ignore_errors=True)
    warnings: list[str] = []
    with (
        log.open("a", encoding="utf-8") as lines,
        subprocess.Popen(
            command, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for coloured in process.stdout:
                line = _COLOUR.sub("", coloured)
                lines.write(line)
                if progress := _PROGRESS.match(line.replace(f"{root}/", "")):
                    echo("book: " + " ".join(filter(None, progress.groups())))
                if _FAULT.search(line):
                    warnings.append(line.strip())
        except BaseException:
            process.terminate()
            raise
    if process.returncode or not (folder / builder / made).exists():
        last = log.read_text(encoding="utf-8").strip().splitlines()[-40:]
        for path in sorted((folder / builder / _TRACEBACKS).rglob("*.err.log")):
            warnings.append(_COLOUR.sub("", path.read_text(encoding="utf-8")).strip())
        raise BuildError("the book did not build:\n" + "\n".join(warnings or last) + f"\n({log})")


def _configure(root: Path) -> str:
    """Write ``conf.py`` for Sphinx; what Jupyter Book has to say to ``_config.yml``."""
    program = Path(sys.executable).with_name("jupyter-book")
    command = [str(program), "config", "sphinx", str(root)]
    written = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if written.returncode:
        raise BuildError(f"_config.yml cannot be read:\n{written.stdout.strip()}")
    return written.stdout
