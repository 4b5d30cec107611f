"""Choose, then look: a question whose every wrong option explains a misconception."""

from collections import Counter
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from course_lib.book.questions import fault_of, options_shown


class question(nodes.General, nodes.Element):
    """The whole question."""


class question_stem(nodes.General, nodes.Element):
    """Question."""


class question_option(nodes.General, nodes.Element):
    """One possible answer."""


class question_why(nodes.General, nodes.Element):
    """Why an answer is right or wrong; seen once the reader has chosen."""


class Question(SphinxDirective):
    """A question with three or four options, written as YAML; markup is allowed in all texts."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Check the YAML and build the nodes."""
        name = self.arguments[0]
        try:
            data = yaml.safe_load("\n".join(self.content))
        except yaml.YAMLError as error:
            raise self.error(f"question {name}: {error}") from error
        if fault := fault_of(name, data):
            raise self.error(f"question {name}: {fault}")
        block = question(name=name, classes=["question"])
        block += question_stem("", *self.phrase(data["stem"]), name=name)
        before = self.env.temp_data.setdefault("course_questions", Counter())
        for number, option in options_shown(data, self.env.docname, before):
            right = bool(option.get("right"))
            item = question_option(
                "",
                *self.label(str(option["text"])),
                name=name,
                number=number,
                right=right,
                misconception=option.get("misconception", ""),
            )
            item += question_why("", *self.parse_text_to_nodes(option["why"]), right=right)
            block += item
        return [block]

    def phrase(self, text: str) -> list[nodes.Node]:
        """Parse one paragraph and return what stands in it: labels may hold no blocks."""
        parsed = self.parse_text_to_nodes(text)
        if len(parsed) != 1 or not isinstance(parsed[0], nodes.paragraph):
            raise self.error(f"question {self.arguments[0]}: wanted one paragraph, got {text!r}")
        return list(parsed[0].children)

    def label(self, text: str) -> list[nodes.Node]:
        """The same, with a word that names it where there is nothing but a formula."""
        content = self.phrase(text)
        if all(isinstance(node, nodes.math) or not node.astext().strip(" .") for node in content):
            content.insert(0, nodes.inline("", "formula ", classes=["for-readers-aloud"]))
        return content


def visit_question(self: HTML5Translator, node: question) -> None:
    """Open the form; without script the reasons are simply readable."""
    self.body.append(f'<form class="question" id="question-{node["name"]}"><fieldset>')


def depart_question(self: HTML5Translator, node: question) -> None:
    """Close it with the button and the place where the answer is read out."""
    self.body.append(
        '<button type="submit" hidden>Check my prediction</button>'
        '<div class="question-answer" role="status" aria-live="polite"></div>'
        '<p class="question-record" hidden></p></fieldset></form>\n'
    )


def visit_stem(self: HTML5Translator, node: question_stem) -> None:
    """Name the group of options by the question itself."""
    self.body.append('<legend><span class="question-kicker">Choose, then look</span>')


def depart_stem(self: HTML5Translator, node: question_stem) -> None:
    """Close the legend."""
    self.body.append("</legend>")


def visit_option(self: HTML5Translator, node: question_option) -> None:
    """Write a radio button and its label."""
    where = f"question-{node['name']}-{node['number']}"
    data = f'data-right="{str(node["right"]).lower()}" data-misconception="{node["misconception"]}"'
    self.body.append(
        f'<div class="question-option" {data}><input type="radio" name="{node["name"]}"'
        f' id="{where}" value="{node["number"]}"><label for="{where}">'
    )


def depart_option(self: HTML5Translator, node: question_option) -> None:
    """Close the option."""
    self.body.append("</div>")


def visit_why(self: HTML5Translator, node: question_why) -> None:
    """Close the label and open the reason."""
    verdict = "Right." if node["right"] else "Not quite."
    self.body.append(f'</label><div class="question-why"><strong>{verdict}</strong> ')


def depart_why(self: HTML5Translator, node: question_why) -> None:
    """Close the reason."""
    self.body.append("</div>")


def passthrough(self: Any, node: nodes.Element) -> None:
    """Other builders print stem, options and reasons one after the other."""


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directive and its nodes."""
    plain = (passthrough, passthrough)
    others = {"latex": plain, "text": plain, "man": plain, "texinfo": plain}
    app.add_node(question, html=(visit_question, depart_question), **others)
    app.add_node(question_stem, html=(visit_stem, depart_stem), **others)
    app.add_node(question_option, html=(visit_option, depart_option), **others)
    app.add_node(question_why, html=(visit_why, depart_why), **others)
    app.add_directive("question", Question)
    for script in ("progress.js", "question.js"):
        app.add_js_file(script, loading_method="defer")
    # A new version has every page read again: with another order of options, for example.
    return {"env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
