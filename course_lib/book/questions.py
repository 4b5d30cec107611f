"""The questions of the pages: what may be wrong with one, and where its right option is shown."""

import hashlib
import re
from collections import Counter
from typing import Any

QUESTION = re.compile(r"^```\{question\} (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def fault_of(name: str, data: Any) -> str | None:
    """Say what is wrong with a question, if anything is."""
    if not SLUG.fullmatch(name):
        return "a name is lower-case words joined by hyphens"
    if not isinstance(data, dict) or set(data) - {"outcome", "order"} != {"stem", "options"}:
        return "expected the keys stem and options, and perhaps outcome and order"
    if data.get("order", "kept") != "kept":
        return f"order is {data['order']!r}, expected 'kept' or no such key"
    options = data["options"]
    if not isinstance(options, list) or len(options) not in (3, 4):
        return "expected three or four options"
    for option in options:
        wanted = (
            {"text", "right", "why"} if option.get("right") else {"text", "misconception", "why"}
        )
        if set(option) != wanted:
            return f"option {option.get('text')!r} has {sorted(option)}, expected {sorted(wanted)}"
        if "misconception" in option and not SLUG.fullmatch(option["misconception"]):
            return f"misconception {option['misconception']!r} is not a slug"
    if sum(bool(option.get("right")) for option in options) != 1:
        return "expected exactly one right option"
    return None


def options_shown(
    data: dict[str, Any], page: str, before: Counter[int]
) -> list[tuple[int, dict[str, Any]]]:
    """The options with their numbers in the source, in the order in which every format shows them.

    Of each n questions in a row on a page that have n options, the right one stands once in each
    place; a digest draws which comes first. The wrong ones stay in the order of the source.

    Args:
        data: A question without fault.
        page: Name of the page, without suffix.
        before: How many questions came before it on the page, by how many options they have;
            this one is added.
    """
    options = list(enumerate(data["options"]))
    size = len(options)
    if data.get("order") != "kept":
        deck, card = divmod(before[size], size)
        before[size] += 1
        draws = [hashlib.sha256(f"{page} {size} {deck} {n}".encode()).digest() for n in range(size)]
        place = sorted(range(size), key=draws.__getitem__)[card]
        right = next(n for n, option in options if option.get("right"))
        options.insert(place, options.pop(right))
    return options
