"""A network that learns in the page: torch's losses, gradients and weights, and a calm page."""

import json

import pytest

from course_lib.figures.live_training import live_training, train
from course_tests.browser.live import apart

pytestmark = pytest.mark.browser


@pytest.fixture
def page(shown):
    return shown("live-training")


def check(page):
    now = json.loads(page.evaluate("document.querySelector('figure').dataset.state"))
    assert apart(live_training(**now["inputs"]), now["outputs"]) < 1e-9
    inputs = now["inputs"]
    return inputs


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def run_to_the_end(page, name="Train"):
    press(page, name)
    page.get_by_role("button", name="Train again").wait_for(timeout=0)


def test_a_seed_gives_the_run_that_torch_has(page):
    for _ in range(5):
        press(page, "One step")
    weights = check(page)["weights"]
    assert apart(train("pre", 1, steps=5).weights, weights) < 1e-9
    press(page, "Start again")
    assert check(page)["weights"] == pytest.approx(train("pre", 1, steps=0).weights, abs=1e-15)
    page.get_by_label("warm-up").check()
    page.get_by_label("seed").fill("4")
    page.get_by_label("learning rate").fill("3")
    page.get_by_label("blocks").fill("1")
    page.get_by_label("each sub-layer").select_option("post")
    for _ in range(3):
        press(page, "One step")
    expected = train("post", 2, 0.1, True, 4, steps=3)
    now = check(page)
    assert (now["arrangement"], now["blocks"]) == ("post", 2)
    assert apart(expected.weights, now["weights"]) < 1e-9


def test_it_learns_while_the_page_is_alive_and_runs_are_compared(page):
    told = page.locator("[aria-live]")
    page.evaluate(
        """() => { window.said = 0;
        new MutationObserver(() => { window.said += 1; })
            .observe(document.querySelector("[aria-live]"), {childList: true}); }"""
    )
    press(page, "Train")
    page.wait_for_function("/^Step [1-9]/.test(document.querySelector('.live-kept').textContent)")
    press(page, "Pause")
    halfway = check(page)["weights"]
    page.wait_for_timeout(200)
    assert check(page)["weights"] == halfway and page.evaluate("said") <= 2
    run_to_the_end(page, "Go on")
    page.wait_for_function(
        "document.querySelector('[aria-live]').textContent.includes('After 300 steps')", timeout=0
    )
    assert page.evaluate("said") <= 3
    run = train("pre", 1)
    assert f"{run.accuracy:.0%} of the fresh digits are right" in told.inner_text()
    assert page.locator(".train-example .is-wrong").count() == 0
    page.get_by_label("each sub-layer").select_option("neither")
    page.get_by_label("blocks").fill("1")
    assert page.locator(".train-runs tbody tr").count() == 2  # a run of no step is not kept
    assert page.locator("path.curve.faint").count() == 1
    for number in range(2, 8):
        press(page, "One step")
        press(page, "Start again")
        assert page.locator(".train-runs tbody th").first.inner_text() == f"{number + 1}, now"
    assert page.locator("path.curve.faint").count() == 4
    assert page.locator(".train-map:visible").count() == 2


def test_a_loss_without_bounds_is_drawn_at_the_edge(page):
    page.get_by_label("each sub-layer").select_option("residual")
    page.get_by_label("blocks").fill("2")
    page.get_by_label("learning rate").fill("4")
    run_to_the_end(page)
    assert max(train("residual", 4, 0.3).losses) > 100
    path = page.locator("path.curve").get_attribute("d")
    assert "NaN" not in path and path.count("L") == 299


# The other browser is not told by playwright what its reader prefers.
@pytest.mark.parametrize("browser", ["chromium"], indirect=True)
def test_where_nothing_should_move_there_are_few_pictures(page):
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(
        """() => { window.drawn = 0;
        new MutationObserver(() => { window.drawn += 1; })
            .observe(document.querySelector(".live-kept"), {childList: true}); }"""
    )
    run_to_the_end(page)
    assert page.evaluate("drawn") <= 8
