"""The pages with code, and the assignments, as notebooks for Colab and for a laptop without git.

A page is MyST Markdown: what only the book knows (questions, code shown from the library, claims,
citations, labels) becomes plain Markdown here, or a link to the page. The first cell fetches the
course where it isn't there. That of an assignment installs the wheel of what students get.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import posixpath
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from course_lib.book.literalinclude import read
from course_lib.book.pdf import order
from course_lib.book.questions import options_shown
from course_lib.drawings import drawings
from grader.base.errors import Refused

# Where the notebooks are published, at the same paths as the pages: Colab opens files of a branch.
BRANCH = "notebooks"
_FENCE = re.compile(
    r"^(?P<fence>`{3,}|:{3,})(?P<head>[^\n]*)\n(?P<body>.*?)^(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"\{([\w-]+)\} *(.*)")
_OPTION = re.compile(r":([\w-]+): *(.*)\n")
_LABEL = re.compile(r"^\(([\w-]+)\)=[ ]*\n", re.MULTILINE)
_NUMBERED = re.compile(r"\n?\$\$ \(([\w-]+)\)")
# Code comes first where it begins first, so that what it holds is left alone.
_INLINE = re.compile(
    r"\{(?P<role>[a-z:]+)\}`(?P<told>[^`]+)`|(?P<code>(`+)(?!`).+?(?<!`)\4(?!`))"
    r"|\]\((?P<goal>[^)\s]+)\)",
    re.DOTALL,
)
_START = """\
# Without a checkout around it, on Colab for instance, the notebook fetches the course first.
import os
import sys

if not os.path.isdir("{up}/course_lib"):
    if not os.path.isdir("{name}"):
        !git clone --quiet --depth 1 --branch {branch} {repository} {name}
        %pip install --quiet --editable {name}
    os.chdir("{name}/{folder}")
sys.path.insert(0, os.path.abspath("{up}"))"""
_INSTALL = """\
# Where the course isn't installed, on Colab for instance, its exercises and checks are fetched.
import importlib.util

if importlib.util.find_spec("course_lib") is None:
    %pip install --quiet {wheel}"""


class NotebookError(Refused):
    """A page that has something in it for which a notebook has no form yet."""


@dataclass(frozen=True)
class Site:
    """Where book and course are, and what the pages call their places."""

    root: Path
    address: str
    repository: str
    branch: str
    pages: dict[str, str]
    labels: dict[str, str]

    @classmethod
    def of(cls, root: Path) -> Site:
        """Read ``_config.yml``, ``_toc.yml`` and all pages of a checkout."""
        config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
        pages = {page.removesuffix(".html"): page for _, page in order(root)}
        labels: dict[str, str] = {}
        for name in pages:
            text = (root / f"{name}.md").read_text(encoding="utf-8")
            names = [*_LABEL.findall(text), *_NUMBERED.findall(text)]
            names += re.findall(r"\bname: (fig-[\w-]+)", text)
            names += [f"draw-{drawn}" for drawn in re.findall(r"^```\{drawing\} (\S+)", text, re.M)]
            labels |= dict.fromkeys(names, name)
        return cls(
            root,
            config["html"]["baseurl"].rstrip("/"),
            config["repository"]["url"],
            config["repository"]["branch"],
            pages,
            labels,
        )

    def link(self, name: str, place: str = "") -> str:
        """The address of a page, or of a place on it."""
        return f"{self.address}/{self.pages[name]}" + (f"#{place}" if place else "")

    @property
    def wheel(self) -> str:
        """The address of what students get, as one file: it is published beside the notebooks."""
        version = importlib.metadata.version("attention-course")
        name = f"attention_course-{version}-py3-none-any.whl"
        return f"{self.repository}/raw/{BRANCH}/{name}"

    @functools.cached_property
    def papers(self) -> dict[str, tuple[str, str]]:
        """Authors and year of a paper, by its key."""
        from pybtex.database import parse_file
        from pybtex.richtext import Text

        papers = {}
        for key, entry in parse_file(str(self.root / "book" / "references.bib")).entries.items():
            names = [
                " ".join([*person.prelast_names, *person.last_names])
                for person in entry.persons["author"]
            ]
            names = [re.sub(r"[{}]", "", str(Text.from_latex(name))) for name in names]
            who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
            papers[key] = (who, entry.fields["year"])
        return papers


def write_notebooks(root: Path, target: Path) -> list[Path]:
    """Write notebooks of all pages with code, and of the assignments, in the order of the book."""
    import nbformat

    site = Site.of(root)
    made = {}
    for name in site.pages:
        if "```{code-cell}" in (root / f"{name}.md").read_text(encoding="utf-8"):
            made[target / f"{name}.ipynb"] = notebook(name, site)
    for path in sorted(root.glob("exercises/*/*.ipynb")):
        made[target / path.relative_to(root)] = assignment(path, site)
    shutil.rmtree(target, ignore_errors=True)
    for path, book in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(book, path)
    return list(made)


def assignment(path: Path, site: Site) -> Any:
    """Make the notebook of an assignment, as it is handed out but for its first cell."""
    import nbformat

    made = nbformat.read(path, as_version=4)
    first = nbformat.v4.new_code_cell(_INSTALL.format(wheel=site.wheel), id="install")
    made.cells.insert(0, first)
    return made


def notebook(name: str, site: Site) -> Any:
    """Make the notebook of one page, without outputs; the same page gives the same bytes."""
    import jupytext
    from nbformat.v4 import new_code_cell, new_markdown_cell

    text = (site.root / f"{name}.md").read_text(encoding="utf-8")
    made = jupytext.reads(text, fmt="md:myst")
    numbers = {label: str(n) for n, label in enumerate(_NUMBERED.findall(text), start=1)}
    page = _Page(name, site, numbers)
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = page.plain(cell.source)
            cell.metadata = {}
        else:
            cell.metadata = _folded(cell.metadata)
    folder = posixpath.dirname(name)
    start = _START.format(
        up="/".join([".."] * len(folder.split("/"))),
        name=site.repository.rpartition("/")[2],
        folder=folder,
        repository=site.repository,
        branch=site.branch,
    )
    note = f"*This is [a page of the course]({site.link(name)}) as a notebook.*"
    made.cells[:0] = [new_markdown_cell(note), new_code_cell(start)]
    made.metadata = {"kernelspec": made.metadata["kernelspec"]}
    for number, cell in enumerate(made.cells):
        cell.id = hashlib.sha256(f"{name} {number}".encode()).hexdigest()[:12]
    return made


def _folded(metadata: Any) -> dict[str, Any]:
    """Folded cells: by the first key in Jupyter, by the second one on Colab."""
    hidden = {"hide-input", "remove-input", "remove-cell"} & set(metadata.get("tags", []))
    return {"jupyter": {"source_hidden": True}, "cellView": "form"} if hidden else {}


@dataclass(frozen=True)
class _Page:
    """Turns the Markdown of one page into one that knows no book."""

    name: str
    site: Site
    numbers: dict[str, str]
    questions: Counter[int] = field(default_factory=Counter)

    def plain(self, text: str) -> str:
        """All of a cell."""
        return "".join(self._parts(text)).strip()

    def _parts(self, text: str) -> Iterator[str]:
        done = 0
        for fence in _FENCE.finditer(text):
            yield self._words(text[done : fence.start()])
            done = fence.end()
            directive = _DIRECTIVE.fullmatch(fence["head"].strip())
            yield (
                self._directive(directive[1], directive[2], fence["body"])
                if directive
                else fence[0]
            )
        yield self._words(text[done:])

    def _words(self, text: str) -> str:
        text = _LABEL.sub(lambda label: f'<a id="{label[1]}"></a>\n\n', text)
        text = _NUMBERED.sub(lambda label: rf" \tag{{{self.numbers[label[1]]}}}" + "\n$$", text)
        return _INLINE.sub(self._inline, text)

    def _inline(self, found: re.Match[str]) -> str:
        if found["code"]:
            return found[0]
        if goal := found["goal"]:
            return f"]({self._goal(goal)})"
        return self._role(found["role"], found["told"])

    def _role(self, role: str, told: str) -> str:
        site = self.site
        if role == "claim":
            return f"[claim {told}]({site.link('book/claims', f'claim-{told.lower()}')})"
        if role == "term":
            return f"[{told.partition(' <')[0]}]({site.link('book/glossary')})"
        if role == "eq" and self.numbers.get(told):
            return f"({self.numbers[told]})"
        if role in ("eq", "numref") and told in site.labels:
            what = "the figure" if role == "numref" else "this equation"
            return f"[{what}]({site.link(site.labels[told], told)})"
        if role.partition(":")[0] == "cite":
            cited = [site.papers[key.strip()] for key in told.split(",")]
            if role == "cite:t":
                words = ", ".join(f"{who} ({year})" for who, year in cited)
                return f"[{words}]({site.link('book/bibliography')})"
            words = "; ".join(f"{who}, {year}" for who, year in cited)
            return f"([{words}]({site.link('book/bibliography')}))"
        raise NotebookError(f"{self.name}: no form for {{{role}}}`{told}` in a notebook")

    def _goal(self, goal: str) -> str:
        """Where a link leads: out of the book as it was, otherwise to its address."""
        if re.match(r"[a-z]+:", goal):
            return goal
        path, _, place = goal.partition("#")
        if not path:
            if place not in self.site.labels:
                raise NotebookError(f"{self.name}: no page has the label {place}")
            if (page := self.site.labels[place]) == self.name:
                return goal
            return self.site.link(page, place)
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(self.name), path))
        page = inside.removesuffix(".md")
        if page not in self.site.pages:
            raise NotebookError(f"{self.name}: no page {goal}")
        return self.site.link(page, place)

    def _directive(self, kind: str, argument: str, body: str) -> str:
        options = {}
        while option := _OPTION.match(body):
            options[option[1]] = option[2].strip()
            body = body[option.end() :]
        if kind == "literalinclude":
            return self._code(argument, options)
        if kind == "question":
            return self._question(yaml.safe_load(body))
        if kind == "drawing":
            return f"{drawings()[argument].image()}\n\n*{self.plain(body)}*"
        if kind == "admonition":
            return _quoted(f"**{argument}**\n\n{self.plain(body)}")
        if kind == "assignment":
            work = f"exercises/{argument}/{argument}.ipynb"
            link = f"[The notebook]({self.site.repository}/blob/{self.site.branch}/{work})"
            return _quoted(f"**Assignment {argument[:2]}**\n\n{self.plain(body)}\n\n{link}")
        raise NotebookError(f"{self.name}: no form for {{{kind}}} in a notebook")

    def _code(self, path: str, options: dict[str, str]) -> str:
        shown = (self.site.root / self.name).parent / path
        module = posixpath.relpath(shown.resolve(), self.site.root)
        return f"From `{module}`:\n\n```python\n{read(shown, options).rstrip()}\n```"

    def _question(self, asked: dict[str, Any]) -> str:
        shown = [option for _, option in options_shown(asked, self.name, self.questions)]
        options = "\n".join(f"- {self.plain(str(o['text']))}" for o in shown)
        answers = "\n".join(
            f"- **{'Right' if o.get('right') else 'Not quite'}:** {self.plain(str(o['text']))}"
            f"\\\n  {self.plain(o['why'])}"
            for o in shown
        )
        return (
            f"**{self.plain(asked['stem'])}**\n\n{options}\n\n"
            f"<details><summary>Choose, then open.</summary>\n\n{answers}\n\n</details>"
        )


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
