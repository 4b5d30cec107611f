"""Site as a whole: nothing from other hosts, alt text, a link to an assignment."""

import json
import re
import resource
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from bs4 import BeautifulSoup
from docutils import nodes
from docutils.parsers.rst.directives import flag
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.directives.code import LiteralInclude
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from course_lib.book.icons import cut_icons
from course_lib.book.inspection import EXECUTION_FILE
from course_lib.book.literalinclude import FLAG, lines_without_docstring
from course_lib.book.notebooks import BRANCH
from course_lib.book.svg_size import shorten
from course_lib.figures.models import write_models

LOGGER = logging.getLogger(__name__)
SEARCH = re.compile(
    r'\n *<script src="[^"]*(?:searchtools|language_data|searchindex)\.js"></script>'
)
ARROW = '<summary><span class="toctree-toggle"'
CHAPTER = re.compile(r"book/(?:chapters|lab)/(\d\d)_")
EMPTY_HEAD = re.compile(r"<th([^>]*)>\s*(?:<p>\s*</p>\s*)?</th>")
# Elements without a place in an EPUB.
LIVELY = "script, input, button, form.claim-filter, .question-answer, .question-record"
# Seconds of processor time for the cells of one page.
BUDGET = 40.0


def forget_thebe(app: Sphinx, config: Config) -> None:
    """Unplug sphinx-thebe, which jupyter-book always loads and which points at another host."""
    for listeners in app.events.listeners.values():
        listeners[:] = [entry for entry in listeners if entry.handler.__module__ != "sphinx_thebe"]
    styles = app.registry.css_files
    styles[:] = [entry for entry in styles if entry[0] != "sphinx-thebe.css"]


def read_side_by_side(app: Sphinx, config: Config) -> None:
    """Vouch for extensions that don't say whether pages may be read in several processes.

    Both that jupyter-book always loads work on finished pages of other builders.
    """
    for name in ("sphinx_jupyterbook_latex", "sphinx_multitoc_numbering"):
        if extension := app.extensions.get(name):
            extension.parallel_read_safe = True


def name_the_site(app: Sphinx, config: Config) -> None:
    """Let social cards point where the configuration says the book is published."""
    config.ogp_site_url = config.html_baseurl
    config.version = config.release = version("attention-course")  # an EPUB wants one


def bind_without_the_theme(app: Sphinx) -> None:
    """Unplug the theme where pages are not for a browser: it fails without its buttons."""
    if app.builder.name == "epub":
        for listeners in app.events.listeners.values():
            listeners[:] = [
                entry
                for entry in listeners
                if not entry.handler.__module__.startswith(("sphinx_book_", "pydata_sphinx_"))
            ]


def write_xhtml(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Make a page of an EPUB well-formed, and leave out what cannot work there.

    A figure keeps the words that say what it shows first, a question its options and reasons.
    """
    body = context.get("body")
    if app.builder.name != "epub" or not isinstance(body, str):
        return
    soup = BeautifulSoup(body, "html.parser")
    for element in soup.select(LIVELY):
        element.decompose()
    for element in soup("noscript"):
        element.unwrap()
    for element in soup.select("form.question, fieldset, legend"):
        element.name = "div"
    for element in soup.select("label, summary p"):
        element.name = "span"
        del element["for"]
    for element in soup.select("p:has(p, ul, ol, dl)"):
        element.name = "div"
    # Here alone case counts, and a picture has to say what it is.
    cases = {name.lower(): name for name in re.findall(r"[\s<]([a-z]+[A-Z]\w*)(?=[\s=>])", body)}
    for element in soup.select("svg, svg *"):
        element.name = cases.get(element.name, element.name)
        element.attrs = {cases.get(name, name): value for name, value in element.attrs.items()}
    for element in soup("svg"):
        element["xmlns"] = "http://www.w3.org/2000/svg"
    context["body"] = soup.decode(formatter="minimal")
    # These two are written after the EPUB, and about cells that fold and exercises of the theme's.
    context["css_files"] = [
        style
        for style in context["css_files"]
        if not re.search(r"/(?:mystnb\.|exercise)", str(style.filename))
    ]


def shorten_drawings(app: Sphinx, env: object) -> None:
    """Shorten what the cells have drawn, before it is copied to a page or into an EPUB."""
    shorten(Path(app.outdir).parent / "jupyter_execute")


def number_flat(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give Sphinx its own numbers back, so that it sees which pages' numbers have changed."""
    env.toc_fignumbers = getattr(env, "course_fignumbers", env.toc_fignumbers)
    return []


def number_within_chapters(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Number figures and equations within their chapter, or within a page that is in none."""
    env.course_fignumbers = env.toc_fignumbers
    flat = sorted(
        (kind, number, page, node)
        for page, kinds in env.toc_fignumbers.items()
        for kind, numbers in kinds.items()
        for node, number in numbers.items()
    )
    count: Counter[tuple[str, str]] = Counter()
    env.toc_fignumbers = {}
    for kind, _, page, node in flat:
        chapter = CHAPTER.match(page)
        count[kind, chapter[1] if chapter else page] += 1
        place = (int(chapter[1]), count[kind, chapter[1]]) if chapter else (count[kind, page],)
        env.toc_fignumbers.setdefault(page, {}).setdefault(kind, {})[node] = place
    return []


def require_alt_text(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Warn of an image that says nothing to somebody who can't see it."""
    for image in doctree.findall(nodes.image):
        alt = image.get("alt", "")
        if (
            not alt.strip()
            or re.fullmatch(r"\S*/\S*", alt.strip())
            or re.search(r"\.\w{3,4}$", alt)
        ):
            LOGGER.warning("image without alt text", location=image, type="course", subtype="alt")


def tidy_up(app: Sphinx, error: Exception | None) -> None:
    """Drop source maps, unused icons and pages without a source, and note how long pages ran."""
    if error or app.builder.name != "html":
        return
    html = Path(app.outdir)
    for pattern in ("*.map", "*.html"):  # the theme ships its templates, too
        for path in (html / "_static").rglob(pattern):
            path.unlink()
    write_models(html / "_static" / "live")
    write_places(app, html)
    cut_icons(html)
    mend_frame(html)
    own = {"index", "genindex", "search"} | app.env.found_docs
    for path in html.rglob("*.html"):
        if path.relative_to(html).with_suffix("").as_posix() not in own:
            path.unlink()
    seconds = {
        docname: round(data["exec_data"]["runtime"] or 0.0, 1)
        for docname, data in NbMetadataCollector.get_doc_data(app.env).items()
        if data.get("exec_data")
    }
    target = html.parent / EXECUTION_FILE
    target.write_text(json.dumps(seconds, indent=1, sort_keys=True))


def write_places(app: Sphinx, html: Path) -> None:
    """Write on which page each labelled place is, for links that name another page."""
    labels = app.env.domains["std"].anonlabels.values()
    places = {node: page for page, node in labels if node}
    text = json.dumps(places, sort_keys=True, separators=(",", ":"))
    (html / "_static" / "places.js").write_text(f"window.coursePlaces = {text};\n", "utf-8")


def mend_frame(html: Path) -> None:
    """Mend what the theme puts around all pages.

    The index of all words would serve a search while one types, which is off: only the page for
    searching looks words up. The arrow that opens a part of the contents gets a name.
    """
    named = ARROW.replace("<summary", '<summary aria-label="Pages below this one"')
    for path in html.rglob("*.html"):
        page = path.read_text(encoding="utf-8").replace(ARROW, named)
        path.write_text(page if path == html / "search.html" else SEARCH.sub("", page), "utf-8")


def mend_markup(
    app: Sphinx, page: str, template: str, context: dict[str, object], doctree: object
) -> None:
    """Mend what docutils writes and screen readers stumble over.

    Roles that it gives a bibliography and that they no longer know go, and a head of nothing, as in
    the corner above the names of rows, becomes an ordinary cell.
    """
    body = context.get("body")
    if not isinstance(body, str):
        return
    if "doc-biblioentry" in body:
        for role in (' role="doc-biblioentry"', ' role="list"'):
            body = body.replace(role, "")
    context["body"] = EMPTY_HEAD.sub(r"<td\1></td>", body)


def aim_launch_buttons(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Point hub and Binder at the chapter's assignment, and Colab at the page's notebook.

    The theme points them all at the text source of the page, where nothing can be run.
    """
    name = (context.get("meta") or {}).get("assignment")
    for group in context.get("header_buttons", []):
        for button in list(group.get("buttons", [])):
            if button.get("text") == "Colab":
                repository = button["url"].partition("/blob/")[0]
                button["url"] = f"{repository}/blob/{BRANCH}/{page}.ipynb"
            elif button.get("text") in ("JupyterHub", "Binder"):
                if name:
                    button["url"] = button["url"].replace(f"{page}.md", released(name))
                else:
                    group["buttons"].remove(button)


def released(name: str) -> str:
    """Where an assignment's released notebook lies in the repository."""
    return f"exercises/{name}/{name}.ipynb"


def note_start(app: Sphinx, docname: str, source: list[str]) -> None:
    """Remember what processor time all kernels so far have taken."""
    app.env.course_before = _kernel_seconds()


def weigh_page(app: Sphinx, doctree: nodes.document) -> None:
    """Compare the processor time of a page's kernel with the page's budget.

    Wall time tells as much about what else runs on the machine. A page says `execution_budget:
    SECONDS` in its front matter where it needs more than usual; three times as much ends the build.
    """
    before = getattr(app.env, "course_before", None)
    taken = _kernel_seconds() - before if before is not None else 0.0
    if taken < 0.5:
        return  # nothing was executed, or nothing to speak of
    # Straight to the reader of the log: Sphinx keeps what its processes say until they end.
    print(f"\nexecuted {app.env.docname}: {taken:.0f} seconds of processor time", flush=True)
    budget = float(app.env.metadata[app.env.docname].get("execution_budget", BUDGET))
    if taken > budget:
        say = LOGGER.warning if taken > 3 * budget else LOGGER.info
        say(
            "%s took %.0f seconds of processor time, its budget is %.0f",
            app.env.docname,
            taken,
            budget,
        )


def _kernel_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Assignment(SphinxDirective):
    """Ways to work on an assignment: download it, or open it on the hub, on Binder or on Colab."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Make a box with the links."""
        name = self.arguments[0]
        notebook = released(name)
        self.env.metadata[self.env.docname]["assignment"] = name
        options = self.config.html_theme_options
        repository, branch = options["repository_url"], options["repository_branch"]
        launch = options["launch_buttons"]
        pull = {
            "repo": repository,
            "branch": branch,
            "urlpath": f"lab/tree/{repository.rpartition('/')[2]}/{notebook}",
        }
        box = nodes.admonition(classes=["assignment"])
        box += nodes.title("", f"Assignment {name[:2]}")
        box += self.parse_content_to_nodes()
        line = nodes.paragraph()
        line += addnodes.download_reference(
            "",
            "",
            nodes.Text("Download the notebook"),
            refdoc=self.env.docname,
            refdomain="",
            reftarget=f"/{notebook}",
            reftype="download",
            refexplicit=True,
        )
        hub = f"{launch['jupyterhub_url']}/hub/user-redirect/git-pull?{urlencode(pull)}"
        github = repository.partition("github.com/")[2]
        binder = f"{launch['binderhub_url']}/v2/gh/{github}/{branch}?urlpath=lab/tree/"
        colab = f"{launch['colab_url']}/github/{github}/blob/{BRANCH}/{notebook}"
        for text, url in (
            ("open it on the hub", hub),
            ("open it on Binder", binder + quote(notebook)),
            ("open it on Colab", colab),
        ):
            line += nodes.Text(" · ")
            line += nodes.reference("", text, refuri=url)
        box += line
        return [box]


class Listing(LiteralInclude):
    """Sphinx's own listing, which may leave a docstring out."""

    option_spec: ClassVar = {**LiteralInclude.option_spec, FLAG: flag}

    def run(self) -> list[nodes.Node]:
        """Find the docstring, if it is to be left out."""
        if FLAG in self.options:
            path = Path(self.env.relfn2path(self.arguments[0])[1])
            self.options["lines"] = lines_without_docstring(path, self.options["pyobject"])
        return super().run()


def setup(app: Sphinx) -> dict[str, object]:
    """Connect."""
    app.connect("config-inited", forget_thebe)
    app.connect("config-inited", name_the_site)
    app.connect("config-inited", read_side_by_side)
    app.connect("builder-inited", bind_without_the_theme, priority=1)
    app.connect("env-updated", shorten_drawings)
    app.connect("env-get-updated", number_flat, priority=1)
    app.connect("env-get-updated", number_within_chapters, priority=900)
    app.connect("doctree-resolved", require_alt_text)
    app.connect("source-read", note_start)
    app.connect("doctree-read", weigh_page)
    app.connect("html-page-context", mend_markup)
    app.connect("html-page-context", write_xhtml)
    app.connect("html-page-context", aim_launch_buttons, priority=900)
    app.connect("build-finished", tidy_up)
    app.add_js_file("offline.js", loading_method="defer")
    app.add_js_file("moved.js", loading_method="defer")
    app.add_directive("assignment", Assignment)
    app.add_directive("literalinclude", Listing, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
