"""The roofline: what share of a processor's peak an operation can reach at best."""

from __future__ import annotations

import math
from typing import NamedTuple

from course_lib.drawings import Page, Sketch, drawing
from course_lib.efficient import attention_costs

# One A100, as the authors of FlashAttention-2 give it: operations and bytes in a second.
PEAK, BANDWIDTH = 312e12, 1.5e12
RIDGE = PEAK / BANDWIDTH

# One head: tokens, width, bytes of a number, operations for each score in a softmax (largest,
# difference, exponential, sum, quotient), and query heads that share their keys.
T, WIDTH, BYTES, STEPS, SHARED = 4096, 64, 2, 5, 8


class Work(NamedTuple):
    """Operations of one head, and how many ``numbers`` it reads from the memory or writes there."""

    operations: int
    numbers: int

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.operations / (BYTES * self.numbers)

    @property
    def share(self) -> float:
        """Of the peak, at best."""
        return min(1.0, self.intensity / RIDGE)


# A token asks all T keys; q and the output are one row each.
DECODE = Work(4 * T * WIDTH, 2 * T * WIDTH + 2 * WIDTH)
DECODE_SHARED = Work(SHARED * 4 * T * WIDTH, 2 * T * WIDTH + SHARED * 2 * WIDTH)
SOFTMAX = Work(STEPS * T**2, 2 * T**2)
# The products of all pairs, for the scores and again for the values: an addition each.
PRODUCTS = attention_costs(T, WIDTH, 1)["full"].multiplications
SCORES = Work(PRODUCTS, 2 * T * WIDTH + T**2)
TILED = Work(2 * PRODUCTS, 4 * T * WIDTH)


def _plain(x: float) -> str:
    return f"{x:,.0f}" if x >= 2 else f"{x:.2f}".rstrip("0").rstrip(".")


@drawing(
    f"""Two logarithmic axes: operations for each byte that is moved, and the share of the peak that
    can be reached. A line rises with the bandwidth and turns level at the ridge, {RIDGE:.0f}
    operations a byte. On the rising part lie decoding one token at {_plain(DECODE.intensity)}, the
    softmax at {_plain(SOFTMAX.intensity)}, decoding with keys that {SHARED} heads share at
    {_plain(DECODE_SHARED.intensity)} and the product of scores at {_plain(SCORES.intensity)}. On
    the level part lies attention in tiles, at {_plain(TILED.intensity)}.""",
    numbers=lambda: [round(w) for w in (RIDGE, DECODE.intensity, SCORES.intensity)],
)
def roofline(s: Sketch) -> None:
    left, right, top, bottom = (40, 332, 46, 262) if s.narrow else (64, 650, 34, 264)
    first, last, floor = -2.0, 13.0, -9.0  # octaves: operations a byte, and shares of the peak

    def at(intensity: float, share: float) -> tuple[float, float]:
        x = left + (math.log2(intensity) - first) / (last - first) * (right - left)
        return x, top + math.log2(share) / floor * (bottom - top)

    # The roof, and the ridge.
    low, ridge = RIDGE * 2**floor, at(RIDGE, 1)
    s.curve([(left, top - 14), (left, bottom), (right, bottom)], "mask")
    s.curve([at(low, 2**floor), ridge, (right, top)], "weight")
    if not s.narrow:
        s.curve([ridge, (ridge[0], bottom)], "mask", dashed=True)
    for octave in range(0, 13, 4):
        x, _ = at(2.0**octave, 1)
        s.curve([(x, bottom), (x, bottom + 5)], "mask")
        s.text(x, bottom + 15, f"{2**octave:,}", kind="small")
    s.text(ridge[0], top - 14, f"ridge: {RIDGE:.0f}", kind="small", role="weight")
    for octave in (0, -3, -6, -9):
        _, y = at(1, 2.0**octave)
        s.text(left - 6, y, f"1/{2**-octave}" if octave else "1", kind="small", at="end")
    s.text((left + right) / 2, bottom + 34, "operations for each byte moved", kind="quiet")
    s.text(left - 4, top - 26, "share of the peak, at best", kind="quiet", at="start")
    # Offset of a name below its point, and its side.
    points = {
        "decoding one token": (DECODE, "query", 11, 12),
        "softmax": (SOFTMAX, "weight", 4, 12),
        f"decoding, {SHARED} heads share": (DECODE_SHARED, "key", 5, 12),
        "product of scores": (SCORES, "query", -4, -12),
        "tiles" if s.narrow else "attention in tiles": (TILED, "value", 18, 0),
    }
    for name, (work, role, lower, aside) in points.items():
        x, y = at(work.intensity, work.share)
        s.sign(x, y, "", r=3 if s.narrow else 4, role=role)
        said = f"{name}: {_plain(work.intensity)}"
        end = {-1: "end", 0: "middle", 1: "start"}[(aside > 0) - (aside < 0)]
        s.text(x + aside, y + lower, said, role=role, kind="small", at=end)


# Texts of a small batch, and what one fetch of the parameters serves in four kinds of work.
BEGUN = ("the", "cat", "sat", "on")
ROWS = {
    "decode": ("it",),
    "prefill": (*BEGUN, "it"),
    "a batch": ("it", "so", "dogs", "we", "no"),
    "a draft": ("it", "and", "it", "fell", "off"),
}


@drawing(
    f"""Four panels. In each, rows go through the same parameters, which are fetched once. Decode
    sends one row, so there is {len(ROWS["decode"])} operation for each byte. Prefill sends the
    {len(ROWS["prefill"])} tokens of a prompt, a batch the next tokens of {len(ROWS["a batch"])}
    texts, and a draft the next token of one text and four guesses. There one fetch serves
    {len(ROWS["prefill"])} rows, {len(ROWS["prefill"])} operations for each byte.""",
    numbers=lambda: [len(rows) for rows in ROWS.values()],
)
def rows_of_a_fetch(s: Sketch) -> None:
    """One row, a prompt, a batch and a draft, each through the same parameters."""
    p = Page(s)
    panels = []
    for title, words in ROWS.items():
        rows = p.cells([[None] * 3] * len(words), "state", words=words, w=16)
        layer = p.layer("parameters", "fetched once")
        share = p.text(f"operations per byte: {len(words)}", kind="small strong")
        p.link(rows, layer)
        panels.append((title, p.column(rows, layer, share, gap=p.of(20, 16))))
    p.done(p.panels(*panels))
