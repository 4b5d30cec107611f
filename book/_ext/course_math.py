"""Formulas as MathML: no script, no request, readable by a screen reader."""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders._epub_base import MEDIA_TYPES
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from course_lib.book.font import FAMILY, math_font, used
from course_lib.book.mathml import MATHML_CSS, UnsupportedMath, mathml

LOGGER = logging.getLogger(__name__)
STYLE = f"""\
@font-face {{
  font-family: "{FAMILY}"; src: url("course-math.woff2") format("woff2"); font-display: swap;
}}
math {{ font-family: "{FAMILY}", "STIX Two Math", "Cambria Math", math; font-size: 1.06em; }}
{MATHML_CSS}"""


def convert(node: nodes.Node, display: bool) -> str:
    """Return the MathML of a node; a formula that fails is a warning, and so ends the build."""
    parts = [part.strip() for part in node.astext().split("\n\n") if part.strip()]
    latex = parts[0] if len(parts) == 1 else r"\begin{gathered}" + r" \\ ".join(parts)
    latex += r"\end{gathered}" if len(parts) > 1 else ""
    try:
        return mathml(latex, display=display)
    except UnsupportedMath as error:
        LOGGER.warning("%s", error, location=node, type="course", subtype="math")
        return "<code>formula</code>"


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(convert(node, display=False))
    raise nodes.SkipNode


def visit_display(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, with its number if it has one."""
    self.body.append(self.starttag(node, "div", CLASS="formula", tabindex="0"))
    self.body.append(convert(node, display=True))
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<a class="eqno" href="#{node["ids"][0]}">({number})</a>')
    self.body.append("</div>\n")
    raise nodes.SkipNode


def write_style(app: Sphinx) -> None:
    """Put the rules for formulas beside the other static files."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    static.mkdir(parents=True, exist_ok=True)
    (static / "course-math.css").write_text(STYLE, encoding="utf-8")
    if app.builder.name == "epub":  # is bound before its formulas are known
        MEDIA_TYPES.setdefault(".woff2", "font/woff2")
        (static / "course-math.woff2").write_bytes(math_font())


def write_font(app: Sphinx, error: Exception | None) -> None:
    """Cut the font down to what the formulas of all pages use."""
    if error or app.builder.name != "html":
        return
    html = Path(app.outdir)
    (html / "_static" / "course-math.woff2").write_bytes(math_font(used(html.rglob("*.html"))))


def setup(app: Sphinx) -> dict[str, object]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    app.add_css_file("course-math.css")
    app.connect("builder-inited", write_style)
    app.connect("build-finished", write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
