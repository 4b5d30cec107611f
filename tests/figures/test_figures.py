"""The Python side of the interactive figures: their numbers, their widgets, their pages."""

import html
import json
import math
import re
from functools import partial
from importlib import import_module
from importlib.resources import files

import ipywidgets
import pytest
import torch

from course_lib.figures import NAMES, figure
from course_lib.figures.alignment_reader import alignment_reader
from course_lib.figures.attention_map_reader import Options as HeadOptions
from course_lib.figures.attention_map_reader import attention_map_reader, read_sentences
from course_lib.figures.base import Figure, Page
from course_lib.figures.collision_map import collision_map
from course_lib.figures.contrastive_matrix import Options as BatchOptions
from course_lib.figures.contrastive_matrix import contrastive_matrix
from course_lib.figures.cost_calculator import Options as CostOptions
from course_lib.figures.cost_calculator import cost_calculator, short
from course_lib.figures.deletion_test import Options as TrialOptions
from course_lib.figures.deletion_test import deletion_test, try_maps
from course_lib.figures.dilation_groups import DILATIONS, dilation_groups
from course_lib.figures.heads_apart import Options as HeadQuery
from course_lib.figures.heads_apart import heads_apart
from course_lib.figures.kv_cache_stepper import kv_cache_stepper
from course_lib.figures.live_training import train
from course_lib.figures.live_writer import live_writer
from course_lib.figures.mask_builder import mask_builder
from course_lib.figures.models import MODELS, model_files
from course_lib.figures.paired_plans import EXPERIMENTS, MOST, paired_plans
from course_lib.figures.paired_plans import Options as PlanOptions
from course_lib.figures.patch_counter import PARTS, PATCHES, WIDTHS, config_of, patch_counter
from course_lib.figures.patch_shuffler import TELLINGS, patch_shuffler, picture
from course_lib.figures.rope_rotation import rope_rotation
from course_lib.figures.softmax_temperature import softmax_temperature
from course_lib.figures.window_shift import window_shift
from course_lib.trained import load_writer
from course_lib.vit import ViT, load_kept, vit_costs
from course_tests.refusals import refusals


def test_scaling_undoes_the_width():
    scores = [1.0, 0.0, -1.0]
    plain = softmax_temperature(scores)
    assert softmax_temperature(scores, d_head=256)["weights"] == plain["weights"]
    unscaled = softmax_temperature(scores, d_head=256, scaled=False)
    assert unscaled["weights"] == softmax_temperature(scores, temperature=1 / 16)["weights"]
    assert unscaled["entropy"] < plain["entropy"] and unscaled["slope"] < plain["slope"]


@pytest.mark.parametrize(
    ("parts", "pairs", "empty", "lengths"),
    [
        ({"causal": False}, 16, [], [4]),
        ({"causal": True}, 10, [], None),
        ({"causal": False, "real": 2}, 8, [], [2]),
        ({"causal": True, "real": 2, "side": "left"}, 3, [1, 2], None),
        ({"causal": False, "real": 2, "side": "left"}, 8, [], None),
        ({"causal": True, "radius": 1}, 7, [], None),
        ({"causal": False, "real": 0}, 0, [1, 2, 3, 4], [0]),
    ],
)
def test_parts_of_a_mask_combine(parts, pairs, empty, lengths):
    found = mask_builder(4, **parts)
    assert (found["pairs"], found["empty"], found["values"]["lengths"]) == (pairs, empty, lengths)


def test_rows_add_up_and_columns_need_not():
    found = alignment_reader([[5.0, 0.0, 0.0], [5.0, 0.0, 0.0]], row=1)
    assert sum(found["weights"]) == pytest.approx(1)
    assert sum(found["columns"]) == pytest.approx(2)
    assert found["columns"][0] > 1.9
    flat = alignment_reader([[5.0, 0.0, 0.0]], sharpness=0)
    assert flat["entropy"] == pytest.approx(math.log(3))


def test_a_turned_query_and_key_know_their_distance_alone():
    near, far = rope_rotation(10, 7), rope_rotation(60, 57)
    assert (
        near["score"] == pytest.approx(far["score"]) and near["query_hands"] != far["query_hands"]
    )
    assert near["score"] == pytest.approx(sum(near["parts"])) and near["score"] == near["curve"][7]
    assert near["curve"][:40] == pytest.approx(rope_rotation(34, 31)["curve"][24:64])
    assert rope_rotation(10, 13)["score"] != pytest.approx(near["score"])


def test_a_cache_saves_rows_and_not_what_is_looked_at():
    kept, anew = ([kv_cache_stepper(4, t, cached) for t in range(1, 7)] for cached in (True, False))
    assert kept[0]["rows"] == anew[0]["rows"] == 5  # the first step has nothing to keep
    assert [found["rows"] for found in kept[1:]] == [1] * 5
    assert [found["rows"] for found in anew] == [5, 6, 7, 8, 9, 10]
    for t, (few, many) in enumerate(zip(kept, anew, strict=True), start=1):
        assert few["scores"] == t + 4 and many["scores"] == t * (t + 4)
        assert len(few["own"]) == len(many["own"]) == t
        assert few["own"].count("now") == few["queries"] == 1 and set(many["own"]) == {"now"}
        assert many["queries"] == t
    assert kept[-1]["rows_so_far"] == 4 + 6 and anew[-1]["rows_so_far"] == 6 * 4 + 21


@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (4, 9), (9, 4), (2, 2)])
def test_added_codes_collide_as_often_as_pairs_of_the_square(rows, columns):
    side = min(rows, columns)
    found = collision_map("added", rows, columns, 0, 1)
    assert found["distinct"] == rows * columns - side * (side - 1) // 2
    assert found["same"] == [[1, 0]]
    for scheme in ("line", "concatenated", "rotary"):
        assert collision_map(scheme, rows, columns, 0, 1)["distinct"] == rows * columns


@pytest.mark.parametrize("shift", range(4))
def test_a_mask_cuts_off_windows_at_the_edge(shift):
    hidden = sum(
        len(window_shift(shift, True, r, c)["strangers"]) for r in range(8) for c in range(12)
    )
    with_mask, without = (window_shift(shift, masked, 0, 0) for masked in (True, False))
    assert with_mask["blocked"] == without["blocked"] == hidden
    assert len(with_mask["attends"]) == (shift or 4) ** 2 and len(without["attends"]) == 16
    # A token in the middle of the picture has no strangers, wherever the windows are.
    assert window_shift(shift, True, 4, 5)["strangers"] == []


@pytest.mark.parametrize("dilation", DILATIONS)
def test_tokens_that_share_a_key_stand_at_one_place(dilation):
    found = dilation_groups(dilation, False, 0, 0)
    numbers = [number for row in found["places"] for number in row]
    assert found["read"] == sum(number > 0 for number in numbers)
    assert len(found["area"]) == 9 and len(found["fused"]) == numbers.count(1)
    assert dilation_groups(dilation, True, 0, 0)["read"] >= found["read"]
    for r, c in found["area"]:
        assert len(dilation_groups(dilation, False, r, c)["fused"]) == found["windows"]


def test_twice_the_length_costs_full_attention_four_times():
    one, two = (cost_calculator(length, 512, 8, 64, 128) for length in (4096, 8192))
    for kind, times in (("full", 4), ("tiled", 4), ("Linformer", 2), ("Performer", 2)):
        assert two["multiplications"][kind] == times * one["multiplications"][kind]
    assert two["numbers"]["full"] == 4 * one["numbers"]["full"]
    assert two["numbers"]["tiled"] < 2 * one["numbers"]["tiled"]
    assert [short(n) for n in (7, 999_600, 35_184_372_088_832)] == [
        "7",
        "1000 thousand",
        "35.2 trillion",
    ]


def test_only_what_comes_apart_changes_what_attention_sees():
    order = [15 - n for n in range(16)]
    changes = {how: patch_shuffler(picture(), order, how)["change"] for how in TELLINGS}
    assert changes["together"] < 1e-12 and changes["none"] < 1e-12
    # Backwards is its own way back, so that both ways of coming apart are the same one.
    assert changes["patches"] == pytest.approx(changes["positions"]) and changes["patches"] > 0.01


@pytest.mark.parametrize("patch_size", PATCHES)
@pytest.mark.parametrize("d_model", WIDTHS)
def test_a_model_of_patches_is_counted_part_by_part(patch_size, d_model):
    config = config_of(patch_size, d_model)
    found = patch_counter(patch_size, d_model)
    assert tuple(map(sum, (found["parameters"], found["multiplications"]))) == vit_costs(config)
    with torch.device("meta"):
        model = ViT(config)
    held = dict.fromkeys(PARTS, 0)
    for name, numbers in model.named_parameters():
        part = name.split(".")[2 if name.startswith("blocks") else 0].removesuffix("_norm")
        held[
            {
                "cls_token": "class, positions",
                "positions": "class, positions",
                "patch_proj": "matrix E",
                "attention": "projections",
                "feed_forward": "feed-forward",
            }.get(part, "norm, head")
        ] += numbers.numel()
    assert found["parameters"] == [*held.values()]
    line = model.patch_proj.weight.shape[1]
    assert (found["tokens"], found["line"]) == (len(model.positions), line)


def test_the_model_that_is_counted_first_is_the_one_of_the_book():
    assert config_of(4, 64) == load_kept().model.config


def test_a_hub_passes_its_own_exam_and_spoils_the_captions():
    cosines = BatchOptions().cosines
    plain, hub = (contrastive_matrix(cosines, 10, hub=hub) for hub in (False, True))
    assert hub["by_row"] == pytest.approx(plain["by_row"]) and hub["images"] == 5
    assert hub["by_column"] > plain["by_column"] and hub["captions"] < plain["captions"] == 5
    assert hub["loss"] == pytest.approx((hub["by_row"] + hub["by_column"]) / 2)
    columns = contrastive_matrix(cosines, queries="captions")["weights"]
    assert [sum(column) for column in zip(*columns, strict=True)] == pytest.approx([1] * 5)
    assert contrastive_matrix([[0.3] * 4] * 4, 20)["loss"] == pytest.approx(math.log(4))


def test_a_map_is_measured_and_a_row_of_it_read():
    previous = [[1, 0, 0], [1, 0, 0], [0, 1, 0]]
    found = attention_map_reader(previous, row=2)
    assert found["row"] == [0, 1, 0] and found["largest"] == 1 and found["entropy"] == 0
    assert found["near_diagonal"] == 1 and found["relative_position"] == pytest.approx(-2 / 3)
    even = attention_map_reader([[5, 5], [1, 1]], row=0)
    assert even["entropy"] == pytest.approx(1) and even["row"] == [0.5, 0.5]


def test_the_maps_of_the_trained_reader_are_small_and_whole(monkeypatch):
    for reading in read_sentences():
        assert reading.words[reading.asks].startswith("[")
        for layer in reading.maps:
            for rows in layer:
                assert all(abs(sum(row) - 1000) <= len(row) / 2 for row in rows)
    monkeypatch.setenv("COURSE_BOOK", "1")
    assert len(figure("attention-map-reader")._repr_html_()) < 150_000


def test_a_plan_finds_more_with_more_pairs_and_is_fooled_one_time_in_twenty():
    plan = paired_plans(0.04, 0.04, 5)
    # The power of a t-test with five pairs whose spread is the difference, from tables, is 0.40.
    assert 0.36 < plan["found"][3] / EXPERIMENTS < 0.45 and plan["wrong"] < 5
    assert len(plan["found"]) == MOST - 1 and plan["found"][-1] > 0.97 * EXPERIMENTS
    assert all(
        0.03 * EXPERIMENTS < count < 0.07 * EXPERIMENTS
        for count in paired_plans(0, 0.02, 2)["found"]
    )


def test_one_head_keeps_to_one_average_and_two_heads_need_not():
    for query in ([1, 1, 2, 1], [4, 4, -4, 4], [4, 4, 4, -4], [-3, 0, 2, 2]):
        found = heads_apart(query)
        (left, _), (right, _) = found["two"]["weights"]
        assert found["two"]["output"] == pytest.approx([left, 1 - left, 1 - right, right])
        (once,) = found["one"]["weights"]
        assert found["one"]["output"] == pytest.approx([once[0], once[1], once[1], once[0]])
        parts = [sum(scores) for scores in zip(*found["two"]["scores"], strict=True)]
        assert found["one"]["scores"] == [parts]
    apart = heads_apart([4, 4, 4, -4])["two"]["weights"]
    assert apart[0][0] > 0.99 and apart[1][0] < 0.01


def test_only_some_maps_beat_random_patches():
    *trials, luck = try_maps()
    for chosen, trial in enumerate(trials):
        ends = [deletion_test(chosen, step) for step in (0, 16)]
        assert ends[0]["gone"] == [] and sorted(ends[1]["gone"]) == list(range(64))
        assert [found["held"] for found in ends] == [0, 1]
        assert trial.curve[0] == luck.curve[0] > 0.8 and trial.curve[-1] == luck.curve[-1] < 0.2
        gone = deletion_test(chosen, 8)["gone"]
        assert min(trial.weights[i] for i in gone) >= max(
            weight for i, weight in enumerate(trial.weights) if i not in gone
        )
    heights = {trial.name: sum(trial.curve) / 17 for trial in trials}
    chance = sum(luck.curve) / 17
    assert heights["rollout"] < chance - 0.1 < chance + 0.05 < heights["layer 3, head 1"]


def test_a_writer_reads_the_last_tokens_as_torch_does():
    writer = load_writer()
    text = "ROMEO:\n" + "O, speak again, bright angel! " * 9
    tokens = writer.tokenizer.encode(text)
    found = live_writer(tokens, 0.5, layer=1, head=2)
    read = torch.tensor([tokens[-64:]])
    assert len(tokens) > 64 == len(found["weights"])
    expected = (2 * writer.model(read)[0, -1]).softmax(-1)
    assert found["probabilities"] == pytest.approx(expected.tolist(), abs=1e-5)
    assert found["weights"] == pytest.approx(writer.maps(read)[1, 2, -1].tolist(), abs=1e-5)


def test_a_figure_is_a_widget_here_and_a_page_in_the_book(monkeypatch):
    for name in NAMES:
        monkeypatch.setenv("COURSE_BOOK", "1")
        page = figure(name)
        assert isinstance(page, Page)
        monkeypatch.delenv("COURSE_BOOK", raising=False)
        live = figure(name)
        assert isinstance(live, ipywidgets.DOMWidget)
        assert all(part in live._esm for part in (page.script, page.data, page.needed))
        assert json.dumps(page.fragment()) in live._esm


def test_a_widget_sends_the_model_that_its_script_asks_for(monkeypatch):
    monkeypatch.delenv("COURSE_BOOK", raising=False)
    live = figure("live-vit")
    sent = []
    monkeypatch.setattr(live, "send", sent.append)
    for file in ("runtime", "vit"):
        live._handle_custom_msg({"file": file}, [])
    files_of_vit = model_files("vit")
    assert {m["file"]: m["text"] for m in sent} == {
        "runtime": files_of_vit["runtime.js"],
        "vit": files_of_vit["vit.js"],
    }


test_options_are_checked = refusals(
    (lambda: figure("softmax"), "no figure 'softmax'"),
    (lambda: figure("mask-builder", heads=2), r"figure 'mask-builder' has no option \['heads'\]"),
    (
        lambda: figure(
            "alignment-reader", source=["a", "b", "c"], target=["d"], scores=[[1.0, 2.0]]
        ),
        r"scores have shape \(1, 2\), expected .*\(1, 3\)",
    ),
    (lambda: figure("kv-cache-stepper", step=0), "step is 0, expected 1 to"),
    (lambda: CostOptions(length=1000), "length is 1000, expected one of"),
    (lambda: patch_shuffler(picture(), [0] * 16), "expected a permutation of 16"),
    (lambda: BatchOptions(queries="both"), "queries is 'both', expected one of"),
    (lambda: HeadOptions(layer=3, head=0), r"layer is 3, expected one of \(0, 1, 2\)"),
    (lambda: PlanOptions(pairs=1), "pairs is 1, expected 2 to 20"),
    (lambda: HeadQuery(query=(1, 1, 5, 1)), "query 3 is 5, expected -4 to 4"),
    (lambda: TrialOptions(step=17), "step is 17, expected 0 to 16"),
)


def test_a_page_reads_without_a_script(monkeypatch):
    monkeypatch.setenv("COURSE_BOOK", "1")
    monkeypatch.setattr("course_lib.figures.live_training.train", partial(train, steps=2))
    for name in NAMES:
        page = figure(name)
        fragment = page._repr_html_()
        assert fragment.count("<script>") == fragment.count("</script>") == 1
        fallback = html.unescape(re.search(r"<noscript><p>(.*?)</p>", fragment)[1])
        assert fallback == page.shown.text and re.search(r"\d", fallback)
        assert fallback in repr(page)


def test_words_of_a_reader_cannot_break_out_of_the_script(monkeypatch):
    monkeypatch.setenv("COURSE_BOOK", "1")
    evil = "</script><script>alert(1)</script>"
    page = figure("alignment-reader", source=[evil], target=["a"], scores=[[1.0]], row=0)
    assert evil not in page._repr_html_()


def test_scripts_are_short_and_ask_for_nothing():
    scripts = [path for path in files("course_lib.figures").iterdir() if path.name.endswith(".js")]
    # What all share, what all with a model share, how one learns, what a notebook runs, and what
    # computes each model.
    assert len(scripts) == len(NAMES) + 4 + len(MODELS)
    for path in scripts:
        text = path.read_text()
        assert len(text.splitlines()) < 200, path.name
        assert not re.search(r"fetch\(|XMLHttpRequest|import\(|innerHTML|eval\(", text), path.name
        assert "http" not in text.replace("http://www.w3.org/2000/svg", ""), path.name


def test_every_figure_has_what_the_frame_asks_for():
    for name in NAMES:
        module = import_module(f"course_lib.figures.{name.replace('-', '_')}")
        assert callable(getattr(module, name.replace("-", "_"))) and module.Options.controls()
        assert not set(module.Options.__dataclass_fields__) & set(vars(Figure))


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_refuses_what_no_control_can_show(name):
    options = import_module(f"course_lib.figures.{name.replace('-', '_')}").Options
    first = options()
    for field, control in options.controls().items():
        now = control.at(first)
        if now.choices is None and now.high is None:
            continue  # a switch
        wrong = "no choice" if now.high is None else now.high + 1
        if isinstance(getattr(first, field), list | tuple):
            wrong = [wrong]
        with pytest.raises(ValueError, match=rf"{field}( 1)? is .*, expected "):
            options(**{field: wrong})
