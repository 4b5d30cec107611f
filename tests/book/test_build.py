"""What is built again, and what is left alone."""

import re
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml

import course_lib.book.builder as build_module
from course_lib.book.builder import BuildError, build, links, source_key
from course_lib.book.page_keys import page_keys
from course_lib.claims import load_claims
from course_lib.packed import pack

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent

MODULE = '''"""A module."""


def double(x):
    """Twice x."""
    return 2 * x  # doubled
'''


CODE = "```{{code-cell}}\n:tags: [hide-input]\n%time\n{}\nopen('../results')\n```\n"


@pytest.fixture
def checkout(tmp_path):
    root = tmp_path / "checkout"
    files = {
        "course_lib/numbers_of.py": MODULE,
        "course_lib/figure.js": "(x) => 2 * x;",
        "course_lib/words_of.py": "TWICE = 2\n",
        "book/intro.md": "# Hello\n\n"
        + CODE.format("from course_lib.numbers_of import double")
        + CODE.format("'toy'"),
        "book/other.md": "# Words\n\n" + CODE.format("from course_lib.words_of import TWICE"),
        "book/_ext/course_own.py": "X = 1\n",
        "book/results/toy/run.json": "{}",
        "book/results/cost/run.json": "{}",
        "constraints.txt": "torch==2.13.0\n",
        "_config.yml": "title: Small\n",
        "_toc.yml": "format: jb-book\nroot: book/intro\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def change(root, name, old, new):
    path = root / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("course_lib/numbers_of.py", "# doubled", "# times two"),
        ("course_lib/numbers_of.py", "Twice x.", "Two times x."),
        ("course_lib/numbers_of.py", "\n\n\n", "\n\n\n\n"),
        ("book/intro.md", "Hello", "Good day"),
    ],
)
def test_words_keep_the_outputs_but_ask_for_a_build(checkout, name, old, new):
    keys, sources = page_keys(checkout), source_key(checkout)
    change(checkout, name, old, new)
    assert page_keys(checkout) == keys
    assert source_key(checkout) != sources


@pytest.mark.parametrize(
    ("name", "old", "new", "pages"),
    [
        ("course_lib/numbers_of.py", "2 * x", "3 * x", {"book/intro.md"}),
        ("course_lib/words_of.py", "2", "3", {"book/other.md"}),
        ("course_lib/figure.js", "2 * x", "3 * x", {"book/intro.md", "book/other.md"}),
        ("book/results/toy/run.json", "{}", '{"seed": 1}', {"book/intro.md", "book/other.md"}),
        ("book/results/cost/run.json", "{}", '{"seed": 1}', {"book/other.md"}),
    ],
)
def test_what_a_page_reaches_changes_its_key(checkout, name, old, new, pages):
    before = page_keys(checkout)
    change(checkout, name, old, new)
    after = page_keys(checkout)
    assert {page for page in after if after[page] != before[page]} == pages


def test_a_packed_record_is_the_same_to_a_page_and_a_loose_one_makes_it_stale(checkout):
    before, loose = page_keys(checkout), checkout / "book/results/toy/run.json"
    pack(loose.parent.with_suffix(".zip"), {"toy/run.json": loose.read_bytes()})
    assert page_keys(checkout) == before
    loose.unlink()
    assert page_keys(checkout) == before
    loose.write_text('{"seed": 1}')
    assert all(key != before[page] for page, key in page_keys(checkout).items())


@pytest.fixture
def runs(monkeypatch):
    calls = []

    def run(root, folder, echo):
        calls.append(folder)
        for name in ("html/index.html", ".jupyter_cache/cell", ".doctrees/page"):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")

    monkeypatch.setattr(build_module, "_run", run)
    return calls


def quiet(line):
    """Swallow progress."""


def test_nothing_changed_builds_nothing(checkout, runs):
    said = []
    index = build(checkout, echo=said.append)
    assert index == checkout / "_build" / "html" / "index.html" and index.exists()
    assert build(checkout, echo=said.append) == index
    assert len(runs) == 1
    assert said == ["book: nothing changed since the last build"]
    build(checkout, force=True, echo=quiet)
    index.unlink()
    build(checkout, echo=quiet)
    assert len(runs) == 3


def test_only_other_packages_drop_all_outputs(checkout, runs):
    folder = checkout / "_build"
    build(checkout, echo=quiet)
    kept = folder / ".jupyter_cache" / "kept"
    read = folder / ".doctrees" / "read"

    def rebuilt_with(name, old, new):
        kept.touch()
        read.touch()
        change(checkout, name, old, new)
        build(checkout, echo=quiet)
        return kept.exists(), read.exists()

    assert rebuilt_with("book/intro.md", "Hello", "Hi") == (True, True)
    assert rebuilt_with("book/_ext/course_own.py", "1", "2") == (True, False)
    assert rebuilt_with("course_lib/numbers_of.py", "2 * x", "3 * x") == (True, False)
    assert rebuilt_with("constraints.txt", "2.13.0", "2.14.0") == (False, False)


def test_a_build_that_fails_or_is_interrupted_leaves_no_stamp(checkout, monkeypatch, runs):
    build(checkout, echo=quiet)
    change(checkout, "book/intro.md", "Hello", "Hi")
    for error in (BuildError, KeyboardInterrupt):
        with monkeypatch.context() as patch:

            def fail(*args, error=error):
                raise error

            patch.setattr(build_module, "_run", fail)
            with pytest.raises(error):
                build(checkout, echo=quiet)
    build(checkout, echo=quiet)
    assert len(runs) == 2


def test_a_source_that_changes_meanwhile_is_looked_at_again(checkout, monkeypatch, runs):
    whole = build_module._run

    def edit_and_run(root, folder, echo):
        whole(root, folder, echo)
        change(root, "book/intro.md", "Hello", "Hi")

    with monkeypatch.context() as patch:
        patch.setattr(build_module, "_run", edit_and_run)
        build(checkout, echo=quiet)
    build(checkout, echo=quiet)
    assert len(runs) == 2


@pytest.mark.slow
def test_a_real_book_builds_and_a_failing_cell_does_not(tmp_path):
    root = tmp_path / "small"
    (root / "book").mkdir(parents=True)
    (root / "_toc.yml").write_text("format: jb-book\nroot: book/intro\n")
    (root / "_config.yml").write_text(
        "title: Small\nonly_build_toc_files: true\nexecute: {execute_notebooks: cache}\n"
    )
    head = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n# Hello\n\n"
    page = root / "book" / "intro.md"
    for text, fault in [
        ("```{code-cell}\nprint(6 * 7)\n```\n", ""),
        ("```{code-cell}\nprint(1 / 0)\n```\n", "ZeroDivisionError"),
        ("[nowhere](nothing.md)\n", "nothing.md"),
    ]:
        page.write_text(head + text)
        if fault:
            with pytest.raises(BuildError) as caught:
                build(root, echo=quiet)
            said = str(caught.value) + (root / "_build" / "book.log").read_text()
            assert "WARNING" in str(caught.value) and fault in said
        else:
            build(root, echo=quiet)
            shown = (root / "_build" / "html" / "book" / "intro.html").read_text()
            assert "<span></span>42" in shown
            other = root / "_build" / "other"
            by_jupyter_book = [BIN / "jupyter-book", "build", root, "--path-output", other, "-n"]
            subprocess.run(by_jupyter_book, check=True, capture_output=True)
            assert (other / "_build" / "html" / "book" / "intro.html").read_text() == shown


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("_config.yml", "title: [", "_config.yml cannot be read:\n(.*\n)*.*ParserError"),
        ("_toc.yml", "format: none", "did not build:\n(.*\n)*.*'format' key value not recognised"),
    ],
)
def test_files_that_are_no_configuration_are_said_so(checkout, name, text, says):
    (checkout / name).write_text(text)
    with pytest.raises(BuildError, match=says):
        build(checkout, echo=quiet)


@pytest.mark.slow
def test_links_are_asked_and_those_that_lead_nowhere_are_named(tmp_path, serve):
    (tmp_path / "there.html").write_text("<title>here</title>")
    address = serve(tmp_path)
    root = tmp_path / "small"
    (root / "book").mkdir(parents=True)
    (root / "_toc.yml").write_text("format: jb-book\nroot: book/intro\n")
    (root / "_config.yml").write_text(
        "title: Small\nonly_build_toc_files: true\n"
        "sphinx: {config: {linkcheck_ignore: ['https://example']}}\n"
    )
    (root / "book" / "intro.md").write_text(
        f"# Hello\n\n[one]({address}there.html)\n[two]({address}gone.html)\n"
        "[three](https://example.org/x)\n"
    )
    for _ in range(2):  # also when pages are not read again
        found = {link["uri"]: link for link in links(root, echo=quiet)}
        assert {uri: link["status"] for uri, link in found.items()} == {
            f"{address}there.html": "working",
            f"{address}gone.html": "broken",
            "https://example.org/x": "ignored",
        }
        gone = found[f"{address}gone.html"]
        assert (gone["filename"], gone["lineno"]) == ("book/intro.md", 3) and "404" in gone["info"]


FAULTS = """# Hello

![](picture.svg)

$\\softmax x$ and {claim}`99`

| norm | after |
|---|---|
| $|x|$ | kept |

```{question} Bad_Name
stem: What?
options: []
```
"""


SHOWN = """---
file_format: mystnb
kernelspec: {name: python3}
---
# Shown

A step $\\text{learning\\_rate}$ of $\\text{50\\%}$.

| norm | after it |
|---|---|
| $\\vert x \\vert$ | kept |

```{code-cell}
from IPython.display import Markdown
Markdown("made by a cell: $y = x^2$\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |")
```
"""


@pytest.mark.slow
def test_formulas_are_shown_wherever_they_stand(tmp_path):
    root = tmp_path / "small"
    shutil.copytree(ROOT / "book" / "_ext", root / "book" / "_ext")
    (root / "_toc.yml").write_text("format: jb-book\nroot: book/intro\n")
    whole = yaml.safe_load((ROOT / "_config.yml").read_text())
    config = {
        name: whole["sphinx"]["config"][name]
        for name in ("html_math_renderer", "nb_render_markdown_format")
    }
    extensions = {"course_math": "book/_ext", "course_lost": "book/_ext"}
    small = {
        "title": "Small",
        "only_build_toc_files": True,
        "parse": whole["parse"],
        "sphinx": {"local_extensions": extensions, "config": config},
    }
    (root / "_config.yml").write_text(yaml.safe_dump(small))
    (root / "book" / "intro.md").write_text(SHOWN)
    build(root, echo=quiet)
    page = (root / "_build" / "html" / "book" / "intro.html").read_text()
    assert "<mtext>learning_rate</mtext>" in page and "<mtext>50%</mtext>" in page
    assert re.search(r"made by a cell: <math[^>]*>.*?<msup>", page)
    assert len(re.findall("<td>", page)) == 4


HUNGRY = """---
file_format: mystnb
kernelspec: {name: python3}
execution_budget: 0.2
---
# Hungry

```{code-cell}
sum(i for i in range(20_000_000))
```

```{code-cell}
from IPython.display import display
widget = {"model_id": "a", "version_major": 2, "version_minor": 0}
display({"application/vnd.jupyter.widget-view+json": widget, "text/plain": "here"}, raw=True)
```
"""


@pytest.mark.slow
def test_the_frame_refuses_what_readers_should_not_meet(tmp_path):
    """A picture without words, a formula that fails, a claim that is not there or not true."""
    root = tmp_path / "small"
    book = root / "book"
    shutil.copytree(ROOT / "book" / "_ext", book / "_ext")
    (root / "_toc.yml").write_text(
        "format: jb-book\nroot: book/intro\nchapters:\n"
        "  - file: book/claims\n  - file: book/hungry\n"
    )
    (book / "hungry.md").write_text(HUNGRY)
    (root / "_config.yml").write_text(
        "title: Small\nonly_build_toc_files: true\nsphinx:\n  local_extensions:\n"
        + "".join(
            f"    course_{name}: book/_ext\n"
            for name in ("site", "math", "lost", "question", "claims")
        )
        + "  config: {html_math_renderer: mathml}\n"
    )
    (book / "picture.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    (book / "intro.md").write_text(FAULTS)
    (book / "claims.md").write_text("# Claims\n\n```{claims-table}\n```\n")
    claim = load_claims(ROOT / "book" / "claims.yml")[0]
    assert claim.verdict == "with correction"
    (book / "claims.yml").write_text(yaml.safe_dump([{**asdict(claim), "verdict": "holds"}]))
    with pytest.raises(BuildError) as caught:
        build(root, echo=quiet)
    for said in (
        "image without alt text",
        "unknown command \\softmax",
        "question Bad_Name: a name is lower-case words joined by hyphens",
        "claim-99",
        f"claim {claim.id} is called holds, but the code found holds=False",
        "seconds of processor time, its budget is 0",
        "intro.md:9: WARNING: a table: 4 cells in 2 columns",
        "a widget, which does nothing without a kernel",
    ):
        assert said in str(caught.value)


def test_the_package_needs_no_sphinx_to_be_imported():
    """``course`` starts without the packages of the book."""
    code = "import sys, course_lib.book; sys.exit('sphinx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
