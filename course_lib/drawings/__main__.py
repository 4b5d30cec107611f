"""``python -m course_lib.drawings [NAME ...]``: write ``_build/drawings.html`` and name the faults.

The page shows each drawing wide and narrow, light and dark.
"""

import html
import sys
from pathlib import Path

from course_lib.drawings import drawings
from course_lib.drawings.faults import faults
from course_lib.drawings.style import page_style

chosen = [one for name, one in drawings().items() if name in sys.argv[1:] or not sys.argv[1:]]
for one in chosen:
    for narrow in (False, True):
        for fault in faults(one.sketch(narrow)):
            print(f"{one.name}, {'narrow' if narrow else 'wide'}: {fault}")
# A frame has a theme and a width of its own.
page = f"<style>body{{margin:0;background:var(--d-page)}}{page_style()}</style>"
pages = [
    f'<iframe width="{width}" height="{height}" srcdoc="'
    + html.escape(f'<html data-theme="{theme}">{page}{one.inline()}')
    + '"></iframe>'
    for one in chosen
    for width, height in ((668, 520), (344, 760))
    for theme in ("light", "dark")
]
target = Path("_build/drawings.html")
target.parent.mkdir(exist_ok=True)
target.write_text('<!doctype html><meta charset="utf-8">' + "\n".join(pages), encoding="utf-8")
print(target)
