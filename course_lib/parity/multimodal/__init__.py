"""Two modalities: towers, fusions, videos, queries, pages."""

from course_lib.parity.multimodal import fusion, places, towers

__all__ = ["MECHANISMS"]

MECHANISMS = (*towers.MECHANISMS, *fusion.MECHANISMS, *places.MECHANISMS)
