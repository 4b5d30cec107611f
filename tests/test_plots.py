"""Pictures of the book: contrast, determinism, and what they draw."""

import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from course_lib.plots import INK, PALETTE, WIDEST, attention_map, bars, canvas, curves, table
from course_tests.browser.page_survey import letters
from course_tests.refusals import refusals

LIGHT, DARK = "#ffffff", "#14181e"
STYLE = Path(__file__).parents[1] / "book" / "_static" / "course.css"


def contrast(one, other):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [INK, *PALETTE])
def test_ink_and_colours_are_seen_on_light_and_on_dark(colour):
    assert contrast(colour, LIGHT) >= 3 and contrast(colour, DARK) >= 3


def test_letters_of_plots_are_read_in_a_dark_fold():
    """The pages make plots lighter there, by a factor of the style sheet."""
    (factor,) = re.findall(r'svg"\] { filter: brightness\((.*?)\)', STYLE.read_text("utf-8"))
    lighter = "#" + "".join(
        f"{round(float(factor) * int(INK[i : i + 2], 16)):02x}" for i in (1, 3, 5)
    )
    assert contrast(INK, LIGHT) >= 4.5 and contrast(lighter, "#29313d") >= 4.5


def seen_without_green(colour):
    """The colour as a deuteranope sees it (Viénot, Brettel and Mollon 1999)."""
    linear = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]) ** 2.2
    cones = np.array([[17.8824, 43.5161, 4.1194], [3.4557, 27.1554, 3.8671], [0.03, 0.1843, 1.467]])
    simulate = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    return np.linalg.inv(cones) @ simulate @ cones @ linear


def test_the_first_colours_differ_without_green():
    seen = [seen_without_green(colour) for colour in PALETTE[:3]]
    for i in range(3):
        for j in range(i):
            assert np.abs(seen[i] - seen[j]).max() > 0.08


def some_pictures():
    weights = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])
    return [
        attention_map(weights, ["good", "evening"], ["guten", "abend", "!"]),
        attention_map(torch.stack([weights] * 3), ["a", "b"], ["c", "d", "e"], titles="xyz"),
        curves([1, 2, 4], {"a": [[1, 2, 3], [2, 3, 5]], "b": [3, 2, 1]}, xlabel="n", ylabel="y"),
        bars({"a": 1.0, "b": [1.0, 3.0]}, ylabel="y"),
    ]


def test_pictures_are_the_same_at_every_run_and_have_no_background():
    for one, other in zip(some_pictures(), some_pictures(), strict=True):
        svg = one._repr_svg_()
        assert svg == other._repr_svg_()
        assert "<svg" in svg and "fill: #ffffff" not in svg.split("</g>")[0]


SAID = ["good, evening over guten, abend, !", "x: a, b over c, d, e; y", "y over n: a", "y over a"]


def test_what_a_picture_shows_is_said_for_those_who_hear_it():
    for picture, words in zip(some_pictures(), SAID, strict=True):
        title = re.search("<title>(.+?)</title>", picture._repr_svg_())
        assert title and words in title[1]


def width(svg):
    found = re.search(r'viewBox="0 0 ([\d.]+) ', svg)
    assert found
    return float(found[1])


def test_a_picture_is_no_wider_than_a_telephone_bears_and_has_no_small_letters():
    """Exponents would be smaller than what they stand at; many columns and bars share the room."""
    words = [str(n) for n in range(20)]
    wide = [
        curves([1, 1e9], {"a": [1e-9, 1]}, xlabel="n", ylabel="y", log="xy"),
        attention_map(torch.eye(20), words, words),
        bars(dict.fromkeys(words, 1.0), ylabel="y"),
        canvas(width=WIDEST)[0],
    ]
    for picture in wide + some_pictures():
        svg = picture._repr_svg_()
        assert width(svg) <= 72 * WIDEST
        assert letters(svg) * width(svg) == pytest.approx(10)
    assert {"<!-- 1e-8 -->", "<!-- 1e8 -->", "<!-- 0.01 -->"} <= {
        *re.findall("<!-- .*? -->", wide[0]._repr_svg_())
    }


def test_names_of_bars_that_would_run_into_each_other_are_turned():
    for name, angle in (("a", 0), ("attention\nalone", 0), ("attention alone", 35)):
        picture = bars({f"{name} {i}": i for i in range(4)}, ylabel="y")
        assert {label.get_rotation() for label in picture.axes[0].get_xticklabels()} == {angle}


def test_nothing_global_is_changed():
    # The backend is looked for when it is first asked for, by whoever asks.
    before = {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}
    for picture in some_pictures():
        picture._repr_svg_()
    assert {name: matplotlib.rcParams[name] for name in before} == before


def test_an_attention_map_shows_words_and_numbers():
    picture = some_pictures()[0]
    ax = picture.axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["good", "evening"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["guten", "abend", "!"]
    assert [text.get_text() for text in ax.texts] == [
        "0.90",
        "0.10",
        "0.00",
        "0.20",
        "0.30",
        "0.50",
    ]
    large = attention_map(torch.eye(12), [str(i) for i in range(12)], [str(i) for i in range(12)])
    assert not large.axes[0].texts
    assert len(large.axes[0].lines) == 22 and not ax.lines  # a grid where no numbers part cells


def test_the_numbers_of_a_map_can_be_read_at_every_weight():
    weights = torch.linspace(0, 1, 80).view(8, 10)
    ax = attention_map(weights, list("abcdefgh"), list("abcdefghij")).axes[0]
    (image,) = ax.images
    for text, weight in zip(ax.texts, weights.flatten().tolist(), strict=True):
        cell = image.to_rgba(weight)
        assert contrast(to_hex(cell), text.get_color()) >= 4.5
        assert cell[3] == 1 and not text.get_path_effects()


def test_curves_show_the_mean_and_the_spread():
    runs = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    (line,) = curves([0, 1], {"a": runs}, xlabel="x", ylabel="y").axes[0].lines
    assert line.get_ydata().tolist() == [2.0, 4.0]
    for spread, low, high in [("range", 2.0, 6.0), ("std", 4 - 8**0.5, 4 + 8**0.5)]:
        picture = curves([0, 1], {"a": runs}, xlabel="x", ylabel="y", spread=spread)
        vertices = picture.axes[0].collections[0].get_paths()[0].vertices
        at_one = vertices[vertices[:, 0] == 1][:, 1]
        assert (at_one.min(), at_one.max()) == pytest.approx((low, high))


def test_curves_differ_by_more_than_colour():
    names = {str(i): [0, i] for i in range(len(PALETTE))}
    lines = curves([0, 1], names, xlabel="x", ylabel="y").axes[0].lines
    assert len({line.get_marker() for line in lines}) == len(lines)
    assert len({str(line._dash_pattern) for line in lines}) == len(lines)


def test_bars_mark_what_is_highlighted():
    first, second = bars({"a": 1, "b": 2}, ylabel="y", highlight=["b"]).axes[0].patches
    assert first.get_facecolor() != second.get_facecolor()


test_what_does_not_fit_is_refused = refusals(
    (
        lambda: attention_map(torch.eye(2), ["a"], ["b", "c"]),
        r"weights have shape \(2, 2\), wanted",
    ),
    (
        lambda: attention_map(torch.eye(1), ["a"], ["b"], titles=["x", "y"]),
        "got 2 titles for 1 maps",
    ),
    (
        lambda: curves([0, 1], {"a": [1, 2, 3]}, xlabel="x", ylabel="y"),
        r"'a' has shape \(1, 3\), wanted \(R, 2\)",
    ),
    (
        lambda: curves([0], {str(i): [0] for i in range(7)}, xlabel="x", ylabel="y"),
        "wanted at most 6",
    ),
)


def test_a_canvas_has_the_axes_asked_for():
    picture, axes = canvas(2, 3, width=5, height=4)
    assert axes.shape == (2, 3) and len(picture.axes) == 6
    assert picture.figure.get_size_inches().tolist() == [5, 4]


def test_a_table_is_whole_or_refused():
    made = table(["layer", "path"], ["recurrent", 63], ["attention", 1])
    assert made._repr_markdown_().splitlines()[2:] == ["| recurrent | 63 |", "| attention | 1 |"]
    with pytest.raises(ValueError, match="a row has 1 entries, wanted 2"):
        table(["layer", "path"], ["recurrent"])
