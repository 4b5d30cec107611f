"""Training with an answer to the second capstone: short replies, and texts that say how long."""

import re
from pathlib import Path

from course_lib.bank.transformer import decoder_step
from course_lib.checks.answer_proxy import AnswerProxy
from course_lib.checks.exercise import namespace
from course_lib.checks.protocol import weight
from course_lib.checks.report import grade
from course_lib.grading.judging.channel import MAX_REPLIES

ROOT = Path(__file__).resolve().parents[2]
EXERCISE = decoder_step.exercise
RIGHT = EXERCISE.alternatives[0].source


def graded(source):
    """The report on an answer, and about how many bytes each of its replies takes."""
    weights = []
    proxy = AnswerProxy.local(namespace(EXERCISE, source))
    exchange = proxy.exchange

    def weighed(frame):
        reply = exchange(frame)
        weights.append(weight(reply))
        return reply

    proxy.exchange = weighed
    return grade(EXERCISE, proxy, "7"), weights


def test_replies_of_the_longest_training_fit_into_the_judge():
    """Where all weights are equal the loss stays high, so that no step is saved."""
    report, weights = graded(RIGHT.replace("(q, k, v", "(0 * q, k, v"))
    assert report.score < EXERCISE.points and len(weights) > 2 * decoder_step.STEPS
    assert sum(weights) < 2 / 3 * MAX_REPLIES


def test_a_right_answer_ends_its_training_early():
    report, weights = graded(RIGHT)
    assert report.score == EXERCISE.points and len(weights) < 2 * decoder_step.STEPS


def test_the_texts_say_how_long_the_training_is():
    for path in ("book/chapters/09_cache.md", "solutions/09_transformer/09_transformer.md"):
        told = re.findall(r"at most (\d+) steps", (ROOT / path).read_text(encoding="utf-8"))
        assert told == [str(decoder_step.STEPS)], path
