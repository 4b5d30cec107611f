"""The scripts of the figures compute what their Python functions compute."""

import json
from importlib import import_module
from itertools import product

import pytest

from course_lib.figures import NAMES
from course_lib.figures.depth_explorer import FORMULAS, Options
from course_lib.figures.patch_counter import PATCHES, WIDTHS
from course_lib.figures.patch_counter import Options as PatchOptions
from course_lib.figures.probsparse_ranking import MEASURES

pytestmark = pytest.mark.browser


def state(page):
    return json.loads(page.evaluate("document.querySelector('figure').dataset.state"))


def settle(page):
    page.wait_for_timeout(200)
    return page.locator("[aria-live]").inner_text()


def agree(mine, theirs):
    if isinstance(mine, dict):
        return mine.keys() == theirs.keys() and all(agree(mine[k], theirs[k]) for k in mine)
    if isinstance(mine, list):
        return len(mine) == len(theirs) and all(map(agree, mine, theirs))
    if isinstance(mine, float) or (isinstance(theirs, float) and not isinstance(mine, bool)):
        return mine == pytest.approx(theirs, abs=1e-9)
    return mine == theirs and isinstance(mine, bool) == isinstance(theirs, bool)


def check(name, page):
    now = state(page)
    module = name.replace("-", "_")
    compute = getattr(import_module(f"course_lib.figures.{module}"), module)
    expected = compute(**now["inputs"])
    assert agree(expected, now["outputs"]), (now, expected)
    return now


def drive(page, label, value):
    control = page.get_by_label(label, exact=False).first
    if isinstance(value, bool):
        control.set_checked(value)
    elif control.evaluate("(c) => c.tagName") == "SELECT":
        control.select_option(value)
    else:
        control.fill(f"{value:g}" if isinstance(value, float) else str(value))


# Controls with their values, and how many different things they show.
SETTINGS = {
    "softmax-temperature": (
        {"head width": (0, 2, 5), "divide by": (True, False), "temperature": (0.1, 1.0, 4.0)},
        8,
    ),
    "contrastive-matrix": (
        {"cooling": (0, 11, 20), "queries": ("images", "captions"), "is a hub": (True, False)},
        12,
    ),
    "paired-plans": ({"true difference": (0, 0.1), "spread": (0.01, 0.1), "pairs": (2, 20)}, 8),
    "deletion-test": ({"map of the class token": "0 5 17".split(), "grey patches": (0, 3, 16)}, 7),
    "attention-map-reader": ({"sentence": "0123", "layer": "02", "head": "13"}, 16),
    "depth-explorer": (
        {
            "each sub-layer": tuple(FORMULAS),
            "measured": ("gradient", "diversity"),
            "blocks": (0, 3),
        },
        15,
    ),
    "sinusoid-explorer": (
        {
            "position of the first": (0, 31),
            "channels": (2, 5),
            "base": (1, 4),
            "with cosines": (True, False),
        },
        9,
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_figure_agrees_over_its_controls(name, shown):
    controls, different = SETTINGS[name]
    page, seen = shown(name), set()
    for values in product(*controls.values()):
        for label, value in zip(controls, values, strict=True):
            drive(page, label, value)
        seen.add(json.dumps(check(name, page)["outputs"]))
    assert len(seen) >= different


def test_a_slider_is_moved_by_keys_and_what_it_shows_is_said(shown):
    page = shown("contrastive-matrix")
    before = settle(page)
    page.get_by_label("cooling").focus()
    page.keyboard.press("ArrowLeft")
    check("contrastive-matrix", page)
    assert settle(page) != before


def test_two_heads_and_one_agree_over_their_query(shown):
    page = shown("heads-apart")
    seen = {json.dumps(check("heads-apart", page)["outputs"])}
    for i in range(4):
        for number in (-4, 0, 4):
            drive(page, f"query {i + 1}", number)
            now = check("heads-apart", page)
            assert now["inputs"]["query"][i] == number
            seen.add(json.dumps(now["outputs"]))
    assert len(seen) == 13
    slider = page.get_by_role("slider", name="query 4")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert check("heads-apart", page)["inputs"]["query"] == [4, 4, 4, 3]
    assert settle(page).startswith("Two heads give Anna the weights 1.00 and 0.03; joined:")


def retype(field, text):
    """Write in the place of what a field holds; what fills fields at once adds to it in Firefox."""
    field.press("ControlOrMeta+a")
    field.press("Delete")
    field.press_sequentially(text)


def test_keys_and_values_of_two_heads_are_changed(shown):
    page = shown("heads-apart")
    before = check("heads-apart", page)
    page.get_by_text("All numbers").click()
    for channel, number in ((1, "1"), (2, "2")):
        retype(page.get_by_label(f"key of sings, channel {channel}"), number)
    now = check("heads-apart", page)
    assert now["outputs"]["two"]["weights"][0] == [0.5, 0.5]  # of two equal keys
    assert page.get_by_role("row", name="head 1 (").inner_text().split("\t")[3] == "(0.50, 0.50)"
    retype(page.get_by_label("value of Anna, channel 4"), "-2.5")
    assert check("heads-apart", page)["inputs"]["values"][0] == [1, 0, 0, -2.5]
    for nonsense in ("", "10"):
        page.get_by_label("value of Anna, channel 4").evaluate(
            "(field, text) => { field.value = text; field.dispatchEvent(new Event('input')); }",
            nonsense,
        )  # at once: typed, it passes through 1
        assert check("heads-apart", page)["inputs"]["values"][0][3] == -2.5
    page.get_by_role("button", name="Put back").click()
    assert check("heads-apart", page) == before
    assert page.get_by_label("value of Anna, channel 4").input_value() == "1"


def test_a_score_is_dragged_by_mouse_and_moved_by_keys(shown):
    page = shown("softmax-temperature")
    knob = page.get_by_role("slider", name="Score of key 2")
    before = check("softmax-temperature", page)
    said = settle(page)
    box = knob.locator("circle").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 40, steps=4)
    page.mouse.up()
    dragged = check("softmax-temperature", page)
    assert dragged["inputs"]["scores"][1] > before["inputs"]["scores"][1] + 0.5
    assert settle(page) != said
    knob.focus()
    page.keyboard.press("ArrowDown")
    moved = check("softmax-temperature", page)["inputs"]["scores"][1]
    assert moved == pytest.approx(dragged["inputs"]["scores"][1] - 0.1)
    assert knob.get_attribute("aria-valuenow") == str(moved)
    page.keyboard.press("End")
    assert check("softmax-temperature", page)["inputs"]["scores"][1] == 3
    page.mouse.move(5, 5)
    assert check("softmax-temperature", page)["inputs"]["scores"][1] == 3


def test_masks_agree_over_their_controls(shown):
    page = shown("mask-builder", length=5)
    for causal in (True, False):
        for left in (True, False):
            for real, radius in ((5, 5), (3, 5), (3, 1), (0, 2)):
                drive(page, "causal", causal)
                drive(page, "padding on the left", left)
                drive(page, "real tokens", real)
                drive(page, "window radius", radius)
                now = check("mask-builder", page)
                assert f"{now['outputs']['pairs']} of 25 pairs" in settle(page)


def test_the_cells_of_a_mask_are_walked_by_arrows(shown):
    page = shown("mask-builder", causal=True, convention="additive")
    page.get_by_role("gridcell", name="query 1, key 1").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == (
        "query 1, key 3: \N{MINUS SIGN}\N{INFINITY}, blocked"
    )
    assert page.locator("td[tabindex='0']").count() == 1
    drive(page, "written as", "blocked")
    assert page.get_by_role("gridcell", name="query 1, key 3").inner_text() == "True"
    drive(page, "written as", "lengths")
    assert "No length says this mask." in settle(page)
    drive(page, "causal", False)
    assert "Valid length: 6." in settle(page)


def test_an_alignment_is_read_by_mouse_and_by_keys(shown):
    page = shown("alignment-reader")
    assert check("alignment-reader", page)["inputs"]["row"] == 1
    page.get_by_role("row", name="book").hover()
    assert check("alignment-reader", page)["inputs"]["row"] == 3
    assert settle(page).startswith("\N{LEFT DOUBLE QUOTATION MARK}book")
    page.get_by_role("radio", name="book").focus()
    page.keyboard.press("ArrowDown")
    assert check("alignment-reader", page)["inputs"]["row"] == 4
    for sharpness in (0, 2.5, 10):
        drive(page, "sharpness", sharpness)
        found = check("alignment-reader", page)["outputs"]
        assert sum(found["weights"]) == pytest.approx(1)


def test_the_place_in_a_stack_is_dragged_and_moved_by_keys(shown):
    page = shown("depth-explorer", arrangement="post", depth=4)
    knob = page.get_by_role("slider", name="Place that is read")
    assert settle(page) == describe_depth(page)
    knob.focus()
    for key, layer in (("ArrowRight", 1), ("End", 4), ("ArrowLeft", 3), ("Home", 0)):
        page.keyboard.press(key)
        assert check("depth-explorer", page)["inputs"]["layer"] == layer
        assert knob.get_attribute("aria-valuenow") == str(layer)
        assert settle(page) == describe_depth(page)
    box = page.locator("svg").first.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    assert check("depth-explorer", page)["inputs"]["layer"] == 2


def describe_depth(page):
    inputs = state(page)["inputs"]
    return Options(**inputs).text


def test_a_distance_is_dragged_by_mouse_and_moved_by_keys(shown):
    page = shown("sinusoid-explorer", distance=10)
    point = page.get_by_role("slider", name="Distance of the second token")
    assert point.get_attribute("aria-orientation") == "horizontal"
    box = point.locator("circle").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=4)
    page.mouse.up()
    dragged = check("sinusoid-explorer", page)["inputs"]["distance"]
    assert 15 < dragged < 30
    point.focus()
    page.keyboard.press("ArrowRight")
    assert check("sinusoid-explorer", page)["inputs"]["distance"] == dragged + 1
    assert point.get_attribute("aria-valuenow") == str(dragged + 1)
    page.keyboard.press("Home")
    now = check("sinusoid-explorer", page)
    assert now["outputs"]["gap"] == 0 and "0.00 apart" in settle(page)


def test_a_key_follows_its_query_by_mouse_and_by_keys(shown):
    page = shown("rope-rotation")
    seen = {json.dumps(check("rope-rotation", page)["outputs"])}
    for power, query in ((1, 5), (2, 60), (4, 33)):
        drive(page, "base", power)
        drive(page, "position of the query", query)
        now = check("rope-rotation", page)
        assert now["inputs"]["base"] == 10**power and now["inputs"]["query"] == query
        seen.add(json.dumps(now["outputs"]))
    assert len(seen) == 4
    point = page.get_by_role("slider", name="Position of the key")
    point.focus()
    page.keyboard.press("ArrowLeft")
    before = check("rope-rotation", page)
    assert before["inputs"]["key"] == 16 and point.get_attribute("aria-valuenow") == "16"
    drive(page, "both move together", True)
    drive(page, "position of the query", 40)
    after = check("rope-rotation", page)
    assert after["inputs"]["key"] == 23 and point.get_attribute("aria-valuenow") == "23"
    assert after["outputs"]["score"] == pytest.approx(before["outputs"]["score"])


def test_a_decoder_is_stepped_by_buttons_keys_and_slider(shown):
    page = shown("kv-cache-stepper", step=1)
    check("kv-cache-stepper", page)
    back, forth = (page.get_by_role("button", name=name) for name in ("back", "next step"))
    assert back.is_disabled()
    forth.click()
    assert check("kv-cache-stepper", page)["inputs"]["step"] == 2
    forth.focus()
    page.keyboard.press("Enter")
    assert check("kv-cache-stepper", page)["inputs"]["step"] == 3
    assert page.locator("td.now").count() == 1 and page.locator("td.kept").count() == 5
    drive(page, "with a cache", False)
    assert check("kv-cache-stepper", page)["outputs"]["queries"] == 3
    assert page.locator("td.now").count() == 6 and page.locator("th.asks").count() == 3
    slider = page.get_by_role("slider", name="step")
    slider.focus()
    page.keyboard.press("End")
    assert check("kv-cache-stepper", page)["inputs"]["step"] == 6
    assert forth.is_disabled() and slider.get_attribute("aria-valuetext") == "6 of 6"
    assert settle(page).startswith("Step 6 without a cache")


def test_codes_of_places_agree_and_are_walked_by_arrows(shown):
    page = shown("collision-map")
    assert check("collision-map", page)["outputs"]["same"] == [[5, 2]]
    seen = set()
    for scheme in ("line", "added", "concatenated", "rotary"):
        for rows, columns in ((8, 8), (5, 12), (7, 2)):
            drive(page, "code", scheme)
            drive(page, "rows", rows)
            drive(page, "columns", columns)
            found = check("collision-map", page)["outputs"]
            assert len(found["distances"]) == rows and len(found["distances"][0]) == columns
            seen.add(json.dumps(found))
    assert len(seen) == 12
    page.get_by_role("gridcell", name="row 2, column 1").focus()
    for key in ("ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    now = check("collision-map", page)["inputs"]
    assert (now["row"], now["column"]) == (3, 0)
    assert page.locator("td[tabindex='0']").count() == 1
    page.get_by_role("gridcell", name="row 6, column 1").click()
    assert "The code of (6, 1)" in settle(page)


def test_costs_agree_at_both_ends_of_every_slider(shown):
    page = shown("cost-calculator")
    check("cost-calculator", page)
    for name, ends in (
        ("length", ("Home", "End")),
        ("width", ("Home", "End")),
        ("heads", ("Home", "End")),
        ("radius of the window", ("Home", "End")),
        ("rank or features", ("Home", "End")),
    ):
        seen = set()
        for key in ends:
            page.get_by_role("slider", name=name).focus()
            page.keyboard.press(key)
            seen.add(json.dumps(check("cost-calculator", page)["outputs"]))
        assert len(seen) == 2, name
    assert settle(page).startswith("Length 131072: full attention multiplies 35.2 trillion times")


def test_patches_are_counted_and_drawn_as_python_counts_them(shown):
    page = shown("patch-counter")
    for place, patch in enumerate(PATCHES):
        for wide, width in enumerate(WIDTHS[1:3], start=1):
            drive(page, "side of a patch", place)
            drive(page, "width", wide)
            found = check("patch-counter", page)["outputs"]
            assert settle(page) == PatchOptions(patch_size=patch, d_model=width).text
            assert page.locator("figure g rect").count() == found["tokens"]
    told = page.locator("table tr").last.locator("td").all_inner_texts()
    assert told == [
        "",
        f"{sum(found['parameters']) / 1e3:.0f}",
        f"{sum(found['multiplications']) / 1e6:.2f}",
    ]


def test_shuffled_patches_agree_however_they_are_moved(shown):
    page = shown("patch-shuffler")
    assert check("patch-shuffler", page)["outputs"]["change"] < 1e-9
    for telling in ("patches", "positions", "none", "together"):
        drive(page, "what moves", telling)
        page.get_by_role("button", name="Shuffle").click()
        change = check("patch-shuffler", page)["outputs"]["change"]
        assert (change > 1e-3) == (telling in ("patches", "positions"))
    page.get_by_role("button", name="Put back").click()
    drive(page, "what moves", "patches")
    assert check("patch-shuffler", page)["outputs"]["moved"] == 0
    page.get_by_role("button", name="token 3:").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="token 9:").click()
    now = check("patch-shuffler", page)
    assert now["inputs"]["order"][3] == 9 and now["outputs"]["moved"] == 2
    assert settle(page).startswith("2 of 16 patches")


def test_windows_agree_wherever_they_are_moved(shown):
    page = shown("window-shift")
    assert len(check("window-shift", page)["outputs"]["strangers"]) == 12
    seen = set()
    for shift in range(4):
        for masked in (True, False):
            drive(page, "shift", shift)
            drive(page, "with the mask", masked)
            seen.add(json.dumps(check("window-shift", page)["outputs"]))
    assert len(seen) == 7  # without a shift there is nothing to mask
    page.get_by_role("gridcell", name="row 0, column 0").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    now = check("window-shift", page)["inputs"]
    assert (now["row"], now["column"]) == (1, 2)
    drive(page, "after the roll", True)
    assert "row 3, column 3" in page.get_by_role("gridcell").first.get_attribute("aria-label")
    page.get_by_role("gridcell", name="row 7, column 11").click()
    assert "Token (7, 11) is in window F" in settle(page)
    assert page.locator("td[tabindex='0']").count() == 1


def test_groups_agree_wherever_a_token_is_picked(shown):
    page = shown("dilation-groups")
    assert check("dilation-groups", page)["outputs"]["read"] == 81
    for dilation in (1, 2, 4):
        for around in (True, False):
            drive(page, "dilation", str(dilation))
            drive(page, "look around", around)
            for place in ("row 13, column 9:", "row 14, column 14:"):
                page.get_by_role("gridcell", name=place).click()
                check("dilation-groups", page)
    page.get_by_role("gridcell", name="row 0, column 0:").focus()
    page.keyboard.press("ArrowDown")
    assert check("dilation-groups", page)["inputs"]["row"] == 1
    assert "Token (1, 0) lies between the samples" in settle(page)
    assert page.locator("td[tabindex='0']").count() == 1


def test_queries_are_chosen_alike_by_every_measure(shown):
    page = shown("probsparse-ranking")
    for factor in (4, 3, 2, 1):
        drive(page, "factor c", factor)
        for by in MEASURES:
            drive(page, "ranked by", by)
            check("probsparse-ranking", page)
    page.get_by_role("gridcell", name="query 0, key 0:").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert check("probsparse-ranking", page)["inputs"]["query"] == 2
    page.get_by_role("gridcell", name="query 9, key 11:").click()
    assert "Query 9 is judged by 12 keys" in settle(page)
    assert page.locator("td[tabindex='0']").count() == 1


TARGETS = {
    "alignment-reader": lambda page: page.get_by_role("radio", name="train"),
    "collision-map": lambda page: page.get_by_role("gridcell", name="row 5, column 2"),
    "cost-calculator": lambda page: page.get_by_role("slider").first,
    "kv-cache-stepper": lambda page: page.get_by_role("button", name="next step"),
    "mask-builder": lambda page: page.get_by_label("causal"),
}


@pytest.mark.parametrize("name", TARGETS)
def test_a_finger_is_enough(name, shown, chromium):
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    touched = shown(name, within=context)
    before = state(touched)
    TARGETS[name](touched).tap()
    assert state(touched) != before
    assert touched.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


@pytest.mark.parametrize("name", NAMES)
def test_every_control_has_a_name(name, shown):
    page = shown(name)
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, select, [role=slider]")]
          .filter((c) => !(c.labels?.length && c.labels[0].textContent.trim())
            && !c.getAttribute("aria-label"))
          .map((c) => c.outerHTML)"""
    )
    assert unnamed == []
    assert page.locator("[aria-live=polite]").count() == 1


def test_a_row_of_a_head_is_read_by_keys_and_by_pointing(shown):
    page = shown("attention-map-reader", sentence=1)
    row = check("attention-map-reader", page)["inputs"]["row"]
    page.locator("tbody input").nth(row).focus()
    page.keyboard.press("ArrowUp")
    assert check("attention-map-reader", page)["inputs"]["row"] == row - 1
    page.locator("tbody tr").nth(1).hover()
    assert check("attention-map-reader", page)["inputs"]["row"] == 1
    # A new sentence begins at its own hidden verb.
    page.mouse.move(0, 0)
    drive(page, "sentence", "3")
    now = check("attention-map-reader", page)["inputs"]
    assert page.locator("tbody th").nth(now["row"]).inner_text().startswith("[")
