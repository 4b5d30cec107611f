"""Reading attention: maps and how far heads look."""

from course_lib.patterns.maps import (
    attention_distance,
    attention_maps,
    attention_rollout,
    grid_distances,
)

__all__ = [
    "attention_distance",
    "attention_maps",
    "attention_rollout",
    "grid_distances",
]
