"""Outputs of cells as a notebook holds them."""

import re
from collections.abc import Sequence
from typing import Any

import nbformat
from nbformat import NotebookNode

INERT = ("text/plain", "text/latex", "image/png")
PICTURE = re.compile(r"[A-Za-z0-9+/=\s]*")


def clean_outputs(outputs: Sequence[Any]) -> list[NotebookNode]:
    """Outputs from a worker as valid nbformat; whatever is not of that form is dropped.

    So is what a page would bring to life: HTML, SVG, Markdown and scripts. Formgrader shows an
    autograded notebook to the instructor, with the instructor's rights.
    """
    clean = []
    for output in outputs[:1000]:
        if not isinstance(output, dict):
            continue
        kind = output.get("output_type")
        if kind == "stream" and output.get("name") in ("stdout", "stderr"):
            clean.append(output_of(kind, name=output["name"], text=str(output.get("text", ""))))
        elif kind == "display_data" and isinstance(output.get("data"), dict):
            data = {k: v for k, v in output["data"].items() if k in INERT and isinstance(v, str)}
            if not PICTURE.fullmatch(data.get("image/png", "")):
                del data["image/png"]
            if data:
                clean.append(output_of(kind, data=data, metadata={}))
        elif kind == "error":
            trace = output.get("traceback")
            lines = [str(line) for line in trace[:1000]] if isinstance(trace, list) else []
            clean.append(error_of(str(output.get("ename")), str(output.get("evalue")), lines))
    return clean


def error_of(name: str, message: str, traceback: list[str] | None = None) -> NotebookNode:
    """An error as a cell shows it."""
    return output_of("error", ename=name, evalue=message, traceback=traceback or [message])


def output_of(kind: str, **fields: Any) -> NotebookNode:
    """An output of that kind."""
    # The whole notebook is validated once, at the end; nbformat's own constructor would do it here.
    return nbformat.from_dict({"output_type": kind, **fields})
