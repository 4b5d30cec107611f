"""A figure in a live notebook: the page's own script, run by anywidget on top of ipywidgets."""

import json
from typing import Any

import anywidget

from course_lib.figures.base import Page, asset, script
from course_lib.figures.models import model_files


class Live(anywidget.AnyWidget):
    """Figure where a kernel runs."""

    _css = asset("figures.css")

    def __init__(self, page: Page) -> None:
        known = {"fragment": json.dumps(page.fragment()), "shown": page.data, "begin": page.script}
        constants = "".join(f"const {name} = {value};\n" for name, value in known.items())
        self._esm = f"{page.needed}\n{constants}{asset('notebook.js')}"
        self._page = page
        super().__init__()
        self.on_msg(self._load)

    def _load(self, _widget: object, content: dict[str, Any], _buffers: object) -> None:
        """Send the script that a model needs, which a page finds in its site."""
        file = content["file"]
        text = script(file) if file == "runtime" else model_files(file)[f"{file}.js"]
        self.send({"file": file, "text": text})

    def __repr__(self) -> str:
        return repr(self._page)
