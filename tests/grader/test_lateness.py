"""Due dates, extensions and penalties: nbgrader's plugin is honoured, and a person's word more."""

import json
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from grader import lateness
from grader.records import gradebook
from grader.review.regrade import Regrade

NAME = "01_essay"
ZERO = 'c.LateSubmissionPlugin.penalty_method = "zero"\n'
DAILY = (
    'c.AssignLatePenalties.plugin_class = "grader.lateness.DailyPenalty"\n'
    "c.DailyPenalty.share = 0.25\n"
)
LATE = b"2026-03-02 12:00:00 UTC"


@pytest.fixture
def late(essay, checkout):
    """An essay worth 2 by hand, handed in a day and two hours after its due date."""

    class Late:
        course = essay.course
        grade, hand_in = staticmethod(essay.grade), staticmethod(essay.hand_in)

        def configure(self, rules):
            text = (checkout / "nbgrader_config.py").read_text()
            (essay.course / "nbgrader_config.py").write_text(text + rules)

        def change(self, do):
            with gradebook.open_gradebook(essay.course) as book:
                do(book)
                book.db.commit()

        @property
        def penalty(self):
            with gradebook.open_gradebook(essay.course) as book:
                return book.find_submission_notebook(NAME, NAME, "ada").late_submission_penalty

    def score(book):
        book.update_or_create_assignment(NAME, duedate="2026-03-01 10:00:00")
        grade = book.find_grade("essay-why", NAME, NAME, "ada")
        grade.manual_score, grade.needs_manual_grade = 2.0, False

    essay.hand_in("Because.", timestamp=LATE)
    essay.grade()
    desk = Late()
    desk.change(score)
    return desk


def test_without_a_plugin_lateness_costs_nothing(late):
    late.grade()
    assert late.penalty is None


def test_nbgraders_own_plugin_takes_the_whole_score(late):
    late.configure(ZERO)
    assert not late.grade().fresh, "graded before the due date was set, and still penalised"
    assert late.penalty == 2.0
    with gradebook.open_gradebook(late.course) as book:
        submission = book.find_submission(NAME, "ada")
        assert (submission.score, submission.late_submission_penalty) == (2.0, 2.0)


def test_days_cost_a_share_and_an_extension_takes_it_back(late):
    late.configure(DAILY)
    late.grade()
    assert late.penalty == 2.0 * 0.25 * 2
    late.change(lambda book: book.grant_extension(NAME, "ada", days=1))
    late.grade()
    assert late.penalty == 2.0 * 0.25
    late.change(lambda book: book.grant_extension(NAME, "ada", days=3))
    late.grade()
    assert late.penalty is None


def test_extra_credit_counts_and_is_left_alone(late):
    def give(book):
        book.find_grade("essay-why", NAME, NAME, "ada").extra_credit = 1.0

    late.configure(DAILY)
    late.change(give)
    late.grade()
    assert late.penalty == 3.0 * 0.25 * 2
    with gradebook.open_gradebook(late.course) as book:
        assert book.find_grade("essay-why", NAME, NAME, "ada").extra_credit == 1.0


@pytest.mark.parametrize("decided", [0.25, None])
def test_what_a_person_decides_stays_through_grading_again(late, decided, checkout, lasting):
    def decide(book):
        row = book.find_submission_notebook(NAME, NAME, "ada")
        row.late_submission_penalty = decided

    late.configure(DAILY)
    late.grade()
    late.change(decide)
    late.grade()
    assert late.penalty == decided
    late.hand_in("Because of it.", timestamp=b"2026-03-09 12:00:00 UTC")
    late.grade()
    assert late.penalty == decided
    again = Regrade(late.course, checkout, NAME, new_seed=True)
    verdicts = again.staged.grade(lasting)
    assert late.penalty == decided, "nothing is published yet"
    assert again.publish(verdicts) == [] and late.penalty == decided
    with gradebook.open_gradebook(late.course) as book:
        assert book.find_grade("essay-why", NAME, NAME, "ada").manual_score == 2.0


def test_a_plugin_that_is_taken_away_takes_its_penalties_along(late):
    late.configure(ZERO)
    late.grade()
    late.configure("")
    late.grade()
    assert late.penalty is None


def test_a_run_that_ended_between_gradebook_and_memory_is_no_persons_word(late):
    late.configure(ZERO)
    late.grade()
    path = late.course / "autograded" / "ada" / NAME / "verdict.json"
    path.write_text(path.read_text().replace('"penalty": 2.0', '"penalty": null'))
    late.grade()
    late.change(lambda book: book.grant_extension(NAME, "ada", days=9))
    late.grade()
    assert late.penalty is None


def test_what_another_version_keeps_of_a_verdict_is_kept_and_costs_nothing(late):
    late.configure(ZERO)
    late.grade()
    path = late.course / "autograded" / "ada" / NAME / "verdict.json"
    earlier = [{"attention.softmax_gradient": "some"}]
    newer = {"newer": [1], "earlier": earlier, "key": "", "answers": {"was": "another"}}
    path.write_text(json.dumps(json.loads(path.read_text()) | newer))
    late.grade()
    kept = json.loads(path.read_text())
    assert kept["newer"] == [1] and kept["earlier"][:1] == earlier and "unknown" not in kept
    assert kept["penalty"] == late.penalty == 2.0
    late.change(lambda book: book.grant_extension(NAME, "ada", days=9))
    late.grade()
    assert late.penalty is None


def test_regrading_penalises_by_the_new_score(late, checkout, lasting):
    late.configure(ZERO)
    again = Regrade(late.course, checkout, NAME, new_seed=True)
    verdicts = again.staged.grade(lasting)
    assert late.penalty is None
    again.publish(verdicts)
    assert late.penalty == 2.0


def test_an_extension_without_a_due_date_is_no_fault(late):
    late.configure(ZERO)
    late.change(lambda book: book.update_or_create_assignment(NAME, duedate=None))
    late.change(lambda book: book.grant_extension(NAME, "ada", days=1))
    late.grade()
    assert late.penalty is None


BROKEN = """
from nbgrader.plugins import LateSubmissionPlugin
class Mine(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return {}
c.AssignLatePenalties.plugin_class = Mine
"""


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ('c.AssignLatePenalties.plugin_class = "nowhere.Plugin"\n', "no plugin for late"),
        ('c.LateSubmissionPlugin.penalty_method = "half"\n', "no plugin for late"),
        (BROKEN.format("1 / 0"), "failed for ada.*ZeroDivisionError"),
        (BROKEN.format('float("nan")'), "wanted a number of points"),
    ],
)
def test_a_bad_plugin_is_named_and_scores_are_there(late, rules, says):
    late.configure(rules)
    late.hand_in("Because of that.", timestamp=LATE)
    with pytest.raises(ValueError, match=says):
        late.grade()
    late.configure("")
    assert not late.grade().fresh, "it was graded before the plugin was asked"


@pytest.mark.parametrize(("said", "taken"), [("-3", 0.0), ("99", 2.0), ("None", None)])
def test_penalties_stay_between_nothing_and_the_score(late, said, taken):
    late.configure(BROKEN.format(said))
    late.grade()
    assert late.penalty == taken


def test_what_stock_nbgrader_says_is_the_same(late):
    """The due date, the extension and the plugin are nbgrader's own; so is the outcome."""
    from nbformat.v4 import new_notebook
    from nbgrader.preprocessors import AssignLatePenalties

    from grader.authoring import nbgrader_config

    late.configure(DAILY)
    late.grade()
    ours = late.penalty
    names = {"notebook": NAME, "assignment": NAME, "student": "ada"}
    resources = {"nbgrader": {**names, "db_url": gradebook.url(late.course)}}
    AssignLatePenalties(config=nbgrader_config(late.course)).preprocess(new_notebook(), resources)
    assert ours == late.penalty == 1.0
    with gradebook.open_gradebook(late.course) as book:
        submission = book.find_submission(NAME, "ada")
        assert lateness.seconds_late(submission) == 26 * 60 * 60
        assert submission.duedate == datetime(2026, 3, 1, 10)


WHEN = [(25, 19, 30, 1), (25, 20, 30, 2), (26, 20, 30, 3), (26, 19, 30, 2), (24, 20, 10, 0)]


@pytest.mark.parametrize("day, hour, minute, days", WHEN)
def test_a_clock_that_is_put_back_costs_no_day(day, hour, minute, days):
    """Due on Saturday at 20:00; at night summer time ends, so that Sunday has 25 hours."""
    zone = ZoneInfo("Europe/Berlin")
    due = datetime(2026, 10, 24, 20, tzinfo=zone).timestamp()
    late = datetime(2026, 10, day, hour, minute, tzinfo=zone).timestamp() - due
    plugin = lateness.DailyPenalty(share=0.1)
    assert plugin.late_submission_penalty("ada", 10.0, late) == pytest.approx(days)
