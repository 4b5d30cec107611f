"""What a figure with a trained model loads, how fast it answers, how far it is from torch."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from course_lib.book.browser import chromium, serving
from course_lib.data.translation import german_english, korean_english
from course_lib.figures.live_translator import KINDS, live_translator

_MODEL = "const model = courseRuntime.translator(courseFiles.translator);"
_COMPUTE = f"""(inputs) => {{
    {_MODEL}
    return inputs.map((given) => {{
        const reading = model.read(given);
        const logits = ["<bos>", ...given.written].map(reading.write).at(-1);
        const cooled = logits.map((logit) => logit / given.temperature);
        return {{
            logits: [...logits], probabilities: [...model.softmax(cooled)],
            maps: reading.maps[given.shown], kept: reading.count(), beams: model.search(given),
        }};
    }});
}}"""
# Twenty words a sentence, until half a second has gone.
_STEPS = f"""(given) => {{
    {_MODEL}
    const start = performance.now();
    let steps = 0;
    while (performance.now() < start + 500) {{
        const reading = model.read(given);
        for (let t = 0; t < 20; t++, steps++) reading.write("the");
    }}
    return steps * 1000 / (performance.now() - start);
}}"""


def draw_inputs(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Draw what a reader may ask of the translator.

    Args:
        n: How many inputs.
        seed: The same seed, the same inputs.

    Returns:
        Arguments of :func:`course_lib.figures.live_translator.live_translator`: sentences of both
        languages with unknown words among them, beginnings of translations, heads off, positions
        in any order, with and without the causal mask, all temperatures and kinds of maps.
    """
    chance = random.Random(seed)
    pairs = [*german_english(n, seed, "test"), *korean_english(n, seed, "test")]
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


def apart(mine: Any, theirs: Any) -> float:
    """The largest difference of two nested results.

    Raises:
        ValueError: If they have not the same shape.

    Example:
        >>> apart({"a": [1.0, 2.0]}, {"a": [1.0, 2.5]})
        0.5
    """
    if isinstance(mine, dict):
        if mine.keys() != theirs.keys():
            raise ValueError(f"one has {sorted(mine)}, the other {sorted(theirs)}")
        return max(apart(mine[key], theirs[key]) for key in mine)
    if isinstance(mine, list):
        return max((apart(*both) for both in zip(mine, theirs, strict=True)), default=0.0)
    if isinstance(mine, str):
        return 0.0 if mine == theirs else math.inf
    return float(abs(mine - theirs))


def compare(page: Any, inputs: Sequence[dict[str, Any]]) -> list[float]:
    """Compute in a page, whose figure has loaded its model, and in torch.

    Args:
        page: A browser's.
        inputs: As :func:`draw_inputs` draws them.

    Returns:
        The largest difference of each.
    """
    found = page.evaluate(_COMPUTE, inputs)
    return [apart(live_translator(**i), o) for i, o in zip(inputs, found, strict=True)]


def live(html_dir: Path, browser: Any = None) -> dict[str, dict[str, Any]]:
    """Measure each figure of a built book that has a trained model in it.

    Args:
        html_dir: The folder of ``index.html``.
        browser: One that is open; a new one if not given.

    Returns:
        By the figure's name: its ``page``, the ``bytes`` that it loads when a reader asks for it,
        the ``seconds`` from that click to the first answer, ``steps`` (words a second), and the
        ``largest_difference`` from torch over 50 random inputs.

    Raises:
        NoBrowser: If there is none.
    """
    name = "live-translator"
    pages = [
        path.relative_to(html_dir).as_posix()
        for path in sorted(html_dir.rglob("*.html"))
        if f'data-figure="{name}"' in path.read_text(encoding="utf-8")
    ]
    if not pages:
        return {}
    opened = nullcontext(browser) if browser else chromium()
    with opened as window, serving(html_dir) as address, window.new_context() as context:
        page = context.new_page()
        page.goto(address + pages[0])
        page.wait_for_load_state("networkidle")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        start = time.perf_counter()
        page.locator(".figure-load button").click()
        page.wait_for_function(f"document.querySelector('[data-figure={name}]').dataset.state")
        seconds = time.perf_counter() - start
        files = [html_dir / url.removeprefix(address) for url in asked]
        inputs = draw_inputs(50)
        return {
            name: {
                "page": pages[0],
                "bytes": sum(path.stat().st_size for path in files),
                "seconds": round(seconds, 2),
                "steps": round(page.evaluate(_STEPS, inputs[0] | {"masked": True})),
                "largest_difference": max(compare(page, inputs)),
            }
        }
