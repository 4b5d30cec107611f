"""A class from release to feedback, as an instructor and two students see it in a browser.

Its pictures lie in ``_build/hub``.
"""

import contextlib
import json
from pathlib import Path

import pytest

TimeoutError = pytest.importorskip("playwright.sync_api").TimeoutError
pytestmark = [pytest.mark.hub, pytest.mark.slow, pytest.mark.browser]

STUDENTS = ["hubtest-ada", "hubtest-ben", "hubtest-cleo"]
NAME = "03_attention"
PICTURES = Path(__file__).resolve().parents[3] / "_build" / "hub"
ANSWER = """def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q{scale} @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ v, weights"""
RIGHT = ANSWER.format(scale=" / math.sqrt(q.shape[-1])")
UNSCALED = ANSWER.format(scale="")
BY_WIDTH = ANSWER.format(scale=" / q.shape[-1]")
# A student's code that looks for what lies around where it is graded, and prints what it found.
CURIOUS = """
import os, socket
found = [name for name in os.environ if "JUPYTERHUB" in name or "TOKEN" in name]
found += [path for path in {paths!r} if os.path.exists(path)]
try:
    socket.create_connection(("127.0.0.1", {port}), 2)
    found.append("the hub answers")
except OSError:
    pass
print("FOUND", found)
"""


class Desktop:
    def __init__(self, page, hub):
        self.page, self.hub = page, hub

    def picture(self, name):
        self.page.screenshot(path=PICTURES / f"{name}.png")

    def go(self, path):
        self.page.goto(f"{self.hub.place.url}{path}")
        self.page.locator("#jp-main-dock-panel").wait_for()

    def open_menu(self, then):
        """Open nbgrader's menu; what of the page arrives late may close it again."""
        for last in (False, False, False, True):
            self.page.get_by_role("menuitem", name="Nbgrader").click()
            try:
                return then(10_000)
            except TimeoutError:
                if last:
                    raise

    def menu(self, entry):
        item = self.page.locator(".lm-Menu .lm-Menu-item:visible").filter(has_text=entry)
        self.open_menu(lambda timeout: item.click(timeout=timeout))

    def entries(self):
        shown = self.page.locator(".lm-Menu .lm-Menu-itemLabel:visible")
        self.open_menu(lambda timeout: shown.first.wait_for(timeout=timeout))
        texts = [text for text in shown.all_inner_texts() if text]
        self.page.keyboard.press("Escape")
        shown.first.wait_for(state="hidden")
        return texts


class Student(Desktop):
    def rows(self, kind):
        return self.page.locator(f"#{kind}_assignments_list > .list_item")

    def open_notebook(self):
        self.go(f"/user/{self.name}/lab/tree/attention/{NAME}/{NAME}.ipynb?reset")
        self.cell().wait_for()
        self.page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for()

    def cell(self):
        cells = self.page.locator(".jp-CodeCell")
        return cells.filter(has_text="def scaled_dot_product_attention").first

    def answer(self, code, *, save=True):
        editor = self.cell().locator(".cm-content").first
        editor.scroll_into_view_if_needed()
        editor.click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(code)
        if save:
            self.page.keyboard.press("Control+s")
            self.page.locator(".jp-mod-dirty").wait_for(state="detached")

    def validate(self, picture):
        self.page.locator(".validate-button").first.click()
        said = self.page.locator(".jp-Dialog #validation-message")
        said.wait_for()
        text = said.inner_text()
        self.picture(f"{picture}-{self.name}")
        self.page.locator(".jp-Dialog button").last.click()
        self.page.locator(".jp-Dialog").wait_for(state="detached")
        return text


@pytest.fixture(scope="module")
def log_in(chromium, hub):
    """Log somebody in, each in a browser of their own that lasts as long as the block."""
    PICTURES.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def enter(name, where, kind=Desktop):
        context = chromium.new_context(viewport={"width": 1400, "height": 900})
        context.set_default_timeout(120_000)
        page = context.new_page()
        page.goto(f"{hub.place.url}/hub/login?next={where}")
        page.fill("#username_input", name)
        page.fill("#password_input", hub.passwords[name])
        page.click("#login_submit")
        desktop = kind(page, hub)
        desktop.name = name
        try:
            page.locator("#jp-main-dock-panel").wait_for()
            yield desktop
        except BaseException:
            with contextlib.suppress(Exception):
                desktop.picture("failed")
            raise
        finally:
            context.close()

    return enter


class Instructor(Desktop):
    def open_formgrader(self):
        self.menu("Formgrader")
        self.frame = self.page.frame_locator("iframe").first
        self.assignment = self.frame.locator("tr").filter(
            has=self.frame.get_by_text(NAME, exact=True)
        )
        self.assignment.wait_for()

    def press(self, row, column):
        """Press a button of a table; what the window that opens says, which is then closed."""
        row.locator(f"td.{column} a").click()
        window = self.frame.locator(".modal.in")
        window.wait_for()
        assert window.get_attribute("id") == "success-modal", window.inner_text()
        said = window.inner_text()
        window.get_by_role("button").last.click()
        window.wait_for(state="detached")
        self.frame.locator(".modal-backdrop").wait_for(state="detached")
        row.locator("td.name, td.student-id").first.wait_for()
        return said

    def submission(self, student):
        rows = self.frame.locator("tr")
        return rows.filter(has=self.frame.get_by_text(student, exact=True))


def test_a_class_from_release_to_feedback(hub, log_in):
    service = f"/services/{hub.place.course}/lab"
    assert hub.place.lecture.parent.stat().st_mode & 0o777 == 0o771
    with log_in("hubtest-ira", service, Instructor) as ira:
        ira.open_formgrader()
        ira.press(ira.assignment, "assign")
        ira.press(ira.assignment, "release")
        ira.assignment.locator("td.collect a").wait_for()
        ira.assignment.scroll_into_view_if_needed()
        ira.picture("released")

    paths = [str(hub.place.state), str(hub.place.checkout), "/etc/shadow", str(hub.place.library)]
    curious = CURIOUS.format(paths=paths, port=hub.place.port)
    for name, wrong, mistake, last in (
        ("hubtest-ada", UNSCALED, "unscaled", RIGHT),
        ("hubtest-ben", BY_WIDTH, "scaled by width", BY_WIDTH + curious),
    ):
        with log_in(name, "/hub/spawn", Student) as student:
            assert student.entries() == ["Assignment List"]
            student.menu("Assignment List")
            student.rows("released").first.wait_for()
            student.picture(f"list-{name}")
            student.rows("released").get_by_role("button", name="Fetch").click()
            student.rows("fetched").first.wait_for()

            student.open_notebook()
            student.answer(wrong)
            said = student.validate("mistake")
            assert f"This looks like a known mistake: {mistake}." in said
            student.answer(last)
            if last == RIGHT:
                said = student.validate("corrected")
                assert "attention.score_moments" in said, "others are not written yet"
                assert "attention.scaled_dot_product" not in said
            student.picture(f"answered-{name}")

            student.go(f"/user/{name}/lab?reset")
            student.menu("Assignment List")
            student.rows("fetched").get_by_role("button", name="Submit").first.click()
            student.rows("submitted").first.wait_for()
            student.picture(f"submitted-{name}")

    with log_in("hubtest-ira", f"{service}?reset", Instructor) as ira:
        ira.open_formgrader()
        ira.press(ira.assignment, "collect")
        ira.assignment.locator("td.num-submissions a").click()
        for student in ("hubtest-ada", "hubtest-ben"):
            row = ira.submission(student)
            row.wait_for()
            ira.press(row, "autograde")
            row.locator("td.score").filter(has_text="/").wait_for()
        ira.picture("graded")
        scores = [
            ira.submission(s).locator("td.score").inner_text()
            for s in ("hubtest-ada", "hubtest-ben")
        ]
        ada, ben = (float(score.split("/")[0]) for score in scores)
        assert ada == 6 and 0 < ben < 6, scores
        for student in ("hubtest-ada", "hubtest-ben"):
            ira.press(ira.submission(student), "generate-feedback")
            ira.press(ira.submission(student), "release-feedback")

    graded = hub.place.checkout / "autograded" / "hubtest-ben" / NAME / f"{NAME}.ipynb"
    outputs = [o for c in json.loads(graded.read_text())["cells"] for o in c.get("outputs", [])]
    said = ["".join(o["text"]) for o in outputs if "text" in o]
    assert [text.strip() for text in said if "FOUND" in text] == ["FOUND []"]

    with log_in("hubtest-ben", "/hub/spawn", Student) as ben:
        ben.menu("Assignment List")
        row = ben.rows("submitted").first
        row.get_by_role("button", name="Fetch Feedback").click()
        row.get_by_text("(view feedback)").wait_for()
        ben.picture("feedback-list")
        home = hub.place.home / "hubtest-ben"
        (page,) = home.glob(f"attention/{NAME}/feedback/*/{NAME}.html")
        ben.go(f"/user/hubtest-ben/lab/tree/{page.relative_to(home)}?reset")
        frame = ben.page.frame_locator("iframe").first
        mistake = frame.get_by_text("This looks like a known mistake: scaled by width.")
        mistake.first.wait_for()
        mistake.first.scroll_into_view_if_needed()
        ben.picture("feedback")


def test_the_same_in_notebook_7(hub, log_in):
    for command in ("generate_assignment", "release_assignment"):
        done = hub.as_grader("nbgrader", command, NAME, "--force")
        assert done.returncode == 0, done.stderr
    with log_in("hubtest-cleo", "/hub/spawn", Student) as cleo:
        cleo.page.goto(f"{hub.place.url}/user/hubtest-cleo/tree")
        assert cleo.entries() == ["Assignment List"]
        cleo.menu("Assignment List")
        cleo.rows("released").get_by_role("button", name="Fetch").first.click()
        cleo.rows("fetched").first.wait_for()
        cleo.picture("notebook7-list")

        path = f"attention/{NAME}/{NAME}.ipynb"
        cleo.page.goto(f"{hub.place.url}/user/hubtest-cleo/notebooks/{path}")
        cleo.page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for()
        # Validate saves first; Notebook 7 does not show when another saving has ended.
        cleo.answer(UNSCALED, save=False)
        said = cleo.validate("notebook7-mistake")
        assert "This looks like a known mistake: unscaled." in said
        cleo.answer(RIGHT, save=False)
        said = cleo.validate("notebook7-corrected")
        assert "attention.scaled_dot_product" not in said

        cleo.page.goto(f"{hub.place.url}/user/hubtest-cleo/tree")
        cleo.menu("Assignment List")
        cleo.rows("fetched").get_by_role("button", name="Submit").first.click()
        cleo.rows("submitted").first.wait_for()
        cleo.picture("notebook7-submitted")
    (sent,) = hub.place.exchange.glob(f"attention/inbound/hubtest-cleo+{NAME}+*/{NAME}.ipynb")
    assert "math.sqrt(q.shape[-1])" in sent.read_text()
