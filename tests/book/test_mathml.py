"""Formulas as MathML: what MathML Core draws, and nothing that a stranger could smuggle in."""

import unicodedata
from xml.etree.ElementTree import fromstring

import pytest

from course_lib.book.mathml import UnsupportedMath, mathml

NS = "{http://www.w3.org/1998/Math/MathML}"

FORMULAS = [
    r"\operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{d_h}} + M\right) V",
    r"\begin{aligned} \operatorname{Var}(q^\top k) &= \sum_{i=1}^{d} \operatorname{Var}(q_i k_i)"
    r" \\ &= d_h \end{aligned}",
    r"M_{ij} = \begin{cases} 0 & \text{if } j \le i \\ -\infty & \text{otherwise} \end{cases}",
    r"\begin{bmatrix} 1 & 0 \\ 1 & 1 \end{bmatrix} \begin{pmatrix} a \\ b \end{pmatrix}",
    r"\log \sum_j \exp(x_j) = m + \log\sum_j e^{x_j - m}, \quad m = \max_j x_j",
    r"\frac{\partial p_i}{\partial x_j} = p_i(\mathbf{1}[i=j] - p_j)",
    r"e_{tj} = v^\top \tanh(W_s s_{t-1} + W_h h_j), \tilde{h}_t = \tanh(W_c[c_t; h_t])",
    r"\theta^* = \arg\min_{\theta} \mathcal{L}(\theta) + \lambda \lVert \theta \rVert_2^2",
    r"x \sim \mathcal{N}(0, 1), \quad f : \mathbb{R}^{T \times D} \to \mathbb{R}",
    r"\{x \in A \mid x > 0\} + \hat{y}",
    r"\underbrace{q^\top k}_{\text{score}} + \overline{x} + \left\lfloor \frac{n}{2} \right\rfloor",
]


def tree(latex, *, display=False):
    return fromstring(mathml(latex, display=display))


def tags(element):
    return [child.tag.removeprefix(NS) for child in element.iter()]


def text(element):
    return "".join(element.itertext())


@pytest.mark.parametrize("display", [False, True])
@pytest.mark.parametrize("latex", FORMULAS)
def test_formulas_of_the_course_come_out_without_remains_of_latex(latex, display):
    shown = tree(latex, display=display)
    assert shown.get("display") == ("block" if display else "inline")
    assert shown.get("alttext") == latex
    assert "\\" not in text(shown) and "&" not in text(shown)


@pytest.mark.parametrize(
    ("latex", "part"),
    [
        (r"\frac{a}{", "unbalanced braces"),
        (r"\frac{a}", "a missing argument"),
        (r"\left( x", "cannot read"),
        (r"\softmax x", r"unknown command \softmax"),
        (r"\begin{foo} x \end{foo}", "unknown environment foo"),
        (r"\begin{cases} x", "an environment that begins or ends twice"),
        (r"a & b", "an & outside of an environment"),
        (r"\newcommand{\x}{y} \x", "define no macros"),
        (r"\text{if $x$}", "a dollar sign inside"),
        (r"\text{a \bf word}", "a command inside"),
        (r"a \tag{1}", "number an equation with a label"),
        (r"\cancel{x}", "MathML Core has no strikes"),
        (r"\begin{array}{c|c} a & b \end{array}", "ruled columns"),
        (r"a \\ b", "a line break outside"),
        (r"\mathfrak{1}", "no fraktur 1"),
        (r"\mathcal{L\alpha}", "no script α"),
        (r"\~a", r"\~ (an accent of text)"),
        (r"\begin{bmatrix} a \\ \hline b \end{bmatrix}", "MathML Core has no rules"),
        (r"\sideset{_1}{^2}\sum", "write the indices at the sum"),
        ("  ", "nothing to show"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_formula(latex, part):
    with pytest.raises(UnsupportedMath) as caught:
        mathml(latex)
    assert part in str(caught.value)
    assert " ".join(latex.split()) in str(caught.value)


def test_escapes_inside_text_are_the_characters_themselves():
    assert text(tree(r"\text{learning\_rate}, \text{50\%\&\#1}")) == "learning_rate,50%&#1"


def test_markup_in_a_formula_stays_text():
    for latex in (r"\text{<script>alert(1)</script>}", r"x < y > z", r"\text{&lt;b&gt;}"):
        shown = mathml(latex)
        assert "<script" not in shown.split(">", 1)[1] and "<b>" not in shown
        assert set(tags(fromstring(shown))) <= {"math", "mrow", "mi", "mo", "mtext"}


def test_letter_styles_become_letters_because_core_ignores_mathvariant():
    assert text(tree(r"\mathbf{1}")) == "\N{MATHEMATICAL BOLD DIGIT ONE}"
    assert text(tree(r"\boldsymbol{\theta}")) == "\N{MATHEMATICAL BOLD ITALIC SMALL THETA}"
    assert "mtext" in tags(tree(r"\mathrm{d}"))


STYLES = "mathbb mathcal mathscr mathfrak mathit mathbf mathsf mathtt"
CAPITALS, SMALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    ("command", "letters"),
    [
        *((style, CAPITALS + SMALL) for style in STYLES.split()),
        *(("mathds", "1"), ("mathbbm", "1"), ("mathbf", "0123456789")),
    ],
)
def test_every_letter_of_a_style_is_drawn_in_it(command, letters):
    got = text(tree(rf"\{command}{{{letters}}}"))
    assert len(got) == len(letters) and not set(got) & set(letters)
    assert unicodedata.normalize("NFKC", got) == letters
    assert [text(tree(rf"\{command} {letter}")) for letter in letters] == list(got)


@pytest.mark.parametrize("row", [r"\\[1ex]", r"\\[-.5 em]", r"\\*", r"\\*[2pt]"])
@pytest.mark.parametrize("kind", ["aligned", "cases", "pmatrix"])
def test_space_behind_a_row_is_no_part_of_it(row, kind):
    plain, spaced = (tree(rf"\begin{{{kind}}} a {end} b \end{{{kind}}}") for end in (r"\\", row))
    assert text(plain) == text(spaced)
    assert len(plain.findall(".//{*}mtr")) == len(spaced.findall(".//{*}mtr")) == 2


def test_a_bracket_that_begins_a_row_stays():
    assert text(tree(r"\begin{aligned} a \\ [b, c] \end{aligned}")) == "a[b,c]"


def test_limits_go_above_and_below_only_where_the_operator_takes_them():
    assert "munderover" in tags(tree(r"\sum_{i=1}^{n} x_i", display=True))
    assert "munder" in tags(tree(r"\max_j x_j", display=True))
    assert "msub" in tags(tree(r"\log_k n", display=True))
    limits = next(e for e in tree(r"\max_j x").iter() if e.tag.endswith("mo"))
    assert limits.get("movablelimits") == "true"


def test_columns_keep_their_alignment_as_classes():
    cells = tree(r"\begin{aligned} a &= b \\ c &= d \end{aligned}").iter(f"{NS}mtd")
    assert [cell.get("class") for cell in cells] == ["tex-right", "tex-left"] * 2


def test_names_signs_and_bars_get_the_space_of_tex():
    assert "mspace" in tags(tree(r"p \log p"))
    assert "mspace" not in tags(tree(r"\log(p)"))
    minus = [e for e in tree(r"a - b = -c").iter(f"{NS}mo") if e.text == "\N{MINUS SIGN}"]
    assert [sign.get("form") for sign in minus] == [None, "prefix"]
    bars = list(tree(r"|x|").iter(f"{NS}mo"))
    assert all(bar.get("lspace") == "0" for bar in bars)
