"""What the attacks of the catalogue run: cells, and answers of exercises.

In an answer ``FUNCTION``, ``MODULE`` and ``REFERENCE`` stand for the names of the exercise it is
put into. ``@COURSE@``, ``@VICTIM@``, ``@GRADEBOOK@``, ``@SOURCE@`` and ``@ROOT@`` become the real
paths of the course that is being graded.
"""

from . import read

# Names such as ``snippets.CONSTANT``.
globals().update({name: f"\n{text}\n" for name, text in read("snippets.txt")})
