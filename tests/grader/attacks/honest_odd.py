"""Honest, if odd: what stands in an own cell, above the imports, in an answer or in a name.

An answer's code is put in the place of the first one; ``@`` stands for its usual text.
"""

from . import read

(_, _usual), *_odd = read("honest_odd.txt")
USUAL = f"\n{_usual}\n"
# Where it stands, and code.
ODD = {name: (where, text) for (name, where), text in ((h.split(), t) for h, t in _odd)}
NAMES = (
    "김민수", "Łukasz Żółć", "O'Brien", "two\nlines", "-rf", "...", ".hidden", "ñandú",
    "Ångström", "a b  c", "tab\there", "semi;colon", "$(reboot)", "100%", "%s%n", "{x}",
    "שלום", "مرحبا", "emoji 🙂", "e\u0301", "x" * 180, "UPPER", "comma,name",
    "=SUM(1)", "star*", "quest?", "[set]", "~home",
)  # fmt: skip
