"""What a reader keeps is read without a network, renewed by a new edition and gone when removed."""

import json
import os
import shutil
import time

import pytest

from course_lib.book.browser import serving
from course_lib.book.offline import write_app

pytestmark = pytest.mark.browser
INTRO = "book/intro.html"
STORES = "caches.keys()"
WORKERS = "navigator.serviceWorker.getRegistrations().then((all) => all.length)"
# How many pictures a page shows; far below 0 if one of them is not kept or not drawn.
PICTURES = """Promise.all([...document.images].map(async (picture) =>
    (await caches.match(picture.src)) && (!picture.complete || picture.naturalWidth) ? 1 : -1e6))
    .then((all) => all.reduce((sum, one) => sum + one, 0))"""
UPDATE = """navigator.serviceWorker.getRegistration().then((worker) => worker.update())
    .then(async ({ installing }) => {
        while (installing && installing.state === "installing")
            await new Promise((go) => setTimeout(go, 50));
        return installing?.state;
    })"""


@pytest.fixture
def site(built_book, tmp_path):
    folder = tmp_path / "html"
    shutil.copytree(built_book, folder)
    return folder


@pytest.fixture
def page(browser):
    with browser.new_context() as context:
        page = context.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        # Firefox logs requests of a page that is left; Chromium, which doesn't, shows our faults.
        left = ("NetworkError when attempting", "A ServiceWorker intercepted")
        assert not [error for error in errors if not any(text in error for text in left)]


def press(page, button):
    panel = page.locator("details.offline")
    if not panel.get_attribute("open"):
        panel.evaluate("(panel) => { panel.open = true; }")
    panel.get_by_role("button", name=button).click()
    ended = panel.get_by_text("read this without").or_(panel.get_by_text("Interrupted"))
    ended = ended.or_(panel.get_by_text("Nothing is kept"))
    ended.wait_for()
    said = panel.locator("[role=status]").inner_text()
    return said


def wait(holds):
    for _ in range(300):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("waited in vain")


def test_a_chapter_that_is_kept_is_read_without_a_network(page, site):
    with serving(site) as address:
        page.goto(f"{address}book/chapters/03_attention.html")
        assert page.evaluate(STORES) == [] and page.evaluate(WORKERS) == 0, "unasked"
        assert press(page, "Keep this chapter").startswith("Kept: ")
        assert page.evaluate(WORKERS) == 1
    for name in ("03_attention", "03_scale"):
        page.goto(f"{address}book/chapters/{name}.html")
        assert page.locator("h1").first.inner_text().startswith("3")
        assert page.evaluate("getComputedStyle(document.body).fontFamily !== ''")
        assert page.evaluate(PICTURES) > 2
    page.goto(f"{address}search.html?q=softmax")
    page.wait_for_selector("#search-results li")
    page.wait_for_load_state("networkidle")  # it asks for the pages that it lists
    page.goto(f"{address}{INTRO}")
    assert page.locator("h1").first.inner_text() == "This page is not kept offline"
    page.get_by_role("link", name="3 ").first.click()
    panel = page.locator("details.offline")
    panel.locator("summary").click()
    page.get_by_role("button", name="Remove what is kept").click()
    panel.get_by_text("Nothing is kept any more.").wait_for()
    assert page.evaluate(STORES) == [] and page.evaluate(WORKERS) == 0


def test_what_was_interrupted_goes_on(page, site):
    lost = site / "_static" / "question.js"
    text = lost.read_text()
    with serving(site) as address:
        page.goto(address + INTRO)
        lost.unlink()
        said = press(page, "Keep this page")
        assert said.startswith("Interrupted: ") and "Press again" in said
        lost.write_text(text)
        page.locator("details.offline [role=status]").evaluate("(p) => { p.textContent = ''; }")
        assert press(page, "Keep this page").startswith("Kept: ")


def test_a_new_edition_replaces_what_is_kept(page, site):
    with serving(site) as address:
        page.goto(address + INTRO)
        press(page, "Keep this page")
        before = page.evaluate(STORES)
        intro, new = site / INTRO, site / "_images" / "new.svg"
        new.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
        shown = f'<img src="{os.path.relpath(new, intro.parent)}" alt=""></h1>'
        intro.write_text(intro.read_text().replace("</h1>", f", second edition{shown}", 1))
        write_app(site)
        page.reload()
        wait(lambda: page.evaluate(STORES) not in (before, []) and len(page.evaluate(STORES)) == 1)
    page.goto(address + INTRO)
    assert "second edition" in page.locator("h1").first.inner_text()
    assert page.evaluate(PICTURES) > 0


def test_a_new_edition_that_does_not_come_whole_leaves_the_old_one(page, site):
    with serving(site) as address:
        page.goto(address + INTRO)
        press(page, "Keep this page")
        [before] = page.evaluate(STORES)
        worker = site / "sw.js"
        worker.write_text(worker.read_text().replace(before.split()[-1], "0" * 12))
        (site / "_static" / "question.js").unlink()
        assert page.evaluate(UPDATE) in (None, "redundant")
    assert before in page.evaluate(STORES)
    assert page.goto(address + INTRO).ok


def test_the_last_wish_counts(page, site):
    with serving(site) as address:
        page.goto(address + INTRO)
        page.locator("details.offline summary").click()
        page.get_by_role("button", name="Keep the whole book").click()
        page.locator("details.offline").get_by_text("files,").wait_for()
        assert press(page, "Remove what is kept").startswith("Nothing is kept")
        assert page.evaluate(STORES) == [] and page.evaluate(WORKERS) == 0


@pytest.mark.slow
def test_the_whole_book_is_kept(page, site):
    with serving(site) as address:
        page.goto(address + INTRO)
        assert press(page, "Keep the whole book").startswith("Kept: ")
    names = [n for n in json.loads((site / "offline.json").read_text())["pages"] if "live" not in n]
    for name in names[:: len(names) // 8]:
        assert page.goto(address + name).ok and page.locator("h1").first.inner_text()
    page.goto(f"{address}book/chapters/09_translator.html")
    page.get_by_role("button", name="Load the trained model").click()
    page.locator("figure[data-state]").first.wait_for()


def test_a_page_on_a_disk_offers_nothing_and_says_nothing(page, built_book):
    said = []
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    page.goto((built_book / INTRO).as_uri())
    assert page.locator("details.offline").count() == 0 and said == []


def test_every_file_that_is_listed_is_there_and_the_models_with_their_pages(site):
    told = json.loads((site / "offline.json").read_text())
    assert all((site / n).stat().st_size == size for n, size in told["files"].items())
    loading = [n for n, needed in told["pages"].items() if "_static/live/runtime.js" in needed]
    assert any(n.startswith("book/chapters/12_vit") for n in loading) and len(loading) < 8
    manifest = json.loads((site / "manifest.webmanifest").read_text())
    assert (site / manifest["icons"][0]["src"]).exists()
