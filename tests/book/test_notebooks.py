"""Pages as notebooks: nothing is left that only the book knows, and one runs."""

import os
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient

from course_lib.book.notebooks import BRANCH, NotebookError, Site, notebook, write_notebooks
from course_lib.book.pdf import order

ROOT = Path(__file__).parents[2]

PAGE = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
# Small

(here)=
## A place

See {claim}`X1`, {cite:t}`a2000one`, {cite:p}`a2000one,b2001two`, {eq}`eq-one`, {eq}`eq-far`,
{numref}`fig-far`, {term}`heads <head>`, {term}`score`, [next](next.md),
[there](#there), [here](#here), [out](https://example.org/x)
and `{claim}`, `](x)`.

$$
x
$$ (eq-one)

:::{admonition} More
:class: dropdown
```{literalinclude} ../../course_lib/own.py
:language: python
:pyobject: double
:lines: 1,3
```
:::

```{question} how-many
outcome: a.b
stem: How many $x$?
options:
  - {text: "1", misconception: one, why: No.}
  - {text: "2", right: true, why: "See [next](next.md)."}
  - {text: "3", misconception: three, why: No.}
```

```{assignment} 03_attention
Write {claim}`X1`.
```

```{drawing} attention-by-hand
As {claim}`X1` says; {numref}`draw-attention-by-hand`.
```

```python
"{claim}`7`"
```

```{code-cell} ipython3
:tags: [hide-input]
print("{claim}`7`")
```
"""

BIB = """@misc{a2000one, title = {T}, author = {M{\\"u}ller, Ann}, year = {2000}}
@misc{b2001two, title = {T}, author = {B, A and C, B and D, C}, year = {2001}}
"""


@pytest.fixture
def small(tmp_path):
    files = {
        "_config.yml": "repository: {url: https://github.com/a/course, branch: main}\n"
        "html: {baseurl: https://book.example.org/}\n",
        "_toc.yml": "root: book/ch/one\nparts: [{caption: P, chapters: [{file: book/ch/next},"
        " {file: book/claims}, {file: book/glossary}, {file: book/bibliography}]}]\n",
        "book/ch/one.md": PAGE,
        "book/ch/next.md": "(there)=\n# Next\n\n$$\ny\n$$ (eq-far)\n\nname: fig-far\n",
        "book/claims.md": "# Claims\n",
        "book/glossary.md": "# Glossary\n",
        "book/bibliography.md": "# Papers\n",
        "book/references.bib": BIB,
        "course_lib/own.py": 'def double(x):\n    """Twice."""\n    return 2 * x\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_everything_becomes_plain(small):
    made = notebook("book/ch/one", Site.of(small))
    note, start, *text, code = made.cells
    assert "https://book.example.org/book/ch/one.html" in note.source
    assert "--branch main https://github.com/a/course course\n" in start.source
    assert 'os.chdir("course/book/ch")' in start.source
    said = "\n".join(cell.source for cell in text)
    site = "https://book.example.org/book"
    for wanted in (
        f"[claim X1]({site}/claims.html#claim-x1), [Müller (2000)]({site}/bibliography.html)",
        f"([Müller, 2000; B et al., 2001]({site}/bibliography.html)), (1), ",
        f"[this equation]({site}/ch/next.html#eq-far),\n",
        f"[the figure]({site}/ch/next.html#fig-far), [heads]({site}/glossary.html), "
        f"[score]({site}/glossary.html), [next]({site}/ch/next.html),\n"
        f"[there]({site}/ch/next.html#there), [here](#here), [out](https://example.org/x)\n",
        "\nand `{claim}`, `](x)`.",
        '<a id="here"></a>\n\n## A place',
        "$$\nx \\tag{1}\n$$",
        "> **More**\n>\n> From `course_lib/own.py`:\n>\n> ```python\n> def double(x):\n"
        ">     return 2 * x\n> ```",
        "**How many $x$?**\n\n- 2\n- 1\n- 3\n\n<details>",
        f"- **Right:** 2\\\n  See [next]({site}/ch/next.html).",
        "> [The notebook](https://github.com/a/course/blob/main/exercises/03_attention/",
        '<img alt="The query of the word love meets the keys',
        f"*As [claim X1]({site}/claims.html#claim-x1) says; "
        f"[the figure]({site}/ch/one.html#draw-attention-by-hand).*",
        '```python\n"{claim}`7`"\n```',
    ):
        assert wanted in said, said
    assert code.source == 'print("{claim}`7`")'
    assert code.metadata == {"jupyter": {"source_hidden": True}, "cellView": "form"}
    assert nbformat.writes(made) == nbformat.writes(notebook("book/ch/one", Site.of(small)))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{eq}`eq-one`", "{doc}`head`", r"book/ch/one: no form for \{doc\}`head`"),
        ("```{assignment}", "```{glossary}", r"book/ch/one: no form for \{glossary\}"),
        ("[next](next.md)", "[next](gone.md)", "book/ch/one: no page gone.md"),
        ("(#there)", "(#gone)", "book/ch/one: no page has the label gone"),
    ],
)
def test_what_has_no_form_is_named_and_nothing_is_lost(small, old, new, said):
    target = small / "made"
    write_notebooks(small, target)
    page = small / "book" / "ch" / "one.md"
    assert old in page.read_text()
    page.write_text(page.read_text().replace(old, new))
    with pytest.raises(NotebookError, match=said):
        write_notebooks(small, target)
    assert (target / "book" / "ch" / "one.ipynb").exists()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    target = tmp_path_factory.mktemp("notebooks")
    write_notebooks(ROOT, target)
    return target


def test_every_page_with_code_has_one_and_nothing_of_the_book_is_left(made):
    with_code = [
        page.removesuffix(".html")
        for _, page in order(ROOT)
        if "{code-cell}" in (ROOT / page).with_suffix(".md").read_text(encoding="utf-8")
    ]
    assert len(with_code) > 20
    for name in with_code:
        book = nbformat.read(made / f"{name}.ipynb", as_version=4)
        nbformat.validate(book)
        words = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
        words = re.sub(r"```.*?```", "", words, flags=re.DOTALL)
        left = re.search(
            r"\{[a-z:-]+\}`|^\([\w-]+\)=|:::|```\{|\$\$ \(|\]\((?!https?:|#)[^)]*\)", words, re.M
        )
        assert left is None, f"{name}: {left}"


def test_those_of_assignments_install_the_wheel_where_there_is_no_course(made, monkeypatch):
    released = sorted((ROOT / "exercises").glob("*/*.ipynb"))
    assert len(released) > 15
    for path in released:
        start, *rest = nbformat.read(made / path.relative_to(ROOT), as_version=4).cells
        assert rest == nbformat.read(path, as_version=4).cells
    shell, asked = InteractiveShell(), list[str]()
    shell.register_magic_function(asked.append, magic_name="pip")
    shell.run_cell(start.source).raise_error()
    assert asked == []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    shell.run_cell(start.source).raise_error()
    assert asked == [f"install --quiet {Site.of(ROOT).wheel}"]


@pytest.mark.slow
def test_one_runs_from_top_to_bottom(made, tmp_path):
    shutil.copytree(ROOT / "book", tmp_path / "origin" / "book")
    for name in ("course_lib", "grader"):
        shutil.copytree(ROOT / name, tmp_path / "origin" / name)
    shutil.copy(ROOT / "course.toml", tmp_path / "origin")
    book = nbformat.read(made / "book" / "chapters" / "15_swin.ipynb", as_version=4)
    start = book.cells[1]
    commands = re.findall(r"^ +[!%].*$", start.source, re.MULTILINE)
    assert [command.split()[:2] for command in commands] == [["!git", "clone"], ["%pip", "install"]]
    folder = commands[0].split()[-1]
    start.source = start.source.replace(commands[0], f"        !cp -r origin {folder}")
    start.source = start.source.replace(commands[1], "")
    book.cells.append(
        nbformat.v4.new_code_cell("import course_lib\nprint(course_lib.__file__, os.getcwd())")
    )
    NotebookClient(
        book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}, kernel_name="python3"
    ).execute(env={**os.environ, "OMP_NUM_THREADS": "1"})
    where, cwd = book.cells[-1].outputs[0].text.split()
    assert Path(where) == tmp_path / folder / "course_lib" / "__init__.py"
    assert Path(cwd) == tmp_path / folder / "book" / "chapters"


def test_the_colab_button_opens_the_notebook(built_book):
    page = (built_book / "book" / "chapters" / "03_attention.html").read_text(encoding="utf-8")
    button, box = sorted(set(re.findall(r'href="(https://colab[^"]*)"', page)))
    assert button.endswith(f"/blob/{BRANCH}/book/chapters/03_attention.ipynb")
    assert box.endswith(f"/blob/{BRANCH}/exercises/03_attention/03_attention.ipynb")
    assert box.partition("/blob/")[0] == button.partition("/blob/")[0]
