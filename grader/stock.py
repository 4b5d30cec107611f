"""nbgrader's own commands on a course whose sources are text: notebooks made when they are needed.

nbgrader looks for the notebooks of a source before it calls any hook, but reads its options earlier
still. An option whose value is worked out when it is read is therefore the place to make them.
"""

import logging
from pathlib import Path
from typing import Any

from traitlets.config.loader import DeferredConfig

from grader.base.errors import Refused
from grader.base.files import write_changed


class FromText(DeferredConfig):
    """The hook after a release of ``GenerateAssignment``; reading it writes source notebooks."""

    def __init__(self, config: str) -> None:
        self.root = Path(config).resolve().parent

    def get_value(self, trait: Any) -> Any:
        """Write each notebook that is missing, or older than its text."""
        from grader import authoring  # loads torch, which other commands can do without

        for source in authoring.sources(self.root):
            notebook = source.with_suffix(".ipynb")
            if notebook.exists() and notebook.stat().st_mtime >= source.stat().st_mtime:
                continue
            try:
                write_changed(notebook, authoring.text(authoring.load(source, self.root).solution))
                notebook.touch()
            except Refused as refused:
                logging.getLogger("nbgrader").warning("%s", refused)
        return release_guides


def release_guides(assignment: str, **_: Any) -> None:
    """Write the rules for coding assistants beside a release; ``--force`` deletes them."""
    from grader import authoring

    course = Path.cwd()  # as in all hooks of nbgrader
    released = course / authoring.nbgrader_config(course).CourseDirectory.release_directory
    for file, text in authoring.named(course, assignment).files().items():
        if not file.endswith(".ipynb"):
            write_changed(released / assignment / file, text)
