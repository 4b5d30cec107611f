"""Interactive figures draw nothing while an answer is graded."""

from typing import Any


def figure(name: str, **settings: Any) -> None:
    """Do nothing: nobody is there to move it, and it is computed by the library."""
    return None
