"""What a figure with a trained model loads, how fast it answers, how far it is from torch."""

from __future__ import annotations

import json
import math
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.book.browser import chromium, serving
from course_lib.data.translation import german_english, korean_english
from course_lib.figures import live_forecast, live_training, live_vit, live_writer
from course_lib.figures.live_translator import KINDS, live_translator
from course_lib.transformer.depth import ARRANGEMENTS

_TRANSLATE = """(model, given) => {
    const reading = model.read(given);
    const logits = ["<bos>", ...given.written].map(reading.write).at(-1);
    const cooled = logits.map((logit) => logit / given.temperature);
    return {
        logits: [...logits], probabilities: [...model.softmax(cooled)],
        maps: reading.maps[given.shown], kept: reading.count(), beams: model.search(given),
    };
}"""
_WRITE = """(model, given) => {
    const reading = model.read({ ...given, masked: true });
    for (let t = 0; t < 20; t++) reading.write("the");
    return 20;
}"""
_CLASSIFY = "(model, given) => model.classify(given)"
_FORECAST = "(model, given) => model.forecast(given)"
_GO_ON = """(model, { tokens, temperature, layer, head }) => {
    const { logits, maps } = model.read(tokens);
    const cooled = logits.map((logit) => logit / temperature);
    return { probabilities: [...courseRuntime.softmax(cooled)], weights: maps[layer][head].at(-1) };
}"""
_ONCE = "(model, given) => {{ ({})(model, given); return 1; }}"
_LEARN = """(mirror, given) => {
    const model = mirror(given);
    const losses = given.rates.map((rate, n) => model.learn(given.batches[n].flat(), rate));
    return { losses, gradients: [...model.gradient], weights: [...model.weights] };
}"""
# Whole batches, as the page has them.
_TRAIN = """(mirror, given) => {
    const model = mirror(given);
    const batch = Array.from({ length: 256 }, (_, n) => n % 10);
    for (let n = 0; n < 20; n++) model.learn(batch, 0.01);
    return 20;
}"""


def draw_sentences(n: int) -> list[dict[str, Any]]:
    chance = random.Random(0)
    pairs = [*german_english(n, 0, "test"), *korean_english(n, 0, "test")]
    made = []
    for pair in chance.sample(pairs, n):
        source = [word if chance.random() < 0.9 else "unheard" for word in pair.source]
        places = list(range(len(source)))
        if chance.random() < 0.5:
            chance.shuffle(places)
        heads = [(kind, layer, head) for kind in KINDS for layer in (0, 1) for head in range(4)]
        made.append(
            {
                "source": source,
                "written": list(pair.target[: chance.randrange(len(pair.target) + 1)]),
                "off": chance.sample(heads, chance.randrange(6)),
                "places": places,
                "masked": chance.random() < 0.6,
                "temperature": chance.choice([0.25, 1.0, 8.0]),
                "shown": chance.choice([*KINDS]),
                "beam": chance.randint(1, 3),
                "length": chance.randint(0, 3),
            }
        )
    return made


def draw_pictures(n: int) -> list[dict[str, Any]]:
    chance = random.Random(0)
    drawings = [picture.flatten().tolist() for picture in live_vit.draw_pictures().values()]
    made = []
    for _ in range(n):
        noise = chance.choice([0, 30, 255])
        made.append(
            {
                "pixels": [
                    min(255, max(0, value + chance.randint(-noise, noise)))
                    for value in chance.choice(drawings)
                ],
                "order": chance.sample(range(64), 64) if chance.random() < 0.5 else [*range(64)],
                "placed": chance.random() < 0.5,
            }
        )
    return made


def draw_networks(n: int) -> list[dict[str, Any]]:
    chance = random.Random(0)
    made = []
    for _ in range(n):
        around, blocks = chance.choice(ARRANGEMENTS), chance.choice(live_training.BLOCKS)
        start = live_training.train(around, blocks, seed=chance.randrange(99), steps=0).weights
        steps, size = chance.randint(1, 4), chance.randint(1, 9)
        made.append(
            {
                "arrangement": around,
                "blocks": blocks,
                "weights": [weight + chance.gauss(0, 0.02) for weight in start],
                "batches": [
                    [chance.choices(range(10), k=live_training.LENGTH) for _ in range(size)]
                    for _ in range(steps)
                ],
                "rates": chance.choices(live_training.RATES[:3], k=steps),
            }
        )
    return made


def draw_series(n: int) -> list[dict[str, Any]]:
    chance = random.Random(0)
    heads = [(*place, head) for place in live_forecast.PLACES for head in range(4)]
    length, made = live_forecast.READ + live_forecast.AHEAD, []
    for _ in range(n):
        level, swing, rough = chance.uniform(0, 30), chance.uniform(0, 8), chance.choice([0, 1, 9])
        series = [
            level + swing * math.cos(t * math.pi / 12) + chance.gauss(0, rough)
            for t in range(length)
        ]
        order = list(range(live_forecast.READ))
        if chance.random() < 0.5:
            chance.shuffle(order)
        made.append(
            {
                "values": series[: live_forecast.READ],
                "truth": series[live_forecast.READ :],
                "start": chance.randrange(2 * 365 * 24),
                "order": order,
                "placed": chance.random() < 0.6,
                "timed": chance.random() < 0.6,
                "off": chance.sample(heads, chance.randrange(6)),
            }
        )
    return made


def draw_texts(n: int) -> list[dict[str, Any]]:
    chance = random.Random(0)
    return [
        {
            "tokens": chance.choices(range(1_000), k=chance.randint(1, 90)),
            "temperature": chance.choice([0.25, 1.0, 2.0]),
            "layer": chance.randrange(4),
            "head": chance.randrange(4),
        }
        for _ in range(n)
    ]


@dataclass(frozen=True)
class Live:
    model: str
    compute: str
    step: str
    twin: Callable[..., dict[str, Any]]
    draw: Callable[[int], list[dict[str, Any]]]
    made: str = ""
    start: str = ".figure-load button"

    @property
    def _given(self) -> str:
        loaded = f"courseRuntime.{self.model}(courseFiles.{self.model})"
        return f"const model = {self.made or loaded};"

    def compare(self, page: Any, inputs: Sequence[dict[str, Any]]) -> list[float]:
        """Compute in a page, whose figure has loaded its model, and in torch."""
        every = f"{self._given} return inputs.map((i) => ({self.compute})(model, i));"
        found = page.evaluate(f"(inputs) => {{ {every} }}", inputs)
        return [apart(self.twin(**i), o) for i, o in zip(inputs, found, strict=True)]

    def steps(self, page: Any, given: dict[str, Any]) -> float:
        return float(
            page.evaluate(
                f"""(given) => {{
                    {self._given}
                    const start = performance.now();
                    let steps = 0;
                    while (performance.now() < start + 500) steps += ({self.step})(model, given);
                    return steps * 1000 / (performance.now() - start);
                }}""",
                given,
            )
        )


FIGURES = {
    "live-translator": Live("translator", _TRANSLATE, _WRITE, live_translator, draw_sentences),
    "live-vit": Live("vit", _CLASSIFY, _ONCE.format(_CLASSIFY), live_vit.live_vit, draw_pictures),
    "live-forecast": Live(
        "forecast", _FORECAST, _ONCE.format(_FORECAST), live_forecast.live_forecast, draw_series
    ),
    "live-writer": Live(
        "writer", _GO_ON, _ONCE.format(_GO_ON), live_writer.live_writer, draw_texts
    ),
    "live-training": Live(
        "mirror",
        _LEARN,
        _TRAIN,
        live_training.adam_steps,
        draw_networks,
        f"(given) => courseRuntime.mirror({{ ...{json.dumps(live_training.SIZES)}, ...given }})",
        ".figure-buttons button:nth-child(2)",
    ),
}
"""Figures with a model, by name."""


def apart(mine: Any, theirs: Any) -> float:
    if isinstance(mine, dict):
        if mine.keys() != theirs.keys():
            raise ValueError(f"one has {sorted(mine)}, the other {sorted(theirs)}")
        return max(apart(mine[key], theirs[key]) for key in mine)
    if isinstance(mine, list):
        return max((apart(*both) for both in zip(mine, theirs, strict=True)), default=0.0)
    if isinstance(mine, str):
        return 0.0 if mine == theirs else math.inf
    return float(abs(mine - theirs))


def live(html_dir: Path, browser: Any = None) -> dict[str, dict[str, Any]]:
    shown = {
        name: path.relative_to(html_dir).as_posix()
        for path in sorted(html_dir.rglob("*.html"), reverse=True)
        for name in re.findall(r'data-figure="([\w-]+)"', path.read_text(encoding="utf-8"))
        if name in FIGURES
    }
    if not shown:
        return {}
    with chromium(browser) as window, serving(html_dir) as address:
        return {
            name: {"page": page} | _measure(name, window, address, page, html_dir)
            for name, page in shown.items()
        }


def _measure(name: str, window: Any, address: str, path: str, html_dir: Path) -> dict[str, Any]:
    figure = FIGURES[name]
    with window.new_context() as context:
        page = context.new_page()
        page.goto(address + path)
        page.wait_for_load_state("networkidle")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        start = time.perf_counter()
        page.locator(f"[data-figure={name}] {figure.start}").click()
        page.wait_for_function(f"document.querySelector('[data-figure={name}]').dataset.state")
        seconds = time.perf_counter() - start
        files = [html_dir / url.removeprefix(address) for url in asked]
        inlined = f"document.querySelector('[data-figure={name}] + script').textContent"
        inputs = figure.draw(50)
        return {
            "bytes": sum(file.stat().st_size for file in files)
            or len(page.evaluate(inlined).encode()),
            "seconds": round(seconds, 2),
            "steps": round(figure.steps(page, inputs[0])),
            "largest_difference": max(figure.compare(page, inputs)),
        }
