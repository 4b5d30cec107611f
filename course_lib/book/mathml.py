r"""LaTeX formulas as MathML that browsers draw without any script.

``latex2mathml`` does the parsing. What it drops in silence becomes an error here, what MathML Core
no longer knows is rewritten, and only known elements and attributes come out, so that a formula
typed by a stranger cannot smuggle markup into a page.
"""

import html
import re
import unicodedata
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import Converter

from grader.base.errors import Refused

MATHML_CSS = """\
mtd.tex-left { text-align: left; }
mtd.tex-right { text-align: right; }
mtd.tex-center { text-align: center; }
mtable.tex-lines > mtr > mtd { padding: 0.25em 0; }
mtable.tex-lines > mtr > mtd:nth-child(2n + 3) { padding-left: 2em; }
mtable.tex-cases > mtr > mtd { padding: 0.15em 0.5em; }
"""

_ENVIRONMENTS = {
    "aligned": "split",
    "align": "split",
    "align*": "split",
    "split": "split",
    "gathered": "gathered",
    "gather": "gathered",
    "gather*": "gathered",
    "equation": "",
    "equation*": "",
    "cases": "cases",
    "array": "array",
    "smallmatrix": "smallmatrix",
    **{f"{kind}matrix": f"{kind}matrix" for kind in ("", "p", "b", "B", "v", "V")},
}
_REFUSED = {
    "newcommand": "define no macros inside a formula",
    "renewcommand": "define no macros inside a formula",
    "def": "define no macros inside a formula",
    "DeclareMathOperator": "write \\operatorname{...} instead",
    "tag": "number an equation with a label",
    "href": "a formula holds no links",
    "cancel": "MathML Core has no strikes",
    "boxed": "MathML Core has no boxes",
    "rule": "MathML Core has no rules",
    "hline": "MathML Core has no rules",
    "sideset": "write the indices at the sum",
    "fbox": "MathML Core has no boxes",
}
_TAGS = frozenset(
    "math mrow mi mn mo mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover"
    " mtable mtr mtd mstyle mpadded mphantom".split()
)
_ATTRIBUTES = frozenset(
    "xmlns display displaystyle scriptlevel stretchy symmetric fence form minsize maxsize"
    " movablelimits largeop lspace rspace accent accentunder linethickness width height depth"
    " mathcolor mathvariant class alttext".split()
)


def _alphabets() -> dict[tuple[str, str], str]:
    """By style and letter the one of that style, from the two blocks in which Unicode has them."""
    found: dict[tuple[str, str], str] = {}
    for code in (*range(0x1D400, 0x1D800), *range(0x2100, 0x2150)):
        letter, name = chr(code), unicodedata.name(chr(code), "").removeprefix("MATHEMATICAL ")
        kind, _, plain = unicodedata.decomposition(letter).partition(" ")
        for old, new in (("BLACK-LETTER", "FRAKTUR"), ("PLANCK CONSTANT", "ITALIC SMALL H")):
            name = name.replace(old, new)
        style = re.match(
            "((BOLD|ITALIC|SCRIPT|FRAKTUR|DOUBLE-STRUCK|SANS-SERIF|MONOSPACE) )+", name
        )
        if kind == "<font>" and style:
            key = style[0].strip().lower().replace(" ", "-"), chr(int(plain, 16))
            found.setdefault(key, letter)
    return found


_ALPHABETS = _alphabets()
# Styles without which a letter means something else; digits are upright in the others, too.
_TELLING = ("double-struck", "script", "bold-script", "fraktur")
_LIMITS = frozenset("max min sup inf lim argmax argmin det gcd Pr".split()) | {
    "lim\N{SIX-PER-EM SPACE}sup",
    "lim\N{SIX-PER-EM SPACE}inf",
}
_BIG = frozenset("∑∏∐⋂⋃⨁⨂⋀⋁")
_SYMBOLS = frozenset("∞∅∂∇∀∃")
_SCRIPTS = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
_ARITY = {"mfrac": 2, "mroot": 2, "msubsup": 3, "munderover": 3} | dict.fromkeys(
    ("msub", "msup", "munder", "mover"), 2
)
_OPENING = frozenset("([{⟨⌈⌊")
_CLOSING = frozenset(")]}⟩⌉⌋!")


class UnsupportedMath(Refused):
    """A formula that cannot be written as MathML; the message says which part and why."""


def mathml(latex: str, *, display: bool = False) -> str:
    r"""Write a LaTeX formula as one ``<math>`` element, whose ``alttext`` is the LaTeX source."""
    source = _prepare(latex, display)
    try:
        root = Converter(display="block" if display else "inline").convert_to_element(source)
    except Exception as error:  # the parser raises bare IndexError and TypeError too
        reason = re.sub(r"(?<!^)([A-Z])", r" \1", type(error).__name__.removesuffix("Error"))
        raise _refuse(latex, f"cannot read ({reason.lower()})") from error
    _unescape(root)
    _check(root, latex)
    for parent in list(root.iter()):
        _rewrite(parent)
    for parent in list(root.iter()):
        _space(parent)
    root.set("alttext", " ".join(latex.split()))
    return tostring(root, encoding="unicode", short_empty_elements=False)


def _refuse(latex: str, reason: str) -> UnsupportedMath:
    return UnsupportedMath(f"{reason} in the formula {' '.join(latex.split())}")


def _prepare(latex: str, display: bool) -> str:
    """Bring the source into the dialect that the parser knows, or refuse it."""
    source = re.sub(r"\\label\{[^}]*\}|\\n(?:onumber|otag)(?![A-Za-z])", "", latex).strip()
    if not source:
        raise _refuse(latex, "nothing to show")
    # Arguments that say how far apart things are: a length behind a row, a star, a side.
    source = re.sub(r"(\\\\)\*?(?:\[\s*-?[\d.]+\s*[a-z]{2}\s*\])?", r"\1", source)
    source = re.sub(r"(\\hspace)\*|(\\cfrac)\[[lrc]\]", r"\1\2", source)
    source = re.sub(r"\\math(?:bbm|ds)(?![A-Za-z])", r"\\mathbb", source)
    if accent := re.search(r"(?<!\\)(?:\\\\)*(\\[~^\"'`])", source):
        raise _refuse(latex, f"{accent[1]} (an accent of text)")
    bare = re.sub(r"\\.", "", source)
    if bare.count("{") != bare.count("}"):
        raise _refuse(latex, "unbalanced braces")
    for found in re.finditer(r"\\([A-Za-z]+)", source):
        if found[1] in _REFUSED:
            raise _refuse(latex, f"\\{found[1]} ({_REFUSED[found[1]]})")
    if re.search(r"\\(?:text|mbox|textrm)\{[^}]*\$", source):
        raise _refuse(latex, "a dollar sign inside \\text")

    def environment(found: re.Match[str]) -> str:
        name = _ENVIRONMENTS.get(found[2])
        if name is None:
            raise _refuse(latex, f"unknown environment {found[2]}")
        if name == "gathered":
            return r"\begin{array}{c}" if found[1] == "begin" else r"\end{array}"
        return rf"\{found[1]}{{{name}}}" if name else ""

    begins = re.findall(r"\\begin\{([^}]*)\}", source)
    if sorted(begins) != sorted(re.findall(r"\\end\{([^}]*)\}", source)):
        raise _refuse(latex, "an environment that begins or ends twice")
    source = re.sub(r"\\(begin|end)\{([^}]*)\}", environment, source).strip()
    if re.search(r"\\begin\{array\}\{[^}]*\|", source):
        raise _refuse(latex, "ruled columns")
    outside = re.sub(r"\\begin\{(\w+)\}.*?\\end\{\1\}", "", source, flags=re.S)
    if r"\\" in outside and display:
        source = rf"\begin{{split}}{source}\end{{split}}"
    # A name in roman is text to MathML; the parser would set one letter in italics.
    source = re.sub(
        r"\\operatorname\*?\{[^}]*\}", lambda m: m[0].replace(r"\,", "\N{THIN SPACE}"), source
    )
    source = re.sub(r"\\arg\s*\\(min|max)(?![A-Za-z])", r"\\arg\1", source)
    source = re.sub(r"\\mathrm\s*\{([A-Za-z0-9 .\-]+)\}", r"\\text{\1}", source)
    return re.sub(
        r"\\not\s*(=|\\in(?![A-Za-z]))", lambda m: r"\neq" if m[1] == "=" else r"\notin", source
    )


def _unescape(root: Element) -> None:
    """The parser writes character references into its tree, and leaves escapes within text."""
    for element in root.iter():
        element.text = html.unescape(element.text) if element.text else element.text
        if element.tag == "mtext" and element.text:
            element.text = re.sub(r"\\([_%#&{}])", r"\1", element.text)


def _check(root: Element, latex: str) -> None:
    for element in root.iter():
        if element.tag not in _TAGS:
            raise _refuse(latex, f"<{element.tag}> (not in MathML Core)")
        if len(element) != _ARITY.get(element.tag, len(element)):
            raise _refuse(latex, f"a missing argument of <{element.tag}>")
        if element.get("linebreak"):
            raise _refuse(latex, "a line break outside of an environment")
        text = element.text or ""
        if element.tag == "mtext" and "\\" in text:
            raise _refuse(latex, f"a command inside \\text{{{text}}}")
        if element.tag != "mtext" and (text.startswith("\\") and len(text) > 1):
            raise _refuse(latex, f"unknown command {text}")
        style = element.get("mathvariant", "")
        lost = [x for x in text if x.isalnum() and (style, x) not in _ALPHABETS]
        if lost and style in _TELLING:
            raise _refuse(latex, f"no {style} {lost[0]}")
        if element.tag != "mtext" and text == "&":
            raise _refuse(latex, "an & outside of an environment")


def _rewrite(element: Element) -> None:
    """Replace what MathML Core ignores: letter styles, column alignment, named operators."""
    align = element.attrib.pop("columnalign", None)
    if align:
        element.set("class", f"tex-{align}")
    if element.tag == "mtable":
        columns = {mtd.get("columnalign") for mtd in element.iter("mtd")}
        if element.get("displaystyle"):
            element.set("class", "tex-lines")
        elif columns == {"left"}:
            element.set("class", "tex-cases")
    style = element.attrib.pop("mathvariant", None)
    if style and element.text:
        letters = (_ALPHABETS.get((style, letter), letter) for letter in element.text)
        element.text = "".join(letters)
        if style == "normal" and element.tag == "mi":
            element.set("mathvariant", "normal")
    if element.tag == "mo" and re.search(r"[A-Za-z]", element.text or ""):
        _name(element)
    if element.tag == "mo" and element.text and element.text in _SYMBOLS:
        element.tag = "mi"
    if element.tag == "mi" and re.fullmatch("[⌊⌋⌈⌉]", element.text or ""):
        element.tag = "mo"
        element.set("stretchy", "false")
    if element.tag == "mi" and element.text == "~":
        element.tag, element.text = "mo", "\N{TILDE OPERATOR}"
    if element.tag == "mi" and re.fullmatch("[Α-Ω]", element.text or ""):
        element.set("mathvariant", "normal")  # TeX sets capital Greek upright
    if element.tag == "mpadded" and "voffset" in element.attrib:
        element.attrib.clear()
    if element.tag in _SCRIPTS and len(element) and _takes_limits(element[0]):
        element.tag = _SCRIPTS[element.tag]
    for name in [name for name in element.attrib if name not in _ATTRIBUTES]:
        del element.attrib[name]


def _name(element: Element) -> None:
    """Make an operator spelt in letters an identifier, unless it takes limits."""
    if element.get("movablelimits") or element.text in _LIMITS:
        element.set("movablelimits", "true")
        element.set("lspace", "0")
        element.set("rspace", "0")
    else:
        element.tag = "mi"
        element.attrib.clear()
        if len(element.text or "") == 1:
            element.set("mathvariant", "normal")


def _takes_limits(base: Element) -> bool:
    text = base.text or ""
    return base.tag == "mo" and (base.get("movablelimits") == "true" or text in _LIMITS | _BIG)


def _named(element: Element) -> bool:
    """Tell whether the element is a function name such as log, with or without scripts."""
    if len(element) and element.tag in {*_SCRIPTS, *_SCRIPTS.values()}:
        element = element[0]
    return element.tag in ("mi", "mo") and len(re.findall(r"[A-Za-z]", element.text or "")) > 1


def _space(parent: Element) -> None:
    """Set the spaces that TeX sets: around function names, signs and bars."""
    if parent.tag in {*_SCRIPTS, *_SCRIPTS.values(), "mfrac", "mroot", "mtable", "mtr"}:
        return
    spaced: list[Element] = []
    beside = zip((None, *parent), parent, (*parent[1:], None), strict=False)
    for before, child, after in beside:
        text = child.text or ""
        if child.tag == "mo" and text in ("|", "‖", "/", "…", "⋯"):
            child.set("lspace", "0")
            child.set("rspace", "0")
            if "stretchy" not in child.attrib and parent.find("mtable") is None:
                child.set("stretchy", "false")
        if child.tag == "mo" and text in ("+", "−", "±") and _expects_operand(before):
            child.set("form", "prefix")
        if _named(child) and before is not None and not _operator(before):
            spaced.append(Element("mspace", width="0.167em"))
        spaced.append(child)
        ends = after is None or _operator(after) or _opens(after) or _named(after)
        if _named(child) and not ends:
            spaced.append(Element("mspace", width="0.167em"))
    parent[:] = spaced


def _operator(element: Element) -> bool:
    return element.tag in ("mo", "mspace") and (element.text or "") not in _CLOSING


def _opens(element: Element) -> bool:
    """Tell whether an opening bracket follows, alone or as the first piece of a fenced row."""
    first = element[0] if element.tag == "mrow" and len(element) else element
    return first.tag == "mo" and (first.text or "") in _OPENING


def _expects_operand(before: Element | None) -> bool:
    """Tell whether a sign after this element is a sign of its operand rather than a sum."""
    if before is None:
        return False
    text = before.text or ""
    return before.tag == "mo" and text not in _CLOSING and text not in ("|", "‖", "′")
