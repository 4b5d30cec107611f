"""A trained model in a page: torch's numbers, one way to load it, nothing asked of others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from course_lib.book.live import apart, compare, draw_inputs, live
from course_lib.figures import figure
from course_lib.figures.live_translator import live_translator, model_files, translate, write_models

pytestmark = pytest.mark.browser


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page below a folder, as in the book, and the files of its model."""
    monkeypatch.setenv("COURSE_BOOK", "1")
    write_models(tmp_path / "_static" / "live")
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "page.html").write_text(
        '<!doctype html><html lang="en" data-content_root="../"><meta charset="utf-8">'
        '<link rel="icon" href="data:,"><title>t</title>'
        f"<main>{figure('live-translator')._repr_html_()}</main>",
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def page(chromium: Any, serve: Callable[[Path], str], site: Path) -> Iterator[Any]:
    """The page with its model."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(serve(site) + "chapters/page.html")
    page.get_by_role("button", name="Load the trained model").click()
    page.wait_for_function("document.querySelector('figure').dataset.state")
    yield page
    context.close()


def state(page: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        page.evaluate("document.querySelector('figure').dataset.state")
    )
    return found


def check(page: Any) -> dict[str, Any]:
    """Compute again in torch what the figure shows; its inputs and outputs."""
    now = state(page)
    assert apart(live_translator(**now["inputs"]), now["outputs"]) < 1e-9, now["inputs"]
    return now


def test_fifty_random_inputs_give_what_torch_gives(page: Any) -> None:
    inputs = draw_inputs(50)
    for name, several in (("masked", 2), ("shown", 3), ("temperature", 3), ("beam", 3)):
        assert len({given[name] for given in inputs}) == several
    assert sum(bool(given["off"]) for given in inputs) > 25
    # Doubles have 16 digits; what is asked of the other figures leaves six of them.
    assert max(compare(page, inputs)) < 1e-9


def test_a_sentence_is_written_and_parts_are_taken_away(page: Any) -> None:
    press = page.get_by_role("button", name="Next word", exact=True)
    source = check(page)["inputs"]["source"]
    assert state(page)["inputs"]["written"] == []
    kept = [state(page)["outputs"]["kept"]]
    for _ in range(3):
        press.click()
        kept.append(check(page)["outputs"]["kept"])
    assert len({b - a for a, b in zip(kept, kept[1:], strict=False)}) == 1  # a word, a row
    page.get_by_role("button", name="To the end").click()
    written = check(page)["inputs"]["written"]
    assert [*written, "(end)"] == [word for word, _ in translate(source, 20)["likely"]]
    assert press.get_attribute("aria-disabled") == "true"
    page.get_by_label("causal mask").uncheck()
    assert check(page)["outputs"]["kept"] == kept[0] - (kept[1] - kept[0])  # the memory alone
    page.get_by_label("causal mask").check()
    for kind in ("encoder", "decoder", "cross"):
        page.get_by_label("maps of").select_option(kind)
        for name in ("layer 1, head 2 is on", "layer 2, head 4 is on"):
            page.get_by_role("checkbox", name=name).uncheck()
            check(page)
    assert len(state(page)["inputs"]["off"]) == 6
    seen = set()
    for order in ("back", "mixed", "none", "trained"):
        page.get_by_label("positions").select_option(order)
        seen.add(json.dumps(check(page)["inputs"]["places"]))
    assert len(seen) >= 3
    page.get_by_label("temperature").fill("8")
    page.get_by_role("button", name="Back").click()
    before = check(page)["inputs"]["written"]
    page.locator(".live-next button").nth(1).focus()
    page.keyboard.press("Enter")
    after = check(page)["inputs"]["written"]
    assert after[:-1] == before and page.locator(".live-forced").count() == 1


def test_beginnings_are_followed_at_once(page: Any) -> None:
    page.get_by_label("beam").fill("3")
    for words in range(3):
        beams = check(page)["outputs"]["beams"]
        assert page.locator(".live-ways tr").count() == (3 if words else 0)
        assert beams["scores"] == sorted(beams["scores"], reverse=True)
        page.get_by_role("button", name="Next word").click()
    page.get_by_role("button", name="To the end").click()
    now = check(page)
    assert now["outputs"]["beams"]["words"][0] == [*now["inputs"]["written"], "<eos>"]
    page.get_by_label("beam").fill("1")
    assert not page.locator(".live-ways").is_visible()


def test_a_word_is_drawn_as_often_as_its_probability_says(page: Any) -> None:
    page.get_by_label("temperature").fill("8")
    probabilities = check(page)["outputs"]["probabilities"]
    page.evaluate("Math.random = () => 0.5")
    page.get_by_role("button", name="Draw a word").click()
    (word,) = check(page)["inputs"]["written"]
    before, total = 0.0, 0.0
    for name, share in zip(page.evaluate(
        "courseRuntime.translator(courseFiles.translator).target"), probabilities, strict=True
    ):  # fmt: skip
        before, total = total, total + share
        if name == word:
            break
    assert before <= 0.5 <= total


def test_own_words_are_read_and_unknown_ones_named(page: Any) -> None:
    page.get_by_label("your own").fill("Ein <b>Einhorn</b> schläft.")
    assert check(page)["inputs"]["source"] == ["ein", "<b>einhorn</b>", "schläft", "."]
    page.wait_for_timeout(200)
    assert page.locator("[aria-live]").inner_text().startswith("Unknown: <b>einhorn</b>.")
    page.get_by_label("your own").fill("   ")
    assert len(check(page)["inputs"]["source"]) == 4


def test_a_page_from_a_disk_asks_its_own_files_once_and_late(chromium: Any, site: Path) -> None:
    window = chromium.new_page()
    asked: list[str] = []
    window.on("request", lambda request: asked.append(request.url))
    window.goto(f"file://{site}/chapters/page.html")
    files = [site / "_static" / "live" / name for name in model_files()]
    size = sum(path.stat().st_size for path in files)
    assert size < 1_000_000 and len(asked) <= 2
    assert window.locator("table").count() == 1  # a whole translation, before anything is loaded
    button = window.locator(".figure-load button")
    assert button.inner_text() == f"Load the trained model ({round(size / 1000)} KB)"
    files[1].rename(site / "away.js")
    button.click()
    window.get_by_text("The model could not be loaded. Try again.").wait_for()
    (site / "away.js").rename(files[1])
    button.click()
    window.wait_for_function("document.querySelector('figure').dataset.state")
    check(window)
    assert {url for url in asked if not url.startswith("data:")} == {
        f"file://{path}" for path in (site / "chapters" / "page.html", *files)
    }
    window.close()


def test_a_figure_is_measured_where_it_stands(site: Path, chromium: Any) -> None:
    (site / "other.html").write_text("<title>t</title>")
    found = live(site, chromium)["live-translator"]
    assert found["page"] == "chapters/page.html"
    assert found["bytes"] == sum(len(text.encode()) for text in model_files().values())
    assert 0 <= found["largest_difference"] < 1e-9 and found["steps"] > 0 < found["seconds"]
    (site / "chapters" / "page.html").unlink()
    assert live(site, chromium) == {}
