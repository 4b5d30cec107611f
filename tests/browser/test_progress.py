"""What a reader did stays in the browser, comes back, moves in files and goes when it is erased."""

import json

import pytest

from grader.checks.exercise import identifiers

pytestmark = pytest.mark.browser
INTRO, PROGRESS = "book/intro.html", "book/progress.html"
NAME = "printed-row-of-weights"


@pytest.fixture
def visit(browser, built_book, serve):
    """Opens pages of the book, one after another in one tab; any error of theirs fails the test."""
    address = serve(built_book)
    with browser.new_context() as context:
        page = context.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.clock.install(time="2026-11-24T10:00:00")

        def open_(name):
            page.goto(address + name)
            return page

        yield open_
        assert not errors


def answer(page, right):
    form = page.locator(f"#question-{NAME}")
    form.locator(f'[data-right="{str(right).lower()}"] input').first.check()
    form.locator("button").click()
    return form.locator(".question-record").inner_text()


def told(page, name):
    return page.locator(f'[data-name="{name}"] .progress-state').inner_text().strip()


def chapter_question(page):
    link = page.locator('[data-kind="question"] a').first
    return link.get_attribute("href"), link.locator("..").get_attribute("data-name")


def test_a_question_returns_after_days_sooner_if_it_went_wrong(visit):
    page = visit(INTRO)
    assert page.locator(f"#question-{NAME} .question-record").is_hidden()
    assert answer(page, False) == "Answered wrong today; it comes back on 25 November."
    assert answer(page, True) == "Answered right today; it comes back on 25 November."
    for day, next_ in (("25", "28 November"), ("28", "5 December")):
        page.clock.set_fixed_time(f"2026-11-{day}T10:00:00")
        page = visit(INTRO)
        assert "time to answer it again" in page.locator(".question-record").first.inner_text()
        assert answer(page, True) == f"Answered right today; it comes back on {next_}."
        assert answer(page, True).endswith(f"{next_}."), "twice on one day is once"


def test_the_page_of_outcomes_knows_what_was_answered(visit):
    page = visit(PROGRESS)
    href, name = chapter_question(page)
    assert href.endswith(f"#question-{name}") and told(page, name) == ""
    known = page.locator("#progress").inner_text()
    assert "Known: 0 of " in known and f"Solved: 0 of {len(identifiers())} " in known
    page.locator(f'[data-name="{name}"] a').click()
    form = page.locator(f"#question-{name}")
    form.wait_for()
    form.locator('[data-right="true"] input').check()
    form.locator("button").click()
    page = visit(PROGRESS)
    assert told(page, name) == "\u2713" and "Known: 1 of " in page.locator("#progress").inner_text()
    where = page.get_by_text("Where you were:").locator("a")
    assert "book/chapters/" in where.get_attribute("href")
    assert where.inner_text().startswith("0")
    page.get_by_label("only what is open").check()
    assert page.locator(f'[data-name="{name}"]').is_hidden()
    page.clock.set_fixed_time("2026-12-24T10:00:00")
    page = visit(PROGRESS)
    assert told(page, name) == "again" and page.get_by_text("To answer again today:").is_visible()


def test_a_notebook_s_file_is_added_and_everything_is_saved_and_erased(visit, tmp_path):
    page = visit(INTRO)
    answer(page, True)
    page = visit(PROGRESS)
    entry = {"points": 6, "of": 6, "on": "2026-11-20"}
    file = tmp_path / "course-progress.json"
    begun = {"points": 1.5, "of": 6, "on": "2026-11-20"}
    listed = page.locator('[data-kind="exercise"]')
    names = listed.evaluate_all("(all) => all.map((one) => one.dataset.name)")
    exercises = dict(zip(names, (entry, begun), strict=False))
    file.write_text(json.dumps({"version": 1, "exercises": exercises}))
    page.locator("input[type=file]").set_input_files(file)
    status = page.locator("#progress [role=status]")
    page.wait_for_function("document.querySelector('#progress [role=status]').textContent")
    assert status.inner_text() == "Added what course-progress.json tells."
    assert told(page, names[0]) == "\u2713" and told(page, names[1]) == "1.5 of 6 points"
    for text in ("", "[]", '{"version": 2}', '{"version": 1, "exercises": {"a": {"points": 1}}}'):
        file.write_text(text)
        page.locator("input[type=file]").set_input_files(file)
        page.wait_for_function(
            "document.querySelector('#progress [role=status]').textContent.includes('Nothing')"
        )
        page.evaluate("document.querySelector('#progress [role=status]').textContent = ''")
        assert told(page, names[0]) == "\u2713"
    # Not every driver hears of a download; what would be saved is the same.
    page.evaluate("URL.createObjectURL = (blob) => { window.saved = blob; return '#'; }")
    page.get_by_role("button", name="Save as a file").click()
    saved = json.loads(page.evaluate("window.saved.text()"))
    assert saved["exercises"] == exercises and saved["questions"][NAME]["right"]
    page.get_by_role("button", name="Erase").click()
    assert told(page, names[0]) == "\u2713", "one press erases nothing"
    page.get_by_role("button", name="Erase all").click()
    assert told(page, names[0]) == ""
    assert page.evaluate("localStorage.getItem('course-progress')") is None
    file.write_text(json.dumps(saved))
    page.locator("input[type=file]").set_input_files(file)
    page.wait_for_function("document.querySelector('.is-done')")
    page = visit(INTRO)
    assert page.locator(".question-record").first.inner_text().startswith("Answered right today")


def test_without_storage_questions_work_and_the_page_says_so(visit):
    page = visit(INTRO)
    page.context.add_init_script(
        "for (const way of ['getItem', 'setItem', 'removeItem']) {"
        "  const old = Storage.prototype[way];"
        "  Storage.prototype[way] = function (key, ...rest) {"
        "    if (key === 'course-progress') throw new Error('no storage');"
        "    return old.call(this, key, ...rest);"
        "  };"
        "}"
    )
    page = visit(INTRO)
    assert answer(page, True).startswith("Answered right today")
    page = visit(PROGRESS)
    assert "Known: 0 of " in page.locator("#progress").inner_text()
    page.get_by_role("button", name="Erase").click()
    page.get_by_role("button", name="Erase all").click()
    assert page.locator("#progress [role=status]").inner_text()


def test_a_storage_that_holds_something_else_is_no_trouble(visit):
    page = visit(PROGRESS)
    entry = '{"version": 1, "questions": {"%s": {"on": "%s", "box": 1, "right": true}}}'
    name = page.locator(".progress-entry[data-kind=question]").first.get_attribute("data-name")
    for text in ("{", "[]", entry % (name, "never"), entry % (name, "2026-13-45")):
        page.evaluate("(t) => localStorage.setItem('course-progress', t)", text)
        page = visit(PROGRESS)
        assert "Known: 0 of " in page.locator("#progress").inner_text()
